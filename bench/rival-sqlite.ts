// Rival: Fastify and SQLite on the main thread, one durable transaction for each start, claim and settlement. Run by rivals.ts.
import { rivalAccount, serveRival } from './rival-http.ts'
import { openRivalLedger } from './rival-ledger.ts'

const runsAtOnce = 256

const ledger = openRivalLedger(`${process.argv[2]}/rival.db`, rivalAccount)
let open = 0
let running = 0

/** Takes jobs while there are free slots; a start and every end call it. Requests come in between. */
function work(): void {
  while (running < runsAtOnce) {
    const job = ledger.claim()
    if (!job) return
    running += 1
    setImmediate(() => {
      ledger.settle(job.job_id)
      running -= 1
      open -= 1
      if (running === runsAtOnce - 1) work()
    })
  }
}

let woken = false
function wake(): void {
  if (woken) return
  woken = true
  setImmediate(() => {
    woken = false
    work()
  })
}

await serveRival(
  {
    start(order) {
      const job = ledger.start(order)
      open += 1
      wake()
      return job
    },
    close: async () => ledger.close(),
  },
  () => open,
)

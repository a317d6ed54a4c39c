// Rival: openworkflow on SQLite behind Fastify; it has no ledger, so holds and settlements are transactions beside it. Run by rivals.ts.
import { OpenWorkflow } from 'openworkflow'
import { BackendSqlite } from 'openworkflow/sqlite'
import { rivalAccount, serveRival } from './rival-http.ts'
import { openRivalLedger } from './rival-ledger.ts'

// As in its own benchmark; how often it polls cannot be set.
const runsAtOnce = 100

const folder = process.argv[2] ?? ''
const ledger = openRivalLedger(`${folder}/rival.db`, rivalAccount)
// It asks for WAL; Node's SQLite flushes every commit by default, as the ledger does.
const backend = BackendSqlite.connect(`${folder}/openworkflow.db`)
const workflows = new OpenWorkflow({ backend })
let open = 0

const generate = workflows.defineWorkflow<{ jobId: string; input: object }, null>({ name: 'generate' }, ({ input }) => {
  // The work itself is nothing; its end is the settlement.
  ledger.settle(input.jobId)
  open -= 1
  return null
})
const worker = workflows.newWorker({ concurrency: runsAtOnce })
await worker.start()

await serveRival(
  {
    async start(order) {
      const job = ledger.start(order)
      open += 1
      // The hold is durable by now; a crash before the run is stored would leave it to an outbox, which is not here.
      await generate.run({ jobId: job.job_id, input: order.input }, { idempotencyKey: job.job_id })
      return job
    },
    async close() {
      await worker.stop()
      await backend.stop()
      ledger.close()
    },
  },
  () => open,
)

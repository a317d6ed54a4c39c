// Rival: BullMQ on Redis behind Fastify; it has no ledger, so holds and settlements are transactions in SQLite. Run by rivals.ts.
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { rivalAccount, serveRival } from './rival-http.ts'
import { openRivalLedger } from './rival-ledger.ts'

const runsAtOnce = 256
const name = 'generate'
const removed = { removeOnComplete: { count: 1000 }, removeOnFail: false }

const folder = process.argv[2] ?? ''
const ledger = openRivalLedger(`${folder}/rival.db`, rivalAccount)
const connect = () =>
  new Redis({ path: `${folder}/redis.sock`, enableAutoPipelining: true, maxRetriesPerRequest: null })
const queue = new Queue(name, { connection: connect(), defaultJobOptions: removed })
let open = 0

const worker = new Worker<{ input: object }>(
  name,
  async (job) => {
    // The work itself is nothing; its end is the settlement.
    ledger.settle(job.id ?? '')
    open -= 1
  },
  { connection: connect(), concurrency: runsAtOnce, maxStalledCount: 1 },
)
worker.on('failed', (_job, error) => {
  process.stderr.write(`a job failed: ${error.message}\n`)
  process.exitCode = 1
})
await worker.waitUntilReady()

await serveRival(
  {
    async start(order) {
      const job = ledger.start(order)
      open += 1
      // The hold is durable by now; a crash before Redis has the job would leave it to an outbox, which is not here.
      await queue.add(order.model, { input: order.input }, { jobId: job.job_id })
      return job
    },
    async close() {
      await worker.close()
      await queue.close()
      ledger.close()
    },
  },
  () => open,
)

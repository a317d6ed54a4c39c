// Rival: Graphile Worker behind Fastify, with the ledger in the same PostgreSQL and in the transaction that queues. Run by fleet.ts.
import { Logger, run, runMigrations } from 'graphile-worker'
import { rivalAccount, serveRival } from './rival-http.ts'
import { openPostgresLedger, rivalConnections } from './rival-postgres.ts'

// What its documentation proposes for throughput: a queue of its own in memory, ends in batches.
const concurrentJobs = 24
const queueSize = 200
const completeJobBatchDelay = 5

const connectionString = process.argv[2] ?? ''
const ledger = await openPostgresLedger(connectionString, rivalAccount)
const logger = new Logger(() => (level, message) => {
  if (level === 'error') process.stderr.write(`graphile-worker: ${message}\n`)
})
await runMigrations({ connectionString, logger })
let open = 0
const runner = await run({
  logger,
  noHandleSignals: true,
  preset: {
    worker: {
      connectionString,
      concurrentJobs,
      maxPoolSize: Math.max(rivalConnections, concurrentJobs + 2),
      pollInterval: 500,
      completeJobBatchDelay,
      localQueue: { size: queueSize },
    },
  },
  taskList: {
    async generate(payload) {
      // The work itself is nothing; its end is the settlement.
      await ledger.settle((payload as { jobId: string }).jobId)
      open -= 1
    },
  },
})

await serveRival(
  {
    async start(order) {
      const job = await ledger.start(order, (client, jobId) =>
        client.query({
          name: 'add',
          text: `SELECT graphile_worker.add_job('generate', json_build_object('jobId', $1::text))`,
          values: [jobId],
        }),
      )
      open += 1
      return job
    },
    async close() {
      await runner.stop()
      await ledger.pool.end()
    },
  },
  () => open,
)

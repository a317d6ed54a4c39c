// Rival: pg-boss behind Fastify, with the ledger in the same PostgreSQL and in the transaction that queues. Run by fleet.ts.
import { PgBoss } from 'pg-boss'
import { rivalAccount, serveRival } from './rival-http.ts'
import { openPostgresLedger, rivalConnections } from './rival-postgres.ts'

const queue = 'generate'
// Jobs that are taken together; the shortest pause that it allows comes only when there are fewer.
const batchSize = 256
const pollingIntervalSeconds = 0.5

const url = process.argv[2] ?? ''
const ledger = await openPostgresLedger(url, rivalAccount)
const boss = new PgBoss({ connectionString: url, max: rivalConnections, useListenNotify: true })
boss.on('error', (error: Error) => {
  process.stderr.write(`pg-boss: ${error.message}\n`)
  process.exitCode = 1
})
await boss.start()
await boss.createQueue(queue, { notify: true })
let open = 0
await boss.work<{ jobId: string }>(queue, { batchSize, pollingIntervalSeconds }, async (jobs) => {
  // The work itself is nothing; its end is the settlement.
  await Promise.all(jobs.map(({ data }) => ledger.settle(data.jobId)))
  open -= jobs.length
})

await serveRival(
  {
    async start(order) {
      const job = await ledger.start(order, (client, jobId) =>
        boss.send(queue, { jobId }, { db: { executeSql: (text, values) => client.query(text, values) } }),
      )
      open += 1
      return job
    },
    async close() {
      await boss.stop({ graceful: false })
      await ledger.pool.end()
    },
  },
  () => open,
)

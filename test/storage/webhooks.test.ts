// Webhooks in SQLite: jobs under review, rules that the database itself keeps, and reads that stay cheap.
import { expect, test } from 'vitest'
import { claimOne, claimPaid, firstPage, startJob, testError } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const caps = { perWebhook: 8, perAccount: 8, unproven: { inAll: 8, perWebhook: 8, perAccount: 8 } }
const claimAll = { limit: 8, ...caps, unprovenHere: 0, leaseMs: 1000 }

async function openWithWebhook(path: string) {
  const store = await openStoreAt(path)
  const { accountId } = await store.createAccount('a', 100)
  await store.createWebhook(
    { accountId, url: 'https://example.com/', description: null, includeInput: false, secret: Buffer.alloc(32) },
    10,
  )
  return { store, accountId, [Symbol.asyncDispose]: () => store.close() }
}

test('a review is reported twice: as it was when it began, however late, and when it ended', async () => {
  using file = createTestFolder()
  await using opened = await openWithWebhook(file.path)
  const { store, accountId } = opened
  const { jobId } = await startJob(store, accountId)
  const { token } = await claimPaid(store)
  await store.heartbeat([{ jobId, token, progress: 0.5 }], 1000)
  await store.finishJob(jobId, token, { status: 'queued' })
  const reviewed = await store.getJob(accountId, jobId)
  await store.resolveReview(jobId, 4)
  const settled = await store.getJob(accountId, jobId)
  expect(settled).toMatchObject({ status: 'succeeded', creditsCharged: 4 })
  const claimed = await store.claimDeliveries(claimAll)
  expect(claimed.map(({ event, job }) => ({ event, job }))).toEqual([
    { event: 'job.needs_review', job: reviewed },
    { event: 'job.succeeded', job: settled },
  ])
})

test('an end that is undone leaves no delivery', async () => {
  using file = createTestFolder()
  await using opened = await openWithWebhook(file.path)
  const { store, accountId } = opened
  const { jobId } = await startJob(store, accountId)
  const { token } = await claimOne(store)
  const wrong = { status: 'succeeded', outputs: [], creditsActual: -1 } as const
  await expect(store.finishJob(jobId, token, wrong)).rejects.toThrow('creditsActual')
  const filter = { accountId, webhookId: null, jobId: null, status: null, ...firstPage }
  expect((await store.listDeliveries(filter)).total).toBe(0)
  await store.finishJob(jobId, token, { status: 'failed', error: testError })
  expect((await store.listDeliveries(filter)).total).toBe(1)
})

test.each([
  ['UPDATE webhook_deliveries SET job_number = job_number', 'does not change'],
  ["UPDATE webhook_deliveries SET event = 'job.failed'", 'does not change'],
  ["UPDATE webhook_deliveries SET status = 'delivered'", 'due_while_pending'],
  ['UPDATE webhook_deliveries SET due_at = NULL', 'due_while_pending'],
  ['DELETE FROM webhook_deliveries', 'not finished is not deleted'],
  ["UPDATE webhooks SET url = 'https://elsewhere.example/'", 'does not change'],
  ['UPDATE webhooks SET secret = NULL', 'secret_until_deleted'],
  ["UPDATE webhooks SET secret = x'00'", 'CHECK constraint failed'],
  ['DELETE FROM webhooks', 'FOREIGN KEY'],
])('the database refuses %s', async (sql, message) => {
  using file = createTestFolder()
  await using opened = await openWithWebhook(file.path)
  const { store, accountId } = opened
  const { jobId } = await startJob(store, accountId)
  await store.requestCancel(accountId, jobId)
  using db = openRaw(file.path)
  expect(() => db.exec(sql)).toThrow(message)
})

test('frequent queries use an index', async () => {
  using file = createTestFolder()
  await using opened = await openWithWebhook(file.path)
  expect(opened.accountId).toMatch(/^acct_/)
  using db = openRaw(file.path)
  const plan = (sql: string) =>
    db
      .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join('; ')
  expect(plan('SELECT 1 FROM webhooks WHERE proven = 1 AND next_due_at <= 5 LIMIT 1')).toContain('INDEX webhooks_due')
  expect(
    plan(
      "SELECT number FROM webhook_deliveries WHERE webhook_id = 'x' AND status = 'pending' AND due_at <= 5 ORDER BY due_at LIMIT 2",
    ),
  ).toMatch(/INDEX webhook_deliveries_due \(webhook_id=\? AND due_at<\?\)$/)
  expect(
    plan("SELECT 1 FROM webhooks WHERE account_id = 'x' AND deleted_at IS NULL AND disabled_at IS NULL"),
  ).toContain('INDEX webhooks_by_account')
})

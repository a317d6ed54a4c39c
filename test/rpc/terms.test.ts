// Deadlines, priorities, retention and positions in the queue over gRPC, labels, and what an operator sees (P100, P102, P103, P104, P281, P282, P283, P285).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, openForeignClient, toStruct } from './foreign-client.ts'

const model = 'test/gate/text-to-image'
const input = toStruct({ gate: 'never' })
/** A map as this client, which knows it by reflection, reads and writes it. */
const toMap = (values: object) => Object.entries(values).map(([key, value]) => ({ key, value }))
let app: TestApp
let client: ForeignClient

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  client = await openForeignClient(app.app.grpcUrl, app.account.key)
})

afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

async function request(terms: object) {
  const { quote } = await client.call('QuotesService/CreateQuote', { model, input })
  return { model, input, quote_id: quote.quote_id, idempotency_key: crypto.randomUUID(), ...terms }
}

test.each([
  { expires_in_seconds: 0 },
  { expires_in_seconds: -1 },
  { expires_in_seconds: 604_801 },
  { priority: 1 },
  { priority: -11 },
  { retain_seconds: 0 },
  { retain_seconds: 604_801 },
  { labels: toMap({ 'a b': 'x' }) },
  { labels: toMap({ ['x'.repeat(100)]: 'x' }) },
  { labels: toMap({ team: '' }) },
  { labels: toMap({ team: 'x\ny' }) },
  { labels: toMap(Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`l${index}`, 'x']))) },
])('a start with %j is refused by name', async (terms) => {
  const refused = await client.refusal('GenerationService/StartGeneration', await request(terms))
  expect(refused).toMatchObject({ status: 'INVALID_ARGUMENT', detail: { code: 'invalid_request' } })
  expect(refused.message).toContain(Object.keys(terms)[0])
})

test('a start carries its terms, which an operator sees, and is replayed only with the same', async () => {
  const key = await app.createKey(app.account.accountId, ['admin'])
  const start = await request({ expires_in_seconds: 3600, priority: -2, labels: toMap({ team: 'Zürich 🎨' }) })
  const { job } = await client.call('GenerationService/StartGeneration', start)
  expect(job.queue_position).toBeGreaterThan(0)
  const seen = await client.call('AdminService/InspectJob', { job_id: job.job_id }, { key })
  expect(seen).toMatchObject({ priority: -2, resumable: true, max_attempts: 3, lost_runs: 0, worker: '' })
  expect(seen.job.labels).toEqual(toMap({ team: 'Zürich 🎨' }))
  const lifeSeconds = Number(seen.deadline_at.seconds) - Number(seen.job.created_at.seconds)
  expect(lifeSeconds).toBe(3600)
  expect((await client.call('GenerationService/StartGeneration', start)).replayed).toBe(true)
  const relabelled = await client.call('GenerationService/StartGeneration', { ...start, labels: toMap({ proxy: 'x' }) })
  expect([relabelled.replayed, relabelled.job.labels]).toEqual([true, toMap({ team: 'Zürich 🎨' })])
  expect(relabelled.job.receipt).toBeUndefined()
  const other = await client.refusal('GenerationService/StartGeneration', { ...start, priority: 0 })
  expect(other.detail.code).toBe('idempotency_key_reused')

  const all = await client.call('AdminService/ListAllJobs', { status: 'JOB_STATUS_QUEUED' }, { key })
  expect(all.jobs.map(({ job_id }: { job_id: string }) => job_id)).toContain(job.job_id)
  expect(all.jobs[0].account_id).toBe(app.account.accountId)
  const unknown = await client.refusal('AdminService/InspectJob', { job_id: 'job_x' }, { key })
  expect(unknown).toMatchObject({ status: 'NOT_FOUND', detail: { code: 'job_not_found' } })
})

test('outputs are kept for as long as a start says', async () => {
  await using working = await startTestApp()
  using caller = await openForeignClient(working.app.grpcUrl, working.account.key)
  const instant = { model: 'test/instant/text-to-image', input: toStruct({ prompt: 'x' }) }
  const { quote } = await caller.call('QuotesService/CreateQuote', instant)
  const { job } = await caller.call('GenerationService/StartGeneration', {
    ...instant,
    quote_id: quote.quote_id,
    idempotency_key: 'a-minute',
    wait: true,
    retain_seconds: 60,
  })
  expect(job.labels).toEqual([])
  const { quote_id, key_id } = job
  expect(job.receipt).toEqual({ held: '3', charged: '3', released: '0', quote_id, key_id })
  const run = { ...instant, max_credits: 9, idempotency_key: 'run', wait: true, labels: toMap({ team: 'ads' }) }
  const ran = await caller.call('GenerationService/Run', run)
  expect(ran.job).toMatchObject({
    labels: toMap({ team: 'ads' }),
    receipt: { charged: '3', quote_id: ran.job.quote_id },
  })
  const [output] = job.outputs
  expect(output.expired).toBe(false)
  expect(Number(output.kept_until.seconds) - Number(job.finished_at.seconds)).toBe(60)
})

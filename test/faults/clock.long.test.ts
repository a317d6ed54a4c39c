// The clock jumps an hour forward or back at every point of a job's life: jobs still end once, lists keep the order of starts, and every credit is accounted for.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../src/app/store/store.ts'
import { createQuoteBook } from '../../src/services/quote-book.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { openTestStore } from '../test-store.ts'
import { expectWhole } from './fixture.ts'

const hourMs = 3_600_000
const leaseMs = 3000
const gateModel = 'test/gate/text-to-image'
const instantModel = 'test/instant/text-to-image'
const input = { prompt: 'x' }

/** The machine's clock, moved. */
const clock = { offsetMs: 0, nowMs: () => Date.now() + clock.offsetMs }
const jumps = [
  ['an hour forward', hourMs],
  ['an hour back', -hourMs],
] as const

let app: TestApp
beforeEach(async () => {
  clock.offsetMs = 0
  app = await startTestApp({ MEDIAGEN_LEASE_SECONDS: String(leaseMs / 1000) }, { clock })
})
afterEach(() => app[Symbol.asyncDispose]())

/** Every state of a job that a watcher is told, to its end. */
async function watchToEnd(jobId: string): Promise<any[]> {
  const { body } = await app.send(`/v1/jobs/${jobId}/events`)
  return [...String(body).matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
}

/** Starts a job and waits until its program runs. */
async function startRunning() {
  const gate = app.gate()
  const { body } = await app.generate(gateModel, gate.input, { wait: false })
  const path = `/v1/jobs/${body.job_id}`
  await gate.begun()
  return { gate, path, jobId: body.job_id as string }
}

/** When the claim of a job ends; 0 when nobody has claimed it. */
async function leaseUntilMs(jobId: string): Promise<number> {
  const { leaseUntil } = await app.admin.inspectJob({ jobId })
  return leaseUntil ? timestampMs(leaseUntil) : 0
}

const leaseLeftMs = async (jobId: string): Promise<number> => (await leaseUntilMs(jobId)) - clock.nowMs()

/** Holds that the end is told once, after states that only go forward, and was paid for once. */
async function expectOneEnd(jobId: string, status: string): Promise<void> {
  const told = await watchToEnd(jobId)
  expect(told.filter((job) => job.finished_at !== null).map((job) => job.status)).toEqual([status])
  const { held, charged, released } = told.at(-1).billing
  expect(charged + released).toBe(held)
  expect(charged).toBe(status === 'succeeded' ? held : 0)
  expect((await app.send('/v1/wallet')).body.available).toBe(1000 - charged)
  await expectWhole(app)
}

test('a quote that the clock has left behind is refused, and nothing is held', async () => {
  const { quote_id } = await app.quote(instantModel, input)
  clock.offsetMs = hourMs
  const headers = { 'idempotency-key': 'late' }
  const body = { model: instantModel, input, quote_id }
  const refused = await app.send('/v1/generate?wait=true', { headers, body })
  expect(refused.body).toMatchObject({ code: 'quote_expired', retryable: false })
  expect((await app.send('/v1/wallet')).body).toMatchObject({ held: 0, available: 1000 })
  const fresh = await app.quote(instantModel, input)
  const started = await app.send('/v1/generate?wait=true', { headers, body: { ...body, quote_id: fresh.quote_id } })
  expect(started.body).toMatchObject({ status: 'succeeded' })
  await expectWhole(app)
})

test('a quote from before the clock went back still starts one job', async () => {
  const { quote_id } = await app.quote(instantModel, input)
  clock.offsetMs = -hourMs
  const request = { headers: { 'idempotency-key': 'one' }, body: { model: instantModel, input, quote_id } }
  const first = await app.send('/v1/generate?wait=true', request)
  expect(first.body).toMatchObject({ status: 'succeeded' })
  expect((await app.send('/v1/generate?wait=true', request)).body).toEqual(first.body)
  await expectOneEnd(first.body.job_id, 'succeeded')
})

test.each(jumps)('a job under way ends once when the clock jumps %s', async (_, byMs) => {
  const { gate, jobId } = await startRunning()
  clock.offsetMs = byMs
  const end = expectOneEnd(jobId, 'succeeded')
  gate.open()
  await end
})

test.each(jumps)(
  'a worker that is heard of keeps or regains its job for good when the clock jumps %s',
  async (_, byMs) => {
    const { gate, jobId, path } = await startRunning()
    clock.offsetMs = byMs
    // Three heartbeats by the new time, with the sweeps between them: were the lease misjudged, it would show.
    for (let beats = 0, last = 0; beats < 3; beats++) {
      await expect.poll(() => leaseLeftMs(jobId)).toSatisfy((ms) => ms > 0 && ms <= leaseMs)
      await expect.poll(async () => last !== (last = await leaseUntilMs(jobId)) && last > 0).toBe(true)
    }
    const { attempts } = (await app.send(path)).body
    expect([1, 2]).toContain(attempts)
    gate.open()
    await expectOneEnd(jobId, 'succeeded')
    expect((await app.send(path)).body.attempts).toBe(attempts)
  },
)

test.each(jumps)('a job under way can be canceled when the clock jumps %s', async (_, byMs) => {
  const { jobId, path } = await startRunning()
  clock.offsetMs = byMs
  await app.send(`${path}/cancel`, { method: 'POST' })
  await expectOneEnd(jobId, 'canceled')
})

test('queued jobs are taken up, end once and are listed newest first while the clock jumps to and fro', async () => {
  const started: string[] = []
  for (const hours of [0, 1, -1, 2, -2, 0, -24, 24, 0]) {
    clock.offsetMs = hours * hourMs
    const { body } = await app.generate(instantModel, input, { wait: false })
    started.push(body.job_id)
  }
  for (const jobId of started) expect((await watchToEnd(jobId)).at(-1).status).toBe('succeeded')
  const { data, total } = (await app.send('/v1/jobs')).body
  expect(total).toBe(started.length)
  expect(data.map((job: { job_id: string }) => job.job_id)).toEqual(started.toReversed())
  expect(started, 'ids sort as they were made').toEqual(started.toSorted())
  expect((await app.send('/v1/wallet')).body.available).toBe(1000 - 3 * started.length)
  await expectWhole(app)
})

test('a job that waits for another run is not kept waiting for an hour when the clock goes back', async () => {
  const still = { ms: Date.now(), nowMs: () => still.ms }
  await using api = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { clock: still })
  const { body: job } = await api.generate(instantModel, input, { wait: false })
  {
    await using store = await openStore(api.config, { clock: still })
    expect(await store.claimJobs({ worker: 'gone', room: { [instantModel]: 1 }, limit: 1, leaseMs })).toHaveLength(1)
  }
  // An hour ahead its lease has run out: it is queued again, with a wait in the time of then.
  still.ms += hourMs
  const availableAt = async (): Promise<Timestamp | undefined> =>
    (await api.admin.inspectJob({ jobId: job.job_id })).availableAt
  await expect.poll(availableAt).toBeDefined()
  still.ms -= hourMs
  await expect.poll(availableAt).toBeUndefined()
  await using _worker = await startTestApp({ MEDIAGEN_DATA_DIR: api.config.dataDir }, { clock: still })
  await expect
    .poll(async () => (await api.send(`/v1/jobs/${job.job_id}`)).body)
    .toMatchObject({ status: 'succeeded', attempts: 2 })
  await expectWhole(api)
})

test('a key for quotes that another process made is heard of within a second also when the clock has gone back', async () => {
  await using store = await openTestStore()
  const { accountId } = await store.createAccount('test', 0)
  const promise = { model: 'm', credits: 1, digest: 'ab'.repeat(32) }
  const ours = createQuoteBook(store, clock, 60_000)
  await ours.seal(accountId, promise)
  await store.rotateSigningKey('quote')
  const { quoteId } = await createQuoteBook(store, clock, 60_000).seal(accountId, promise)
  clock.offsetMs = -hourMs
  expect(await ours.open(accountId, quoteId)).toMatchObject(promise)
})

// The clock jumps an hour forward or back at every point of a job's life: jobs still end once, lists keep the order of starts, and every credit is accounted for.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createQuoteBook } from '../../src/services/quote-book.ts'
import { openTemporaryStore } from '../storage/sqlite-fixture.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { expectWhole } from './fixture.ts'

const hourMs = 3_600_000
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
  app = await startTestApp({ MEDIAGEN_LEASE_SECONDS: '3' }, { clock })
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
  await expect.poll(async () => (await app.send(path)).body.progress).toBe(0.5)
  return { gate, path, jobId: body.job_id as string }
}

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
    // Two sweeps and two heartbeats of the new time: were the lease misjudged, it would show.
    await passSeconds(2.2)
    const { attempts } = (await app.send(path)).body
    gate.open()
    await expectOneEnd(jobId, 'succeeded')
    expect(attempts ?? 1).toBeLessThanOrEqual(2)
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
  const { gate, jobId, path } = await startRunning()
  // An hour ahead its lease has run out: it may be queued again, with a wait in the time of then.
  clock.offsetMs = hourMs
  await passSeconds(1.2)
  clock.offsetMs = 0
  gate.open()
  await expectOneEnd(jobId, 'succeeded')
  expect((await app.send(path)).body.status).toBe('succeeded')
})

test('a key for quotes that another process made is heard of within a second also when the clock has gone back', async () => {
  await using store = await openTemporaryStore()
  const { accountId } = await store.createAccount('test', 0)
  const promise = { model: 'm', credits: 1, digest: 'ab'.repeat(32) }
  const ours = createQuoteBook(store, clock, 60_000)
  await ours.seal(accountId, promise)
  await store.rotateSigningKey('quote')
  const { quoteId } = await createQuoteBook(store, clock, 60_000).seal(accountId, promise)
  clock.offsetMs = -hourMs
  expect(await ours.open(accountId, quoteId)).toMatchObject(promise)
})

/** Heartbeats and sweeps go by the machine's own timers, so there is nothing else to wait for. */
function passSeconds(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}

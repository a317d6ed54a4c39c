// GET /v1/jobs/{job_id}/events: server-sent events, one for each change (P29, P110, P115, P199, P201).
import { afterAll, expect, test } from 'vitest'
import { startTestApp, type TestAccount } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())

const gateModel = 'test/gate/text-to-image'

interface JobEvent {
  readonly id: number
  readonly event: string
  readonly job: { readonly job_id: string; readonly status: string; readonly progress: number }
}

/** Watches a job. */
function watch(jobId: string, options: { lastEventId?: string; payer?: TestAccount; signal?: AbortSignal } = {}) {
  const { lastEventId, payer = app.account, signal } = options
  return fetch(`${app.url}/v1/jobs/${jobId}/events`, {
    headers: {
      authorization: `Bearer ${payer.key}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    ...(signal && { signal }),
  })
}

/** The events of a stream as they come. */
async function* readEvents(response: Response): AsyncGenerator<JobEvent> {
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]))
      const data = fields.get('data')
      if (data) yield { id: Number(fields.get('id')), event: fields.get('event') ?? '', job: JSON.parse(data) }
    }
  }
}

async function collect(response: Response): Promise<JobEvent[]> {
  return await Array.fromAsync(readEvents(response))
}

/** Starts a job that runs until its gate is opened. */
async function startGated() {
  const gate = app.gate()
  const { body } = await app.generate(gateModel, gate.input, { wait: false })
  return { gate, jobId: body.job_id as string }
}

test('the record at once, then each change, then the end of the stream after the terminal one', async () => {
  const { gate, jobId } = await startGated()
  const response = await watch(jobId)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('cache-control')).toBe('no-store, no-transform')
  const events: JobEvent[] = []
  for await (const event of readEvents(response)) {
    events.push(event)
    if (event.job.progress >= 0.5) gate.open()
  }
  const order = ['queued', 'running', 'succeeded']
  const places = events.map(({ job }) => order.indexOf(job.status))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places.at(-1)).toBe(2)
  expect(events.map(({ job }) => job.status)).toContain('running')
  expect(events.every(({ event, job }) => event === 'job' && job.job_id === jobId)).toBe(true)
  const ids = events.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))
  const progress = events.map(({ job }) => job.progress)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
  expect((await app.send(`/v1/jobs/${jobId}`)).body).toEqual({ ...events.at(-1)?.job, reproduction: expect.anything() })
})

test('progress is 1 exactly when the job succeeded', async () => {
  const { gate, jobId } = await startGated()
  for await (const { job } of readEvents(await watch(jobId))) {
    expect(job.progress === 1).toBe(job.status === 'succeeded')
    if (job.status === 'running') gate.open()
  }
})

test('a job that is over is told once, and the stream ends', async () => {
  const { body } = await app.generate('test/nothing/text-to-image', { prompt: 'x' })
  const events = await collect(await watch(body.job_id))
  expect(events.map(({ job }) => job)).toEqual([body])
})

test('a client that reconnects with Last-Event-ID gets only new events', async () => {
  const { gate, jobId } = await startGated()
  const hangUp = new AbortController()
  let last = 0
  for await (const { id, job } of readEvents(await watch(jobId, { signal: hangUp.signal }))) {
    last = id
    if (job.progress >= 0.5) break
  }
  hangUp.abort()
  const again = watch(jobId, { lastEventId: String(last) })
  gate.open()
  const events = await collect(await again)
  expect(events.every(({ id }) => id > last)).toBe(true)
  expect(events.at(-1)?.job.status).toBe('succeeded')
})

test('a client that has seen the end is told not to connect again', async () => {
  const { body } = await app.generate('test/nothing/text-to-image', { prompt: 'x' })
  const [end] = await collect(await watch(body.job_id))
  const again = await watch(body.job_id, { lastEventId: String(end?.id) })
  expect([again.status, await again.text()]).toEqual([204, ''])
})

test.each(['', 'abc', '-1', '1.5', '99999999999999999999', 'a'.repeat(1000)])(
  'a Last-Event-ID that no event of ours had (%s) is passed over',
  async (lastEventId) => {
    const { body } = await app.generate('test/nothing/text-to-image', { prompt: 'x' })
    const events = await collect(await watch(body.job_id, { lastEventId }))
    expect(events.map(({ job }) => job.status)).toEqual(['succeeded'])
  },
)

test('many may watch one job', async () => {
  const { gate, jobId } = await startGated()
  const streams = await Promise.all(Array.from({ length: 10 }, () => watch(jobId)))
  gate.open()
  const ends = (await Promise.all(streams.map(collect))).map((events) => events.at(-1)?.job.status)
  expect(ends).toEqual(streams.map(() => 'succeeded'))
})

test('a client that stops watching cancels nothing', async () => {
  const { gate, jobId } = await startGated()
  const hangUp = new AbortController()
  for await (const { job } of readEvents(await watch(jobId, { signal: hangUp.signal }))) {
    if (job.status === 'running') break
  }
  hangUp.abort()
  gate.open()
  expect((await collect(await watch(jobId))).at(-1)?.job.status).toBe('succeeded')
})

test("a missing job, or another account's, is answered with a problem, not with a stream", async () => {
  const { body } = await app.generate('test/nothing/text-to-image', { prompt: 'x' })
  const payer = await app.createAccount(0)
  for (const response of [await watch('job_none'), await watch(body.job_id, { payer })]) {
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    expect(await response.json()).toMatchObject({ code: 'job_not_found' })
  }
})

test('watching needs jobs:read', async () => {
  const { accountId } = app.account
  const payer = { accountId, key: await app.createKey(accountId, ['generate']) }
  const response = await watch('job_none', { payer })
  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({ code: 'missing_permission', permission: 'jobs:read' })
})

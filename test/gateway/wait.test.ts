// wait=true: the answer comes with the job's end, or when the time is over, or when the server stops (P93, P109, P111).
import { afterAll, expect, test } from 'vitest'
import { settings } from '../../src/config.ts'
import { readMetrics } from '../rpc/metrics.ts'
import { startTestApp, type TestApp } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())

const gateModel = 'test/gate/text-to-image'

/** A generation that can be started any number of times with one key. */
async function prepare(server: TestApp) {
  const gate = server.gate()
  const { quote_id } = await server.quote(gateModel, gate.input)
  const key = crypto.randomUUID()
  const start = (wait: boolean) =>
    server.send(`/v1/generate?wait=${wait}`, {
      headers: { 'idempotency-key': key },
      body: { model: gateModel, input: gate.input, quote_id },
    })
  return { gate, start }
}

/** Waits until the job runs and has told its progress. */
async function untilRunning(server: TestApp, jobId: string): Promise<void> {
  const hangUp = new AbortController()
  const events = await fetch(`${server.url}/v1/jobs/${jobId}/events`, {
    headers: { authorization: `Bearer ${server.account.key}` },
    signal: hangUp.signal,
  })
  let text = ''
  for await (const chunk of events.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes('"status":"running"')) break
  }
  hangUp.abort()
}

test('the answer comes when the job is terminal, with its end', async () => {
  const { gate, start } = await prepare(app)
  const { body: job } = await start(false)
  const waiting = start(true)
  await untilRunning(app, job.job_id)
  gate.open()
  const { status, body } = await waiting
  expect(status).toBe(200)
  expect(body).toMatchObject({ job_id: job.job_id, status: 'succeeded', progress: 1 })
})

test('ten who wait for one job are all answered with its end', async () => {
  const { gate, start } = await prepare(app)
  const { body: job } = await start(false)
  const waiting = Array.from({ length: 10 }, () => start(true))
  await untilRunning(app, job.job_id)
  gate.open()
  const answers = await Promise.all(waiting)
  expect(answers.map((answer) => [answer.status, answer.body.status, answer.body.job_id])).toEqual(
    answers.map(() => [200, 'succeeded', job.job_id]),
  )
})

test('a job that is canceled while somebody waits answers them at once', async () => {
  await using idle = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const { start } = await prepare(idle)
  const { body: job } = await start(false)
  const waiting = start(true)
  await idle.send(`/v1/jobs/${job.job_id}/cancel`, { method: 'POST' })
  expect(await waiting).toMatchObject({ status: 200, body: { job_id: job.job_id, status: 'canceled' } })
})

test('when the time is over the answer is the record as it then is', async () => {
  // By default it is longer than this test may last.
  await using idle = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_WAIT_SECONDS: '1' })
  const { start } = await prepare(idle)
  const { status, headers, body } = await start(true)
  expect(status).toBe(202)
  expect(headers.get('location')).toBe(`/v1/jobs/${body.job_id}`)
  expect(body).toMatchObject({ status: 'queued', credits: 10 })
})

test('the wait lasts 180 seconds by default', () => {
  expect(settings.waitSeconds.fallback).toBe('180')
})

test.each([
  ['the core', (server: TestApp) => server.app[Symbol.asyncDispose]()],
  ['the server that was asked', (server: TestApp) => server[Symbol.asyncDispose]()],
])('a server that stops answers its waiters at once with the record as it is: %s', async (_what, stop) => {
  const stopping = await startTestApp()
  const { gate, start } = await prepare(stopping)
  const { body: job } = await start(false)
  const waiting = [start(true), start(true)]
  await expect.poll(() => readMetrics(stopping)).toMatch(/^mediagen_waits_open 2$/m)
  await untilRunning(stopping, job.job_id)
  const stopped = stop(stopping)
  for (const { status, body } of await Promise.all(waiting)) {
    expect(status).toBe(202)
    expect(body).toMatchObject({ job_id: job.job_id, status: 'running' })
  }
  gate.open()
  await stopped
  await stopping[Symbol.asyncDispose]()
})

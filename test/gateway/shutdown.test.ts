// A server that stops: nothing new is started, whoever asks is told to come again, nobody can hold it up (P171).
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, expect, test, vi } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'
import { parseAnswer } from './raw-http.ts'

const sockets: Socket[] = []
afterAll(() => sockets.forEach((socket) => socket.destroy()))

const model = 'test/nothing/text-to-image'

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  await once(socket, 'connect')
  // A connection that the server never got round to accepting is reset, not ended.
  socket.on('error', () => {})
  return socket
}

test('a start whose body arrives while the server stops is refused, nothing is held, and it may be sent again', async () => {
  const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const { quote_id } = await app.quote(model, { prompt: 'x' })
  const body = JSON.stringify({ model, input: { prompt: 'x' }, quote_id })
  const socket = await open(app.url)
  const answered = new Promise<Buffer>((resolve) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)))
  })
  const head = [
    'POST /v1/generate HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${app.account.key}`,
    'Content-Type: application/json',
    'Idempotency-Key: k',
    'Connection: close',
    'Expect: 100-continue',
    `Content-Length: ${body.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  // The server has read the head of the request when it asks for the body.
  await once(socket, 'data')
  const stopped = app.app[Symbol.asyncDispose]()
  socket.write(body)
  const text = (await answered).toString()
  const answer = parseAnswer(Buffer.from(text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')))
  expectProblem(answer, app.url, 'shutting_down')
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  await stopped

  await using again = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_DATA_DIR: app.config.dataDir })
  expect((await again.send('/v1/wallet', { key: app.account.key })).body).toEqual({ available: 1000, held: 0 })
  await app[Symbol.asyncDispose]()
})

test('connections that are kept open, or on which nothing was asked, do not keep the server from stopping', async () => {
  const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const idle = await Promise.all([open(app.url), open(app.url), open(app.url)])
  idle[0].write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(idle[0], 'data')
  const ends = idle.map((socket) => new Promise((resolve) => socket.resume().on('close', resolve)))
  // The time after which connections are cut off never comes: that is for those that still send.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    await app[Symbol.asyncDispose]()
    expect(await Promise.all(ends)).toHaveLength(3)
  } finally {
    vi.useRealTimers()
  }
})

test('a client that watches a job while the server stops sees the stream end', async () => {
  const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const { body } = await app.generate(model, { prompt: 'x' }, { wait: false })
  const events = await fetch(`${app.url}/v1/jobs/${body.job_id}/events`, {
    headers: { authorization: `Bearer ${app.account.key}` },
  })
  const reader = events.body?.getReader()
  await reader?.read()
  const stopped = app[Symbol.asyncDispose]()
  let last: { done: boolean } | undefined
  while (!last?.done) last = await reader?.read()
  expect(last.done).toBe(true)
  await stopped
})

test('stopping loses nothing: a job that was started is there after a restart', async () => {
  const first = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const { body } = await first.generate(model, { prompt: 'x' }, { wait: false })
  await first.app[Symbol.asyncDispose]()
  await using second = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_DATA_DIR: first.config.dataDir })
  const read = await second.send(`/v1/jobs/${body.job_id}`, { key: first.account.key })
  expect(read.body).toEqual({ ...body, reproduction: expect.anything() })
  await first[Symbol.asyncDispose]()
})

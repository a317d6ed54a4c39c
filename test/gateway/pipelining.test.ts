// Requests that are sent before the answers to earlier ones were read: so many at once, each answered in its turn.
import Fastify from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { boundConnections } from '../../src/gateway/http/connections.ts'
import { listen } from '../../src/gateway/server.ts'
import { keepLog } from '../kept-log.ts'
import { createChance } from '../simulation/random.ts'
import { startTestApp } from '../test-app.ts'
import { roomy } from './bounds.ts'
import { expectProblem } from './problem.ts'
import { openRaw, type RawRequest, toRequest } from './raw-http.ts'

const { log, lines } = keepLog('debug')
const app = await startTestApp({ MEDIAGEN_MAX_PIPELINED: '3', MEDIAGEN_STALL_SECONDS: '2' }, { log })
afterAll(() => app[Symbol.asyncDispose]())

const gateModel = 'test/gate/text-to-image'
const authorization = `Bearer ${app.account.key}`
const json = { authorization, 'content-type': 'application/json' }

/** A start that waits until its gate is opened, as it is written. */
async function prepareStart() {
  const gate = app.gate()
  const { quote_id } = await app.quote(gateModel, gate.input)
  const request: RawRequest = {
    method: 'POST',
    path: '/v1/generate?wait=true',
    headers: { ...json, 'idempotency-key': crypto.randomUUID() },
    body: JSON.stringify({ model: gateModel, input: gate.input, quote_id }),
  }
  return { gate, quoteId: quote_id, bytes: toRequest(request) }
}

async function countJobs(): Promise<number> {
  return (await app.send('/v1/jobs')).body.total as number
}

test('MEDIAGEN_MAX_PIPELINED: one request more is not looked at until the first is answered', async () => {
  const starts = await Promise.all(Array.from({ length: 4 }, prepareStart))
  const before = await countJobs()
  using connection = await openRaw(app.url)
  connection.write(Buffer.concat(starts.map(({ bytes }) => bytes)))
  await expect.poll(() => countJobs()).toBe(before + 3)
  // As many turns of the server as a start could need, and more.
  for (let turn = 0; turn < 20; turn++) await app.send('/v1/wallet')
  expect(await countJobs()).toBe(before + 3)
  starts[0]?.gate.open()
  expect((await connection.next()).body).toMatchObject({ status: 'succeeded', quote_id: starts[0]?.quoteId })
  await expect.poll(() => countJobs()).toBe(before + 4)
  for (const { gate } of starts) gate.open()
  for (const { quoteId } of starts.slice(1)) expect((await connection.next()).body.quote_id).toBe(quoteId)
})

describe('whatever is pipelined is answered in order', () => {
  const model = 'test/instant/text-to-image'
  const requests = Array.from({ length: 60 }, (_, i): RawRequest => {
    const headers = { ...json, 'x-request-id': `number-${i}` }
    if (i % 3 === 0) return { path: '/healthz', headers: { 'x-request-id': `number-${i}` } }
    if (i % 3 === 1) return { path: '/v1/wallet', headers }
    const body = JSON.stringify({ model, input: { prompt: 'x'.repeat(1 + (i % 7) * 200) } })
    return { method: 'POST', path: '/v1/quotes', headers, body }
  })

  test.each([1, 2, 3, 4])('in pieces that end anywhere (%i)', async (seed) => {
    const chance = createChance(seed)
    const bytes = Buffer.concat(requests.map(toRequest))
    using connection = await openRaw(app.url)
    const answers = (async () => {
      const ids: (string | null)[] = []
      for (const _ of requests) {
        const { status, headers } = await connection.next()
        expect(status).toBe(200)
        ids.push(headers.get('x-request-id'))
      }
      return ids
    })()
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + chance.below(seed === 1 ? 60_000 : 900)
      connection.write(bytes.subarray(at, end))
      at = end
      await new Promise(setImmediate)
    }
    expect(await answers).toEqual(requests.map((_, i) => `number-${i}`))
  })

  test('with chunked bodies in between', async () => {
    const body = JSON.stringify({ model, input: { prompt: 'in chunks' } })
    const head = `POST /v1/quotes HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
    const chunked = `${head}${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`
    using connection = await openRaw(app.url)
    connection.write((chunked + 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n').repeat(10))
    for (let i = 0; i < 10; i++) {
      expect((await connection.next()).body).toMatchObject({ model })
      expect((await connection.next()).body).toEqual({ status: 'ok' })
    }
  })
})

describe('behind a start that waits', () => {
  test('garbage is not answered in its place', async () => {
    const { gate, bytes, quoteId } = await prepareStart()
    const before = await countJobs()
    using connection = await openRaw(app.url)
    connection.write(Buffer.concat([bytes, Buffer.from('NO HTTP AT ALL\r\n\r\n')]))
    await expect.poll(() => countJobs()).toBe(before + 1)
    connection.write('and more of it')
    gate.open()
    const answer = await connection.next()
    expect([answer.status, answer.body.quote_id]).toEqual([200, quoteId])
    expectProblem(await connection.next(), app.url, 'invalid_request')
    await connection.closed
  })

  test('a body that never comes is not answered in its place', async () => {
    const { gate, bytes, quoteId } = await prepareStart()
    using connection = await openRaw(app.url)
    const head = toRequest({ method: 'POST', path: '/v1/quotes', headers: { ...json, 'content-length': '100' } })
    connection.write(Buffer.concat([bytes, head]))
    const late = () => lines.some(({ code }) => code === 'stalled_body')
    await expect.poll(late).toBe(true)
    gate.open()
    const answer = await connection.next()
    expect([answer.status, answer.body.quote_id]).toEqual([200, quoteId])
    expectProblem(await connection.next(), app.url, 'request_timeout')
    await connection.closed
  })

  test('a client that hangs up left: nothing failed, and nothing is counted', async () => {
    const { bytes, gate } = await prepareStart()
    const before = await countJobs()
    const refusals = async () =>
      /^mediagen_http_refusals_total.*shutting_down.*$/m.exec((await app.send('/metrics')).body)
    using connection = await openRaw(app.url)
    connection.write(bytes)
    await expect.poll(() => countJobs()).toBe(before + 1)
    connection.socket.destroy()
    await expect.poll(() => lines.some(({ msg }) => msg === 'the client left')).toBe(true)
    expect(lines.filter(({ level, msg }) => level >= 40 && msg === 'request failed')).toEqual([])
    expect(await refusals()).toBeNull()
    gate.open()
  })
})

/** A server that answers each request with 100 kB at once; how many it has answered. */
async function openServer() {
  const fastify = Fastify({ forceCloseConnections: true })
  let requests = 0
  boundConnections(fastify, roomy, { refuse: (_error, socket) => socket.destroy(), note() {} })
  const bytes = Buffer.alloc(100_000, 'x')
  fastify.get('/', (_request, reply) => {
    requests += 1
    return reply.send(bytes)
  })
  const port = await listen(fastify, '127.0.0.1', 0)
  return { fastify, url: `http://127.0.0.1:${port}`, requests: () => requests }
}

test('while answers wait for their client no further request is read; then all are answered', async () => {
  const { fastify, url, requests } = await openServer()
  const asked = 600
  using connection = await openRaw(url)
  connection.socket.pause()
  connection.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(asked))
  let before = -1
  await expect.poll(() => before === (before = requests()) && before > 0, { interval: 300 }).toBe(true)
  // What the two kernels hold, and what Node's server writes before it stops reading.
  expect(requests()).toBeLessThan(300)
  connection.socket.resume()
  for (let i = 0; i < asked; i++) expect((await connection.next()).status).toBe(200)
  expect(requests()).toBe(asked)
  connection.socket.destroy()
  await fastify.close()
})

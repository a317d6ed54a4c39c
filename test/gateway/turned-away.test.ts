// While a server sheds load, requests are refused from the bytes of their heads: without Node's objects, and never out of order.
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { createRouterTransport } from '@connectrpc/connect'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { ProtectedResponse } from '@mediagen/net/http/protection.ts'
import { boundConnections, type ConnectionBounds } from '@mediagen/net/http/connections.ts'
import { overloaded } from '../../src/app/overload.ts'
import { shedRequests, turnAwayRequests } from '../../src/gateway/overload.ts'
import { listen } from '../../src/gateway/server.ts'
import { toConnectJson } from '../../src/rpc/errors.ts'
import { createChance } from '../simulation/random.ts'
import { startBareGateway } from './bare-gateway.ts'
import { roomy } from './bounds.ts'
import { expectProblem } from './problem.ts'
import { openRaw, type RawConnection, type RawRequest, toRequest } from './raw-http.ts'

// Longer in bytes than in characters.
const here = 'http://hübsch.example'

/** A server that repeats bodies, and sheds load while `full` is set. */
async function startServer(bounds: Partial<ConnectionBounds> = {}) {
  const state = { full: false, requests: 0, cuts: [] as string[] }
  const overload = {
    refuses: () => state.full,
    spare() {},
    isShedding: () => state.full,
    refusal: overloaded(1000),
    connectBody: () => toConnectJson(overloaded(1000)),
  }
  const publicUrl = (): string => here
  const fastify = Fastify({
    forceCloseConnections: true,
    serverFactory: (handle) =>
      createServer({ ServerResponse: ProtectedResponse }, shedRequests(handle, overload, publicUrl)),
  })
  fastify.server.on('request', () => (state.requests += 1))
  fastify.server.on('checkContinue', (request, response) => fastify.server.emit('request', request, response))
  boundConnections(
    fastify,
    { ...roomy, ...bounds, turnAway: turnAwayRequests(overload, publicUrl) },
    { refuse: (_error, socket) => socket.destroy(), note: (cut) => state.cuts.push(cut) },
  )
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  fastify.post('/*', (request, reply) => {
    reply.header('x-request-id', request.headers['x-request-id'])
    return reply.send(request.body)
  })
  fastify.get('/healthz', () => 'ok')
  const port = await listen(fastify, '127.0.0.1', 0)
  const url = `http://127.0.0.1:${port}`
  return { state, fastify, url, [Symbol.asyncDispose]: () => fastify.close() }
}

function post(id: string, body: string, headers: Readonly<Record<string, string>> = {}): RawRequest {
  const type = { 'content-type': 'application/octet-stream' }
  return { method: 'POST', path: '/v1/quotes', headers: { ...type, 'x-request-id': id, ...headers }, body }
}

/** A connection on which a request was answered: Node itself refuses the first. */
async function openUsed(url: string): Promise<RawConnection> {
  const connection = await openRaw(url)
  connection.write(toRequest({ path: '/healthz' }))
  expect((await connection.next()).status).toBe(200)
  return connection
}

test('the refusal is the one that Node would send, without its objects for request, answer and body', async () => {
  await using server = await startServer()
  server.state.full = true
  using connection = await openRaw(server.url)
  connection.write(toRequest(post('first', 'x'.repeat(20_000))))
  const usual = await connection.next()
  expect(server.state.requests).toBe(1)
  for (const id of ['second', 'third']) {
    connection.write(toRequest(post(id, 'x'.repeat(20_000))))
    const answer = await connection.next()
    expectProblem(answer, here, 'overloaded')
    expect(answer.body).toEqual({ ...usual.body, request_id: id })
    const unlike = new Set(['date', 'connection', 'keep-alive', 'x-request-id', 'content-length'])
    const toList = (headers: Headers) => [...headers].filter(([name]) => !unlike.has(name))
    expect(toList(answer.headers)).toEqual(toList(usual.headers))
  }
  expect(server.state.requests, 'Node heard of the first one only').toBe(1)
})

test.each([
  ['a chunked body', { 'transfer-encoding': 'chunked' }],
  ['a client that waits before it sends the body', { expect: '100-continue' }],
  ['a client that wants the connection closed', { connection: 'close' }],
])('%s is refused by Node', async (_what, headers) => {
  await using server = await startServer()
  using connection = await openUsed(server.url)
  server.state.full = true
  const { body, ...head } = post('mine', '', headers)
  connection.write(toRequest(head))
  expectProblem(await connection.next(), here, 'overloaded')
  expect([body, server.state.requests]).toEqual(['', 2])
})

test.each([1, 2, 3, 4])(
  'refused and answered requests stay in order, in pieces that end anywhere (%i)',
  async (seed) => {
    await using server = await startServer({ maxPipelined: 3 })
    const chance = createChance(seed)
    const connections = await Promise.all([openUsed(server.url), openUsed(server.url), openUsed(server.url)])
    const sent = 60
    await Promise.all(
      connections.map(async (connection, of) => {
        const bodies = Array.from({ length: sent }, (_, i) => `${of}.${i} `.repeat(chance.below(1500)))
        const bytes = Buffer.concat(
          bodies.map((body, i) => toRequest(i % 5 === 0 ? { path: '/healthz' } : post(`${of}.${i}`, body))),
        )
        const answers = (async () => {
          for (const [i, body] of bodies.entries()) {
            const answer = await connection.next()
            if (i % 5 === 0) expect([answer.status, answer.text]).toEqual([200, 'ok'])
            else expect(answer.headers.get('x-request-id')).toBe(`${of}.${i}`)
            if (i % 5 !== 0 && answer.status === 200) expect(answer.text).toBe(body)
          }
        })()
        for (let at = 0; at < bytes.length;) {
          const end = at + 1 + chance.below(seed % 2 === 0 ? 70_000 : 5000)
          connection.write(bytes.subarray(at, end))
          at = end
          server.state.full = chance.below(2) === 0
          await new Promise(setImmediate)
        }
        await answers
      }),
    )
    for (const connection of connections) connection.socket.destroy()
  },
)

test('a body whose end comes when nothing is refused any more is dropped, and the next request understood', async () => {
  await using server = await startServer()
  const sockets: Socket[] = []
  server.fastify.server.on('connection', (socket) => sockets.push(socket))
  using connection = await openUsed(server.url)
  const before = sockets[0]?.bytesRead ?? 0
  server.state.full = true
  const bytes = toRequest(post('mine', 'POST /v1/quotes HTTP/1.1\r\n\r\n'.repeat(100)))
  connection.write(bytes.subarray(0, 500))
  expect((await connection.next()).status).toBe(503)
  server.state.full = false
  connection.write(bytes.subarray(500))
  await expect.poll(() => sockets[0]?.bytesRead).toBe(before + bytes.length)
  server.state.full = true
  connection.write(toRequest(post('second', 'hello')))
  expect((await connection.next()).headers.get('x-request-id')).toBe('second')
  expect(server.state.requests, 'Node heard of none').toBe(1)
  server.state.full = false
  connection.write(toRequest(post('third', 'hello')))
  const answer = await connection.next()
  expect([answer.status, answer.text]).toEqual([200, 'hello'])
})

test('the gateway refuses so, too', async () => {
  const full = { refuses: () => true, spare() {}, isShedding: () => true }
  const overload = { ...full, refusal: overloaded(1000), connectBody: () => '' }
  await using gateway = await startBareGateway(
    createRouterTransport(() => {}),
    { overload },
  )
  using connection = await openUsed(`http://127.0.0.1:${gateway.port}`)
  connection.write(toRequest(post('mine', 'hello')))
  const answer = await connection.next()
  expectProblem(answer, '', 'overloaded')
  expect(answer.headers.get('date'), 'which Node sends').toBeNull()
})

test('MEDIAGEN_STALL_SECONDS: the body of a refused request that never ends is cut off', async () => {
  await using server = await startServer({ windowMs: 200, answeredMs: 100 })
  using connection = await openUsed(server.url)
  server.state.full = true
  connection.write(toRequest({ ...post('mine', ''), headers: { 'content-length': '1000' } }))
  expect((await connection.next()).status).toBe(503)
  await connection.closed
  expect(server.state.cuts).toEqual(['endless_body'])
})

test('MEDIAGEN_MAX_UNREAD_BYTES: refusals that are not read stop the reading of further requests', async () => {
  await using server = await startServer({ maxUnreadBytes: 100_000 })
  const sockets: Socket[] = []
  server.fastify.server.on('connection', (socket) => sockets.push(socket))
  using connection = await openUsed(server.url)
  server.state.full = true
  connection.socket.pause()
  connection.write(Buffer.concat(Array<Buffer>(50_000).fill(toRequest(post('mine', '')))))
  const [socket] = sockets
  let before = -1
  const isStill = (): boolean => before === (before = socket?.writableLength ?? 0) && before > 0
  await expect.poll(isStill, { interval: 300 }).toBe(true)
  expect(before).toBeLessThan(1_000_000)
})

/** Node's parser of a connection. */
type Parsed = Socket & { readonly parser: { execute?: (bytes: Buffer) => unknown } }

test('all connections read into one buffer', async () => {
  await using server = await startServer()
  const buffers = new Set<ArrayBufferLike>()
  server.fastify.server.on('connection', (socket: Socket) => {
    const { parser } = socket as Parsed
    const execute = parser.execute?.bind(parser)
    parser.execute = (bytes) => {
      buffers.add(bytes.buffer)
      return execute?.(bytes)
    }
    // The parser is used again by other connections.
    socket.once('close', () => delete parser.execute)
  })
  for (let i = 0; i < 3; i++) {
    using connection = await openUsed(server.url)
    for (const id of ['first', 'second']) {
      connection.write(toRequest(post(id, 'x'.repeat(20_000))))
      expect((await connection.next()).text).toHaveLength(20_000)
    }
  }
  expect(buffers.size).toBe(1)
})

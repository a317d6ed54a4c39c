// While a server sheds load: refusals come in the order of the requests, and are bounded as other answers are.
import { createServer } from 'node:http'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { overloaded } from '../../src/app/doors/overload.ts'
import { boundConnections, type ConnectionBounds } from '../../src/gateway/http/connections.ts'
import { ProtectedResponse } from '../../src/gateway/http/protection.ts'
import { shedRequests } from '../../src/gateway/overload.ts'
import { listen } from '../../src/gateway/server.ts'
import { toConnectJson } from '../../src/rpc/errors.ts'
import { createChance } from '../simulation/random.ts'
import { roomy } from './bounds.ts'
import { openRaw, type RawConnection, type RawRequest, toRequest } from './raw-http.ts'

// Longer in bytes than in characters.
const here = 'http://hübsch.example'

/** A server that repeats bodies, and sheds load while `full` is set. */
async function startServer(bounds: Partial<ConnectionBounds> = {}) {
  const state = { full: false, cuts: [] as string[] }
  const overload = {
    refuses: () => state.full,
    noteExempt() {},
    refusal: overloaded(1000),
    connectBody: () => toConnectJson(overloaded(1000)),
  }
  const publicUrl = (): string => here
  const fastify = Fastify({
    serverFactory: (handle) =>
      createServer({ ServerResponse: ProtectedResponse }, shedRequests(handle, overload, publicUrl)),
  })
  boundConnections(
    fastify,
    { ...roomy, ...bounds },
    { refuse: (_error, connection) => connection.destroy(), note: (cut) => state.cuts.push(cut) },
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

/** A connection on which a request was answered. */
async function openUsed(url: string): Promise<RawConnection> {
  const connection = await openRaw(url)
  connection.write(toRequest({ path: '/healthz' }))
  expect((await connection.next()).status).toBe(200)
  return connection
}

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

test('MEDIAGEN_STALL_SECONDS: the body of a refused request that never ends is cut off', async () => {
  await using server = await startServer({ windowMs: 200, answeredMs: 100 })
  using connection = await openUsed(server.url)
  server.state.full = true
  connection.write(toRequest({ ...post('mine', ''), headers: { 'content-length': '1000' } }))
  expect((await connection.next()).status).toBe(503)
  await connection.closed
  expect(server.state.cuts).toEqual(['endless_body'])
})

test('refusals that are not read stop the reading of further requests', async () => {
  await using server = await startServer()
  let refused = 0
  server.fastify.server.on('request', () => (refused += 1))
  using connection = await openUsed(server.url)
  server.state.full = true
  connection.socket.pause()
  const sent = 50_000
  connection.write(Buffer.concat(Array<Buffer>(sent).fill(toRequest(post('mine', '')))))
  let before = -1
  await expect.poll(() => before === (before = refused) && before > 1, { interval: 300 }).toBe(true)
  expect(refused).toBeLessThan(sent / 2)
})

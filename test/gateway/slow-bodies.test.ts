// Bodies that come too slowly, or go on after they were answered, are cut off; those that make progress are not.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { boundBodies } from '../../src/gateway/slow-bodies.ts'
import { listen } from '../../src/gateway/server.ts'

const open: FastifyInstance[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

/** A server that answers with the size of a body, refuses `/refused` without reading it, and answers `/waits` when it has taken its time. */
async function openServer(): Promise<number> {
  const app = Fastify({
    requestTimeout: 0,
    clientErrorHandler: (_error, socket) => socket.end('HTTP/1.1 400 x\r\n\r\n'),
  })
  open.push(app)
  boundBodies(app, { windowMs: 300, leastBytes: 1000, answeredMs: 200 })
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  app.post('/read', async ({ raw }) => {
    let bytes = 0
    for await (const chunk of raw) bytes += (chunk as Buffer).length
    return { bytes }
  })
  app.get('/waits', async () => {
    await pause(700)
    return {}
  })
  app.post('/refused', async (_request, reply) => reply.code(413).send({}))
  return listen(app, '127.0.0.1', 0)
}

async function post(path: string): Promise<Socket> {
  const socket = connect(await openServer(), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 6000\r\n\r\n`)
  return socket
}

/** However it was closed: a client that still writes is reset. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

test('a body that stalls is answered and cut off', async () => {
  const socket = await post('/read')
  socket.write(Buffer.alloc(500))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 400/)
  await closed(socket)
})

test('a body that takes longer than the time, and goes on all the while, arrives', async () => {
  const socket = await post('/read')
  const answered = once(socket, 'data') as Promise<[Buffer]>
  const timer = setInterval(() => socket.write(Buffer.alloc(1000)), 100)
  const [answer] = await answered
  clearInterval(timer)
  expect(answer.toString()).toContain('{"bytes":6000}')
  socket.destroy()
})

test('an answer may take longer than a body, whether or not anybody reads the body of its request', async () => {
  const socket = connect(await openServer(), '127.0.0.1')
  socket.write('GET /waits HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\n{}')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 200/)
  socket.destroy()
})

test('a body that goes on after it was answered is cut off', async () => {
  const socket = await post('/refused')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 413/)
  const timer = setInterval(() => socket.write('x'), 20)
  await closed(socket)
  clearInterval(timer)
})

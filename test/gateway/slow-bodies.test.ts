// Bodies that come too slowly, or go on after they were answered, are cut off; those that make progress are not (P120).
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import { boundConnections } from '../../src/gateway/http/connections.ts'
import { listen } from '../../src/gateway/server.ts'
import { roomy } from './bounds.ts'

const windowMs = 300
const answeredMs = 200
const leastBytes = 1000
// The server looks at its connections four times in a window.
const lookMs = windowMs / 4

const open: FastifyInstance[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const app of open.splice(0)) await app.close()
})

/** A server that answers with the size of a body, refuses `/refused` without reading it, and answers `/waits` when it is told to. */
async function openServer() {
  // Time passes when the test says so.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const app = Fastify({ requestTimeout: 0 })
  open.push(app)
  boundConnections(
    app,
    { ...roomy, windowMs, leastBytes, answeredMs },
    { refuse: (_error, socket) => socket.end('HTTP/1.1 400 x\r\n\r\n'), note() {} },
  )
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  const read = { bytes: 0 }
  const { promise: asked, resolve: ask } = Promise.withResolvers<IncomingMessage>()
  app.post('/read', async ({ raw }) => {
    ask(raw)
    for await (const chunk of raw) read.bytes += (chunk as Buffer).length
    return read
  })
  const { promise: told, resolve: tell } = Promise.withResolvers<void>()
  app.get('/waits', async ({ raw }) => {
    ask(raw)
    await told
    return {}
  })
  app.post('/refused', async (_request, reply) => reply.code(413).send({}))
  const socket = connect(await listen(app, '127.0.0.1', 0), '127.0.0.1')
  socket.on('error', () => {})
  return { socket, read, asked, tell }
}

async function post(path: string) {
  const server = await openServer()
  server.socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 6000\r\n\r\n`)
  return server
}

/** However it was closed: a client that still writes is reset. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

test('a body that stalls is answered and cut off', async () => {
  const { socket, read } = await post('/read')
  socket.write(Buffer.alloc(500))
  await expect.poll(() => read.bytes).toBe(500)
  const answered = once(socket, 'data') as Promise<[Buffer]>
  vi.advanceTimersByTime(windowMs)
  expect(socket.bytesRead).toBe(0)
  vi.advanceTimersByTime(lookMs)
  expect((await answered)[0].toString()).toMatch(/^HTTP\/1.1 400/)
  await closed(socket)
})

test('a body that takes longer than the limit but never stalls arrives', async () => {
  const { socket, read, asked } = await post('/read')
  await asked
  const answered = once(socket, 'data') as Promise<[Buffer]>
  for (let sent = leastBytes; sent <= 6000; sent += leastBytes) {
    socket.write(Buffer.alloc(leastBytes))
    await expect.poll(() => read.bytes).toBe(sent)
    // Polling takes some of the time, too.
    vi.advanceTimersByTime(windowMs / 2)
  }
  expect((await answered)[0].toString()).toContain('{"bytes":6000}')
  socket.destroy()
})

test('an answer may take longer than a body, whether or not anybody reads the body of its request', async () => {
  const { socket, asked, tell } = await openServer()
  socket.write('GET /waits HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\n{}')
  const request = await asked
  await expect.poll(() => request.complete).toBe(true)
  vi.advanceTimersByTime(3 * windowMs)
  const answered = once(socket, 'data') as Promise<[Buffer]>
  tell()
  expect((await answered)[0].toString()).toMatch(/^HTTP\/1.1 200/)
  socket.destroy()
})

test('a body that continues after its answer is cut off', async () => {
  const { socket } = await post('/refused')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 413/)
  const timer = setInterval(() => socket.write('x'), 20)
  const gone = closed(socket)
  vi.advanceTimersByTime(answeredMs + 2 * lookMs)
  await gone
  clearInterval(timer)
})

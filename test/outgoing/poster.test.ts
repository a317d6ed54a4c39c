// One POST: what comes of it, in words, whatever the other side does.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { everyHost } from '../../src/outgoing/hosts.ts'
import { createPoster } from '../../src/outgoing/poster.ts'
import { openReceiver } from './receiver.ts'

const never = new AbortController().signal

/** Posts once; answers with what came of it. */
async function post(url: string, timeoutMs: number, signal = never) {
  const poster = createPoster({ allowed: everyHost, timeoutMs, maxAnswerBytes: 65_536 })
  const result = await poster.post({ url, headers: { 'x-test': 'yes' }, body: '{}', signal })
  await poster.close()
  return result
}

/** A TCP server that does to its connections what the test says. */
async function openRaw(onConnection: (socket: Socket) => void): Promise<{ host: string } & AsyncDisposable> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    onConnection(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

test.each([200, 201, 204, 299])('%i is taken', async (status) => {
  await using receiver = await openReceiver()
  receiver.answer = status
  expect(await post(receiver.url, 5000)).toMatchObject({ responseStatus: status, error: null })
  expect(receiver.received).toMatchObject([{ body: '{}', headers: { 'x-test': 'yes' } }])
})

test.each([300, 301, 304, 400, 404, 410, 500, 503])('%i is a failure', async (status) => {
  await using receiver = await openReceiver()
  receiver.answer = status
  const { responseStatus, error } = await post(receiver.url, 5000)
  expect(responseStatus).toBe(status)
  expect(error).toContain(`The endpoint answered ${status}`)
})

test('an endpoint that does not answer in time gets an error that says so, and a slow answer is not awaited', async () => {
  await using silent = await openRaw(() => undefined)
  const late = await post(`http://${silent.host}/`, 150)
  expect(late).toMatchObject({ responseStatus: null, error: 'The endpoint did not answer within 0.15 s.' })
  await using dripping = await openRaw((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
    const timer = setInterval(() => socket.write('x'), 20)
    socket.once('close', () => clearInterval(timer))
  })
  const taken = await post(`http://${dripping.host}/`, 300)
  expect(taken).toMatchObject({ responseStatus: 200, error: null })
})

test('a connection that is cut, that speaks no HTTP or no TLS is a failure in words', async () => {
  await using cutting = await openRaw((socket) => socket.once('data', () => socket.destroy()))
  expect((await post(`http://${cutting.host}/`, 5000)).error).toBe('The connection was cut.')
  await using babbling = await openRaw((socket) => socket.end('good evening\r\n\r\n'))
  expect((await post(`http://${babbling.host}/`, 5000)).error).toBe('The answer is not HTTP.')
  expect((await post(`https://${babbling.host}/`, 5000)).error).toContain('TLS')
})

test('a POST that is broken off does not wait for its time', async () => {
  const abort = new AbortController()
  await using silent = await openRaw(() => abort.abort())
  const { responseStatus, error } = await post(`http://${silent.host}/`, 3_600_000, abort.signal)
  expect(responseStatus).toBeNull()
  expect(error).not.toBeNull()
})

// All connections read into one buffer: nobody's bytes may show up in the body of another.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openConnection } from '../src/http/read-ahead.ts'

const half = 20_000

test('a body that is kept while others send stays what its client sent', async () => {
  const server = createServer()
  server.on('connection', (socket) => {
    openConnection(socket, { maxPipelined: 4, maxUnreadBytes: 1e6 })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })

  const first = await send(server, 'a')
  const second = await send(server, 'b')
  for (const { socket, letter } of [first, second]) socket.write(letter.repeat(half))
  await Promise.all([first.received(2 * half), second.received(2 * half)])
  expect(first.text()).toBe('a'.repeat(2 * half))
  expect(second.text()).toBe('b'.repeat(2 * half))
})

/** Sends a request with the first half of its body, and waits until the server has that. */
async function send(server: ReturnType<typeof createServer>, letter: string) {
  const requested = once(server, 'request')
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * half}\r\n\r\n${letter.repeat(half)}`)
  const [request] = (await requested) as [IncomingMessage]
  const chunks: Buffer[] = []
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
  })
  const received = (most: number) => expect.poll(() => bytes, { interval: 1 }).toBe(most)
  await received(half)
  return { socket, letter, received, text: () => Buffer.concat(chunks).toString() }
}

// WebSockets of other servers go where requests may go, and end when they should.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { onlyPublic, parseAllowedHosts } from '../../src/outgoing/hosts.ts'
import type { Listener } from '../../src/outgoing/listener.ts'
import { createPublicClient } from '../../src/outgoing/public-client.ts'
import { createUpstreamClient } from '../../src/outgoing/upstream-client.ts'

/** A server that hands over each connection with the head of its request. */
async function openServer(
  answer: (wire: Socket, head: string) => void,
): Promise<Server & AsyncDisposable & { url: string; heads: string[] }> {
  const heads: string[] = []
  const wires = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (wire) => {
    wires.add(wire)
    wire.on('error', () => {})
    wire.once('data', (chunk) => {
      heads.push(chunk.toString())
      answer(wire, chunk.toString())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(server, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heads,
    async [Symbol.asyncDispose]() {
      for (const wire of wires) wire.destroy()
      server.close()
      await once(server, 'close')
    },
  })
}

function accept(wire: Socket, head: string): void {
  const [, key = ''] = /sec-websocket-key: (.+)\r/i.exec(head) ?? []
  const hash = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  wire.write(`HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${hash}\r\n\r\n`)
}

const whenClosed = (listener: Listener) => expect.poll(() => listener.isClosed).toBe(true)
const asked = { hello: 'hello', headers: {}, onMessage: () => {} }

test('a private address is refused without a connection, unless its name is allowed', async () => {
  await using server = await openServer(accept)
  const guarded = createPublicClient({ allowed: onlyPublic, timeoutMs: 1000 })
  await whenClosed(guarded.listen(new URL(server.url), asked))
  expect(server.heads).toEqual([])
  await guarded.destroy()
  const allowing = createPublicClient({ allowed: parseAllowedHosts('127.0.0.1'), timeoutMs: 60_000 })
  const listener = allowing.listen(new URL(server.url), asked)
  await expect.poll(() => server.heads.length).toBe(1)
  listener.close()
  await allowing.destroy()
})

test('a provider’s key goes to its own origin, whatever the URL says', async () => {
  await using server = await openServer(accept)
  await using thief = await openServer(accept)
  const client = createUpstreamClient({ baseUrl: server.url, credentials: { authorization: 'Bearer secret' } })
  const listener = client.listen(`${thief.url}/ws?clientId=1`, asked)
  await expect.poll(() => server.heads.length).toBe(1)
  expect(server.heads[0]).toMatch(/^GET \/ws\?clientId=1 HTTP/)
  expect(server.heads[0]?.toLowerCase()).toContain('authorization: bearer secret\r\n')
  expect(thief.heads).toEqual([])
  listener.close()
  await client.close()
})

test('a handshake that is never answered ends in time, and at once when it is closed', async () => {
  const { promise: ended, resolve } = Promise.withResolvers<unknown>()
  await using server = await openServer((wire) => void wire.on('end', resolve).on('close', resolve))
  const client = createPublicClient({ allowed: parseAllowedHosts('127.0.0.1'), timeoutMs: 300 })
  await whenClosed(client.listen(new URL(server.url), asked))
  await ended
  const patient = createPublicClient({ allowed: parseAllowedHosts('127.0.0.1'), timeoutMs: 60_000 })
  const listener = patient.listen(new URL(server.url), asked)
  await expect.poll(() => server.heads.length).toBe(2)
  listener.close()
  expect(listener.isClosed).toBe(true)
  await Promise.all([client.destroy(), patient.destroy()])
})

test('a connection is closed for good though the server answers nothing and goes on to send', async () => {
  const { promise: cut, resolve } = Promise.withResolvers<void>()
  await using server = await openServer((wire, head) => {
    accept(wire, head)
    wire.on('data', () => {
      // Frames of one byte, as long as anybody takes them.
      const send = (): void => void (wire.destroyed || wire.write(Buffer.from([0x82, 1, 0]), () => setImmediate(send)))
      send()
    })
    wire.on('close', () => resolve())
  })
  const client = createPublicClient({ allowed: parseAllowedHosts('127.0.0.1'), timeoutMs: 60_000 })
  const heard = Promise.withResolvers<void>()
  let messages = 0
  const listener = client.listen(new URL(server.url), {
    ...asked,
    onMessage() {
      messages += 1
      if (messages > 1) heard.resolve()
    },
  })
  await heard.promise
  listener.close()
  const last = messages
  await cut
  expect(messages).toBe(last)
  await client.destroy()
})

test('a handler that throws ends the connection alone', async () => {
  await using server = await openServer((wire, head) => {
    accept(wire, head)
    wire.write(Buffer.from([0x81, 1, 0x78]))
  })
  const client = createPublicClient({ allowed: parseAllowedHosts('127.0.0.1'), timeoutMs: 60_000 })
  const failing = {
    ...asked,
    onMessage: () => {
      throw new Error('a bug')
    },
  }
  await whenClosed(client.listen(new URL(server.url), failing))
  await client.destroy()
})

// Answers that nobody reads: their connection is cut off, and what they held open is closed.
import { readdirSync, readlinkSync } from 'node:fs'
import Fastify from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { boundConnections } from '../../src/gateway/http/connections.ts'
import { listen } from '../../src/gateway/server.ts'
import { startTestApp } from '../test-app.ts'
import { roomy } from './bounds.ts'
import { expectProblem } from './problem.ts'
import { openRaw, type RawConnection } from './raw-http.ts'

const app = await startTestApp({
  MEDIAGEN_ROLES: 'api',
  MEDIAGEN_STALL_SECONDS: '1',
  MEDIAGEN_MAX_DOWNLOADS: '4',
  MEDIAGEN_MAX_DOWNLOADS_PER_ADDRESS: '3',
  MEDIAGEN_TRUSTED_PROXIES: '127.0.0.9',
})
afterAll(() => app[Symbol.asyncDispose]())

// More than the buffers of both ends hold.
const bytes = 40_000_000

/** A sound of silence. */
function toWave(): Buffer {
  const wave = Buffer.alloc(bytes)
  wave.write('RIFF')
  wave.writeUInt32LE(bytes - 8, 4)
  wave.write('WAVEfmt ', 8)
  for (const [at, value] of [
    [16, 16],
    [24, 48_000],
    [28, 96_000],
  ] as const)
    wave.writeUInt32LE(value, at)
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    wave.writeUInt16LE(value, at)
  wave.write('data', 36)
  wave.writeUInt32LE(bytes - 44, 40)
  return wave
}

const headers = { authorization: `Bearer ${app.account.key}`, 'content-type': 'audio/wav' }
const uploaded = await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body: new Uint8Array(toWave()) })
const { url } = (await uploaded.json()) as { url: string }
// Files are served by the core, whoever answered with the URL.
const { origin, pathname, search } = new URL(url)

/** How many descriptors of this process lead to the file. */
function countOpen(): number {
  const name = pathname.split('/').at(-1) ?? ''
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes(name)
    } catch {
      return false
    }
  }).length
}

/** Begins to fetch the file and reads nothing of it. */
async function fetchUnread(from?: string, forwarded?: string): Promise<RawConnection> {
  const connection = await openRaw(origin, from)
  connection.socket.pause()
  const client = forwarded === undefined ? '' : `x-forwarded-for: ${forwarded}\r\n`
  connection.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n${client}\r\n`)
  return connection
}

const isLinux = process.platform === 'linux'

test.runIf(isLinux)(
  'MEDIAGEN_STALL_SECONDS: a download of which nobody takes a byte is cut off, its file closed',
  async () => {
    using connection = await fetchUnread()
    await expect.poll(countOpen).toBe(1)
    await expect.poll(countOpen).toBe(0)
    connection.socket.resume()
    await connection.closed
    expect(connection.socket.bytesRead).toBeLessThan(bytes)
  },
)

test('a download that is read slowly, and on and on, comes whole', async () => {
  using connection = await openRaw(origin)
  connection.socket.pause()
  connection.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  // Twice as long as the time, in steps.
  let enough = 0
  const timer = setInterval(() => {
    enough += 2_000_000
    connection.socket.resume()
  }, 100)
  connection.socket.on('data', () => {
    if (connection.socket.bytesRead > enough) connection.socket.pause()
  })
  await connection.closed
  clearInterval(timer)
  expect(connection.socket.bytesRead).toBeGreaterThan(bytes)
})

describe.runIf(isLinux)('how many downloads there may be at once', () => {
  const ask = async (from: string, forwarded?: string) => {
    using connection = await openRaw(origin, from)
    const client = forwarded === undefined ? '' : `x-forwarded-for: ${forwarded}\r\n`
    connection.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\nrange: bytes=0-9\r\n${client}\r\n`)
    return await connection.next()
  }

  test('MEDIAGEN_MAX_DOWNLOADS_PER_ADDRESS: one more of an address is refused, of another it is served', async () => {
    const unread = await Promise.all([1, 2, 3].map(() => fetchUnread('127.0.0.1')))
    await expect.poll(countOpen).toBe(3)
    const refused = await ask('127.0.0.1')
    expectProblem(refused, origin, 'rate_limited')
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect((await ask('127.0.0.2')).status).toBe(206)
    for (const { socket } of unread) socket.destroy()
    await expect.poll(countOpen).toBe(0)
    expect((await ask('127.0.0.1')).status).toBe(206)
  })

  test('MEDIAGEN_MAX_DOWNLOADS: one more of anybody is refused', async () => {
    const unread = await Promise.all([1, 2, 3, 4].map((host) => fetchUnread(`127.0.0.${host}`)))
    await expect.poll(countOpen).toBe(4)
    expectProblem(await ask('127.0.0.5'), origin, 'overloaded')
    for (const { socket } of unread) socket.destroy()
    await expect.poll(countOpen).toBe(0)
  })

  test('X-Forwarded-For identifies clients behind a trusted proxy, and is ignored from others', async () => {
    const unread = await Promise.all([1, 2, 3].map(() => fetchUnread('127.0.0.9', '203.0.113.1')))
    await expect.poll(countOpen).toBe(3)
    expectProblem(await ask('127.0.0.9', '203.0.113.1'), origin, 'rate_limited')
    expect((await ask('127.0.0.9', '203.0.113.2')).status).toBe(206)
    expect((await ask('127.0.0.1', '203.0.113.1')).status).toBe(206)
    for (const { socket } of unread) socket.destroy()
    await expect.poll(countOpen).toBe(0)
  })
})

test('MEDIAGEN_MAX_UNREAD_TOTAL_BYTES: the connections with the most unread bytes are cut off until the total is within the limit', async () => {
  const fastify = Fastify({ forceCloseConnections: true })
  const cuts: string[] = []
  const bounds = { ...roomy, maxUnreadTotalBytes: 60_000_000 }
  boundConnections(fastify, bounds, {
    refuse: (_error, socket) => socket.destroy(),
    note: (cut) => void cuts.push(cut),
  })
  fastify.get('/:bytes', (request, reply) =>
    reply.send(Buffer.alloc(Number((request.params as { bytes: string }).bytes))),
  )
  const port = await listen(fastify, '127.0.0.1', 0)
  const open = async (size: number): Promise<RawConnection> => {
    const connection = await openRaw(`http://127.0.0.1:${port}`)
    connection.socket.pause()
    connection.write(`GET /${size} HTTP/1.1\r\nhost: x\r\n\r\n`)
    return connection
  }
  const small = await Promise.all([1, 2, 3].map(() => open(15_000_000)))
  const large = await open(60_000_000)
  await expect.poll(() => cuts).toEqual(['unread_in_all'])
  for (const { socket } of [...small, large]) socket.resume()
  await large.closed
  for (const connection of small) expect((await connection.next()).text).toHaveLength(15_000_000)
  expect(large.socket.bytesRead).toBeLessThan(60_000_000)
  for (const { socket } of small) socket.destroy()
  await fastify.close()
})

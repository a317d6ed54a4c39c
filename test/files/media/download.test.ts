// Downloads of what other servers made: limits, credentials, redirects and further tries, against real servers on this machine.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createDownloader, type DownloaderOptions } from '../../../src/files/media/download.ts'
import { onlyPublic, parseAllowedHosts } from '../../../src/outgoing/hosts.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-download-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const path = join(folder, 'file')
const stays = new AbortController().signal

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A server that answers each request with the next of these, and the last one again and again. */
async function serve(...answers: readonly Answer[]) {
  const received: IncomingMessage[] = []
  const server = createServer((request, response) => {
    answers[Math.min(received.push(request), answers.length) - 1]?.(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

const open = (options: Partial<DownloaderOptions> = {}) =>
  createDownloader({ allowed: onlyPublic, maxBytes: 1000, timeoutMs: 10_000, firstPauseMs: 1, ...options })
const give =
  (text: string, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(200, { 'content-type': 'image/png; x=y', ...headers }).end(text)
const refuse =
  (status: number): Answer =>
  (_, response) =>
    response.writeHead(status).end()
const cut: Answer = (_, response) => {
  response.writeHead(200, { 'content-length': '100' })
  response.write('half')
  response.socket?.end()
}

test('the origin that made the file may be private, and gets the credentials', async () => {
  await using server = await serve(give('whole'))
  await using downloader = open()
  const { origin } = server
  const done = await downloader.download(`${origin}/a`, path, stays, { origin, headers: { authorization: 'Bearer k' } })
  expect(done).toEqual({ bytes: 5, contentType: 'image/png' })
  expect(readFileSync(path, 'utf8')).toBe('whole')
  expect(server.received[0]?.headers.authorization).toBe('Bearer k')
})

test('no other private address gets a request, not even by a redirect of that origin', async () => {
  await using other = await serve(give('secret'))
  await using server = await serve((_, response) => response.writeHead(302, { location: `${other.origin}/b` }).end())
  await using downloader = open()
  for (const [url, options] of [
    [`${other.origin}/b`, {}],
    [`${server.origin}/a`, { origin: server.origin }],
  ] as const)
    await expect(downloader.download(url, path, stays, options)).rejects.toMatchObject({
      code: 'output_unavailable',
      message: expect.stringContaining('public address'),
      retryable: false,
    })
  expect(other.received).toEqual([])
})

test('another server that it redirects to does not get the credentials', async () => {
  await using other = await serve(give('whole'))
  await using server = await serve((_, response) => response.writeHead(302, { location: `${other.origin}/b` }).end())
  await using downloader = open({ allowed: parseAllowedHosts('127.0.0.1') })
  const options = { origin: server.origin, headers: { authorization: 'Bearer k', 'x-key': 'k' } }
  await downloader.download(`${server.origin}/a`, path, stays, options)
  expect(server.received[0]?.headers['x-key']).toBe('k')
  expect([other.received[0]?.headers.authorization, other.received[0]?.headers['x-key']]).toEqual([
    undefined,
    undefined,
  ])
})

test('what fails in a way that may pass is tried again until it is whole', async () => {
  await using server = await serve(refuse(503), cut, refuse(429), refuse(404), give('whole'))
  await using downloader = open()
  await downloader.download(`${server.origin}/a`, path, stays, { origin: server.origin })
  expect([server.received.length, readFileSync(path, 'utf8')]).toEqual([5, 'whole'])
})

test.each([
  ['is not there', refuse(404), 4, 'answered 404', true],
  ['is refused for good', refuse(401), 1, 'answered 401', false],
  ['is too large (MEDIAGEN_MAX_OUTPUT_BYTES)', give('x'.repeat(1001)), 1, 'more than 1000 bytes', false],
  ['is compressed', give('x', { 'content-encoding': 'gzip' }), 1, 'compressed', false],
])('a file that %s is given up', async (_, answer, tries, words, retryable) => {
  await using server = await serve(answer)
  await using downloader = open()
  await expect(downloader.download(`${server.origin}/a`, path, stays, { origin: server.origin })).rejects.toMatchObject(
    { code: 'output_unavailable', message: expect.stringContaining(words), retryable },
  )
  expect(server.received).toHaveLength(tries)
})

test.each(['', 'identity', 'Identity', 'identity, identity', 'aws-chunked', 'aws-chunked,identity'])(
  'a Content-Encoding of "%s" compresses nothing',
  async (encoding) => {
    await using server = await serve(give('whole', { 'content-encoding': encoding }))
    await using downloader = open()
    await downloader.download(`${server.origin}/a`, path, stays, { origin: server.origin })
    expect(readFileSync(path, 'utf8')).toBe('whole')
  },
)

test('a redirect without end, a file system URL and an abort end it', async () => {
  await using server = await serve((_, response) => response.writeHead(302, { location: '/again' }).end())
  await using downloader = open()
  const { origin } = server
  await expect(downloader.download(`${origin}/a`, path, stays, { origin })).rejects.toThrow('more than 5 times')
  await expect(downloader.download('file:///etc/passwd', path, stays)).rejects.toThrow('neither http: nor https:')
  await expect(
    downloader.download(`${origin}/a`, path, AbortSignal.abort(new Error('stop')), { origin }),
  ).rejects.toThrow('stop')
})

test('a server that never gives the file is given up in time, and another run may try again', async () => {
  await using server = await serve(refuse(500))
  await using downloader = open({ timeoutMs: 50 })
  await expect(downloader.download(`${server.origin}/a`, path, stays, { origin: server.origin })).rejects.toMatchObject(
    { message: expect.stringContaining('0.05 s'), retryable: true },
  )
})

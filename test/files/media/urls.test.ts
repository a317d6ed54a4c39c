// Media from URLs: fetched when the job runs, from any server; what cannot be had fails the job in words that
// name the field and the host, and the credits are back (P105, P106, P107).
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withBuiltin } from '../../test-app.ts'
import { copyModel, type MediaApp, openHost, openRawHost, startMediaApp } from './media-app.ts'

const picture = readFileSync(join(import.meta.dirname, '../../models/picture.png'))
const maxBytes = 1_000_000
let media: MediaApp

beforeAll(async () => {
  const settings = {
    MEDIAGEN_MEDIA_ALLOW_HOSTS: '127.0.0.1',
    MEDIAGEN_MEDIA_FETCH_SECONDS: '1',
    MEDIAGEN_MAX_INPUT_BYTES: String(maxBytes),
  }
  media = await startMediaApp(settings, withBuiltin)
})
afterAll(() => media[Symbol.asyncDispose]())

test('a picture is fetched when the job runs, never while quoting, and reaches the engine as it is', async () => {
  const requested: object[] = []
  await using host = await openHost((request, response) => {
    requested.push(request.headers)
    // What it is called is not believed.
    response.setHeader('content-type', 'text/html').end(picture)
  })
  const input = { image: `${host.url}/photo.svg` }
  await media.app.quote(copyModel, input)
  expect(host.connections).toBe(0)
  const job = await media.run(input)
  expect(job).toMatchObject({ status: 'succeeded', outputs: [{ content_type: 'image/png', bytes: picture.length }] })
  expect(job.outputs[0].sha256).toBe(createHash('sha256').update(picture).digest('hex'))
  expect(requested).toMatchObject([{ 'accept-encoding': 'identity' }])
  expect(requested[0]).not.toHaveProperty('authorization')
})

test('several values of an input are fetched, equal URLs once', async () => {
  const requested: string[] = []
  await using host = await openHost((request, response) => {
    requested.push(request.url ?? '')
    response.end(picture)
  })
  const [a, b] = [`${host.url}/a`, `${host.url}/b`]
  const job = await media.run({ image: a, images: [b, a, `data:;base64,${picture.toString('base64')}`] })
  expect(job.outputs).toHaveLength(4)
  expect(requested.toSorted()).toEqual(['/a', '/b'])
})

test('all files of a job share the bytes that it may be handed', async () => {
  const padded = Buffer.concat([picture, Buffer.alloc(400_000)])
  await using host = await openHost((_request, response) => void response.end(padded))
  const images = [1, 2, 3].map((index) => `${host.url}/${index}`)
  expect(await media.refusal({ images })).toMatchObject({
    code: 'invalid_media',
    message: expect.stringMatching(/^images\[\d\] is too large: all media of a job may have 1000000 bytes together/),
  })
})

test('three redirects are followed, a fourth and a loop are not', async () => {
  await using host = await openHost(({ url = '' }, response) => {
    const left = Number(url.slice(1))
    if (left === 0) response.end(picture)
    else response.writeHead(302, { location: left > 10 ? url : `/${left - 1}` }).end('elsewhere')
  })
  expect(await media.run({ image: `${host.url}/3` })).toMatchObject({ status: 'succeeded' })
  for (const path of ['4', '99'])
    expect(await media.refusal({ image: `${host.url}/${path}` })).toEqual({
      code: 'invalid_media',
      message: 'image is redirected more than 3 times.',
      retryable: false,
    })
})

test.each([
  ['file:///etc/passwd', /neither http: nor https:/],
  ['data:image/png;base64,AAAA', /neither http: nor https:/],
  ['http://user:secret@127.0.0.1/', /user name or password/],
  ['http://127.0.0.1:22/', /the port 22/],
  ['http://[', /cannot be read/],
  ['http://127.0.0.2:PORT/', /does not lead to a public address/],
  ['http://localhost.localdomain.invalid:PORT/', /does not lead to a public address|could not be looked up/],
  ['http://169.254.169.254/latest/meta-data/', /does not lead to a public address/],
  ['//[::ffff:10.0.0.1]/', /does not lead to a public address/],
])('a redirect to %s is refused', async (location, words) => {
  const paths: string[] = []
  await using host = await openHost(({ url = '', headers }, response) => {
    paths.push(url)
    response.writeHead(307, { location: location.replace('PORT', headers.host?.split(':')[1] ?? '') }).end()
  })
  const { message } = await media.refusal({ image: `${host.url}/start` })
  expect(message).toMatch(words)
  expect(message).toMatch(/^image /)
  expect(message).not.toContain('secret')
  expect(paths).toEqual(['/start'])
})

test.each([
  [204, false],
  [206, false],
  [304, false],
  [401, false],
  [404, false],
  [410, false],
  [429, true],
  [500, true],
  [503, true],
])('the answer %i is no file', async (status, retryable) => {
  await using host = await openHost((_request, response) => void response.writeHead(status).end())
  expect(await media.refusal({ image: host.url })).toEqual({
    code: 'media_unavailable',
    message: `image cannot be fetched: 127.0.0.1 answered ${status}.`,
    retryable,
  })
})

test.each(['', 'identity', 'IDENTITY', 'aws-chunked', 'aws-chunked, identity'])(
  'a Content-Encoding of "%s" compresses nothing',
  async (encoding) => {
    await using host = await openHost((_request, response) => {
      response.setHeader('content-type', 'image/png').setHeader('content-encoding', encoding).end(picture)
    })
    expect((await media.run({ image: host.url })).status).toBe('succeeded')
  },
)

test('an empty answer, a compressed one and one of another kind are refused', async () => {
  await using host = await openHost(({ url }, response) => {
    if (url === '/empty') response.end()
    else if (url === '/gzip') response.setHeader('content-encoding', 'gzip').end(gzipSync(picture))
    else response.setHeader('content-type', 'image/png').end('<!doctype html><title>Sign in</title>')
  })
  expect((await media.refusal({ image: `${host.url}/empty` })).message).toBe('image is empty.')
  expect((await media.refusal({ image: `${host.url}/gzip` })).message).toContain('compressed')
  expect((await media.refusal({ images: [`${host.url}/page`] })).message).toMatch(/^images\[0\] must be .* HTML/)
})

test('a body without an end is cut off, and one that says how large it is not begun', async () => {
  await using host = await openHost(({ url }, response) => {
    if (url === '/large') response.setHeader('content-length', 50_000_000)
    const chunk = Buffer.alloc(65_536, picture)
    const more = (): void => void response.write(chunk, (error) => error ?? setImmediate(more))
    more()
  })
  for (const path of ['endless', 'large']) {
    expect(await media.refusal({ image: `${host.url}/${path}` })).toEqual({
      code: 'invalid_media',
      message: `image is too large: all media of a job may have ${maxBytes} bytes together.`,
      retryable: false,
    })
  }
  await expect.poll(() => host.open).toBe(0)
})

test.each<[string, Parameters<typeof openRawHost>[0]]>([
  ['says nothing', () => {}],
  ['sends its headers byte by byte', (socket) => drip(socket, `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(10_000)}\r\n\r\n`)],
  [
    'sends its body byte by byte',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n')
      drip(socket, picture.toString('latin1').padEnd(10_000))
    },
  ],
  [
    'falls silent in its body',
    (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n\x89PNG'),
  ],
  [
    'redirects slowly, again and again',
    (socket) =>
      void pause(400).then(() => socket.end('HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n')),
  ],
])('a server that %s is not waited for', async (_name, behave) => {
  await using host = await openRawHost(behave)
  expect(await media.refusal({ image: host.url })).toEqual({
    code: 'media_unavailable',
    message: 'image cannot be fetched: 127.0.0.1 took longer than 1 s.',
    retryable: true,
  })
  await expect.poll(() => host.open).toBe(0)
})

function drip(socket: Parameters<Parameters<typeof openRawHost>[0]>[0], text: string): void {
  let at = 0
  const timer = setInterval(() => socket.write(text.charAt(at++), 'latin1'), 20)
  socket.once('close', () => clearInterval(timer))
}

test.each<[string, Parameters<typeof openRawHost>[0], RegExp, boolean]>([
  ['cuts the connection', (socket) => socket.once('data', () => socket.destroy()), /the connection was cut/, true],
  [
    'sends less than it says',
    (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n\x89PNG')),
    /the connection was cut/,
    true,
  ],
  ['speaks no HTTP', (socket) => socket.end('220 mail.example ESMTP\r\n'), /the answer is not HTTP/, false],
  [
    'has headers without end',
    (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(500_000)}\r\n\r\n`),
    /the answer is not HTTP/,
    false,
  ],
])('a server that %s is said so', async (_name, behave, words, retryable) => {
  await using host = await openRawHost(behave)
  expect(await media.refusal({ image: host.url })).toEqual({
    code: 'media_unavailable',
    message: expect.stringMatching(words),
    retryable,
  })
})

test('a file that is longer than its Content-Length is cut there, and then it is damaged', async () => {
  await using host = await openRawHost((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${picture.length - 20}\r\n\r\n`)
    socket.end(picture)
  })
  const { code, message } = await media.refusal({ image: host.url, max_width: 64 }, 'builtin/image/art/edit')
  expect([code, message]).toEqual(['invalid_media', 'image cannot be decoded: the file is damaged or incomplete.'])
})

test('closed ports and failed TLS handshakes are explained', async () => {
  const closed = await openHost(() => {})
  await closed[Symbol.asyncDispose]()
  expect((await media.refusal({ image: closed.url })).message).toBe(
    'image cannot be fetched: the connection was refused (127.0.0.1).',
  )
  await using host = await openHost((_request, response) => void response.end(picture))
  expect((await media.refusal({ image: host.url.replace('http', 'https') })).message).toContain('TLS')
})

test('a cancel breaks off a fetch', async () => {
  await using patient = await startMediaApp({ MEDIAGEN_MEDIA_ALLOW_HOSTS: '127.0.0.1' })
  const { promise: requested, resolve } = Promise.withResolvers<void>()
  await using host = await openRawHost((socket) => void socket.once('data', () => resolve()))
  const { app } = patient
  const { body: started } = await app.generate(copyModel, { image: host.url }, { wait: false })
  await requested
  await app.send(`/v1/jobs/${started.job_id}/cancel`, { method: 'POST' })
  await expect.poll(async () => (await app.send(`/v1/jobs/${started.job_id}`)).body.status).toBe('canceled')
  await expect.poll(() => host.open).toBe(0)
  expect((await app.send('/v1/wallet')).body).toEqual({ available: 1000, held: 0 })
})

// POST /v1/files and the other routes of uploads, over real HTTP (P35, P37, P89, P90, P119, P121, P125, P142, P153, P158, P165).
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { ReadableStream } from 'node:stream/web'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { listIntake, listUploads } from '../files-on-disk.ts'
import { startTestApp, type TestAccount } from '../test-app.ts'

const picture = new Uint8Array(readFileSync(join(import.meta.dirname, '../models/picture.png')))
const maxBytes = 200_000
const app = await startTestApp({
  MEDIAGEN_MAX_UPLOAD_BYTES: String(maxBytes),
  MEDIAGEN_UPLOAD_ROOM_BYTES: String(5 * 65_536),
})
afterAll(() => app[Symbol.asyncDispose]())

// The room of an account is a limit of its own: each test has its own account.
let account: TestAccount
beforeEach(async () => {
  account = await app.createAccount(10)
})

/** A picture with so many bytes: what follows its end is passed over by readers. */
function pictureOf(bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat([picture, randomBytes(bytes - picture.length)]))
}

async function post(
  body: BodyInit,
  headers: Record<string, string> = { 'content-type': 'image/png' },
): Promise<{ status: number; headers: Headers; body: any }> {
  const response = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, ...headers },
    body,
    duplex: 'half',
  } as RequestInit)
  return { status: response.status, headers: response.headers, body: await response.json() }
}

function formOf(parts: Record<string, Blob | string>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(parts)) form.append(name, value)
  return form
}

const blob = new Blob([picture], { type: 'image/png' })

const unfinished = (): string[] => listIntake(app.config.dataDir)
const stored = (): string[] => listUploads(app.config.dataDir).map((path) => basename(path))

describe('a file is stored', () => {
  test.each<[string, () => ReturnType<typeof post>]>([
    ['as the body', () => post(picture)],
    ['as the body, whatever it is said to be', () => post(picture, { 'content-type': 'application/octet-stream' })],
    ['in a form', () => post(formOf({ file: blob }), {})],
    ['as a stream of unknown length', () => post(new Blob([picture]).stream())],
  ])('%s', async (_how, send) => {
    const { status, headers, body } = await send()
    expect(status, JSON.stringify(body)).toBe(201)
    expect(Object.keys(body)).toEqual(['file_id', 'url', 'content_type', 'bytes', 'sha256', 'created_at', 'expires_at'])
    expect(body).toMatchObject({
      file_id: expect.stringMatching(/^file_[0-9a-z]{26}$/),
      content_type: 'image/png',
      bytes: picture.length,
      sha256: createHash('sha256').update(picture).digest('hex'),
    })
    expect(headers.get('location')).toBe(`/v1/files/${body.file_id}`)
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBeGreaterThan(167 * 3_600_000)

    const served = await fetch(body.url)
    expect(served.headers.get('content-type')).toBe('image/png')
    expect(Buffer.from(await served.arrayBuffer()).equals(picture)).toBe(true)
    const read = await app.send(`/v1/files/${body.file_id}`, { key: account.key })
    expect([read.status, read.body]).toEqual([200, body])
  })

  test('byte for byte, when it comes in a form in many pieces', async () => {
    const large = pictureOf(190_000)
    const boundary = 'b0und'
    const whole = Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`),
      large,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ])
    async function* pieces() {
      for (let at = 0; at < whole.length; at += 997) yield whole.subarray(at, at + 997)
    }
    const { status, body } = await post(ReadableStream.from(pieces()) as unknown as BodyInit, {
      'content-type': `multipart/form-data; boundary=${boundary}`,
    })
    expect([status, body.sha256]).toEqual([201, createHash('sha256').update(large).digest('hex')])
  })

  test('twenty at a time, and each is the file that was sent', async () => {
    const accounts = await Promise.all(Array.from({ length: 5 }, () => app.createAccount(0)))
    const sent = accounts.flatMap(({ key }) =>
      Array.from({ length: 4 }, async () => {
        const body = pictureOf(60_000 + Math.floor(Math.random() * 5000))
        const response = await fetch(`${app.url}/v1/files`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'image/png' },
          body,
        })
        const record: any = await response.json()
        expect([response.status, record.sha256]).toEqual([201, createHash('sha256').update(body).digest('hex')])
        return record.file_id as string
      }),
    )
    expect(new Set(await Promise.all(sent)).size).toBe(20)
  })
})

describe('what is refused leaves nothing, and says why', () => {
  const svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'
  const cases: [string, () => ReturnType<typeof post>, number, string, RegExp][] = [
    ['SVG', () => post(svg, { 'content-type': 'image/svg+xml' }), 400, 'invalid_media', /SVG/],
    ['HTML', () => post('<!doctype html><html>', { 'content-type': 'image/png' }), 400, 'invalid_media', /HTML/],
    ['text', () => post('hello', { 'content-type': 'image/png' }), 400, 'invalid_media', /image, a video or a sound/],
    [
      'a picture that is an archive as well',
      () =>
        post(new Blob([picture, Buffer.from('PK\x05\x06'.padEnd(22, '\0'), 'latin1')]), {
          'content-type': 'image/png',
        }),
      400,
      'invalid_media',
      /image\/png and ZIP/,
    ],
    ['an empty body', () => post('', { 'content-type': 'image/png' }), 400, 'invalid_request', /empty/],
    ['an empty file', () => post(formOf({ file: new Blob([]) }), {}), 400, 'invalid_request', /empty/],
    ['JSON', () => post('{}', { 'content-type': 'application/json' }), 415, 'unsupported_media_type', /image\/…/],
    ['JSON that is none', () => post('{', { 'content-type': 'application/json' }), 415, 'unsupported_media_type', /…/],
    ['another type', () => post('x', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type', /multipart/],
    [
      'a coding',
      () => post(picture, { 'content-type': 'image/png', 'content-encoding': 'gzip' }),
      415,
      'unsupported_media_type',
      /Content-Encoding/,
    ],
    ['no file part', () => post(formOf({ other: blob }), {}), 400, 'invalid_request', /unknown file: other/],
    ['an empty form', () => post(formOf({}), {}), 400, 'invalid_request', /no file/],
    ['a field named file', () => post(formOf({ file: 'text' }), {}), 400, 'invalid_request', /no file name/],
    ['a field beside the file', () => post(formOf({ file: blob, note: 'x' }), {}), 400, 'invalid_request', /note/],
    ['two files', () => post(twice(), {}), 400, 'invalid_request', /more than one file/],
    [
      'no boundary',
      () => post(picture, { 'content-type': 'multipart/form-data' }),
      400,
      'invalid_request',
      /not a multipart form/,
    ],
    [
      'a form that ends early',
      () =>
        post('--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nabc', {
          'content-type': 'multipart/form-data; boundary=b',
        }),
      400,
      'invalid_request',
      /multipart form|broke off/,
    ],
    ['a query', () => fetchQuery(), 400, 'invalid_request', /wait/],
    ['one byte too many', () => post(pictureOf(maxBytes + 1)), 413, 'payload_too_large', /200000 bytes/],
    [
      'one byte too many, not announced',
      () => post(new Blob([pictureOf(maxBytes + 1)]).stream()),
      413,
      'payload_too_large',
      /200000 bytes/,
    ],
    [
      'one byte too many in a form',
      () => post(formOf({ file: new Blob([pictureOf(maxBytes + 1)]) }), {}),
      413,
      'payload_too_large',
      /200000 bytes/,
    ],
    [
      'a form that goes on without a file',
      () =>
        post(new Blob([Buffer.alloc(2 * maxBytes, '\n')]).stream(), {
          'content-type': 'multipart/form-data; boundary=b',
        }),
      413,
      'payload_too_large',
      /The form has more than 65536 bytes beside its file/,
    ],
  ]
  function twice(): FormData {
    const form = formOf({ file: blob })
    form.append('file', blob)
    return form
  }
  async function fetchQuery() {
    const answer = await app.send('/v1/files?wait=true', {
      method: 'POST',
      key: account.key,
      headers: { 'content-type': 'image/png' },
      body: 'x',
    })
    return answer as any
  }

  test.each(cases)('%s', async (_what, send, status, code, words) => {
    const before = stored()
    const answer = await send()
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(answer.body.detail).toMatch(words)
    await expect.poll(unfinished).toEqual([])
    expect(stored()).toEqual(before)
    expect((await app.send('/v1/files', { key: account.key })).body.total).toBe(0)
  })

  test('a file of just the size that is taken', async () => {
    expect((await post(pictureOf(maxBytes))).status).toBe(201)
    expect((await post(formOf({ file: new Blob([pictureOf(100_000)]) }), {})).status).toBe(201)
  })

  test('without a key, a right or a known key, before anything is read', async () => {
    const key = await app.createKey(account.accountId, ['jobs:read'])
    const headers = { 'content-type': 'text/plain' }
    const send = (key: string | null) => app.send('/v1/files', { method: 'POST', key, headers, body: 'x' })
    expect((await send(null)).body.code).toBe('authentication_required')
    expect((await send('mgk_x')).body.code).toBe('invalid_api_key')
    expect((await send(key)).body).toMatchObject({ code: 'missing_permission', permission: 'generate' })
  })
})

test('a file that is too large is refused while it is being sent', async () => {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.write(
    `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  // More than is taken, and no end.
  const chunk = randomBytes(50_000)
  for (let at = 0; at < 5; at++) socket.write(Buffer.concat([Buffer.from('c350\r\n'), chunk, Buffer.from('\r\n')]))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 413 /)
  socket.destroy()
  await expect.poll(unfinished).toEqual([])
})

test('a client that hangs up leaves nothing', async () => {
  const { hostname, port } = new URL(app.url)
  for (const length of ['Content-Length: 150000', 'Transfer-Encoding: chunked']) {
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: image/png\r\n${length}\r\n\r\n`,
    )
    const piece = pictureOf(50_000)
    socket.write(length.startsWith('T') ? Buffer.concat([Buffer.from('c350\r\n'), piece, Buffer.from('\r\n')]) : piece)
    // It has begun.
    await expect.poll(() => unfinished().length).toBe(1)
    socket.destroy()
    await expect.poll(unfinished).toEqual([])
  }
  expect((await app.send('/v1/files', { key: account.key })).body.total).toBe(0)
})

test('a client that stalls is refused, and leaves nothing', async () => {
  await using slow = await startTestApp({ MEDIAGEN_STALL_SECONDS: '1' })
  const { hostname, port } = new URL(slow.url)
  const socket = connect(Number(port), hostname)
  socket.write(
    `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${slow.account.key}\r\nContent-Type: image/png\r\nContent-Length: 150000\r\n\r\n`,
  )
  socket.write(pictureOf(50_000))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n[^]*"code":"request_timeout"/)
  socket.destroy()
  await expect.poll(() => listIntake(slow.config.dataDir)).toEqual([])
  expect(listUploads(slow.config.dataDir)).toEqual([])
  expect((await slow.send('/v1/files')).body.total).toBe(0)
})

describe('the uploads of an account', () => {
  test('are listed, the newest first', async () => {
    const ids: string[] = []
    for (let count = 0; count < 3; count++) ids.unshift((await post(picture)).body.file_id)
    expect(ids.toSorted().toReversed()).toEqual(ids)
    const { body } = await app.send('/v1/files?limit=2', { key: account.key })
    expect(body).toMatchObject({ object: 'list', total: 3, limit: 2, offset: 0, has_more: true })
    expect(body.data.map((file: any) => file.file_id)).toEqual(ids.slice(0, 2))
    const rest = await app.send('/v1/files?limit=2&offset=2', { key: account.key })
    expect(rest.body.data.map((file: any) => file.file_id)).toEqual(ids.slice(2))
  })

  test('are not visible to other accounts', async () => {
    const { file_id } = (await post(picture)).body
    const other = await app.createAccount(0)
    for (const method of ['GET', 'DELETE'])
      expect((await app.send(`/v1/files/${file_id}`, { method, key: other.key })).body.code).toBe('file_not_found')
    expect((await app.send('/v1/files', { key: other.key })).body.total).toBe(0)
    expect((await app.send(`/v1/files/${file_id}`, { key: account.key })).status).toBe(200)
  })

  test('are deleted with their file', async () => {
    const { file_id, url } = (await post(picture)).body
    expect((await app.send(`/v1/files/${file_id}`, { method: 'DELETE', key: account.key })).status).toBe(204)
    expect((await app.send(`/v1/files/${file_id}`, { key: account.key })).body.code).toBe('file_not_found')
    expect((await app.send(`/v1/files/${file_id}`, { method: 'DELETE', key: account.key })).status).toBe(404)
    expect((await fetch(url)).status).toBe(404)
    expect(stored()).not.toContain(file_id)
  })

  test('P211: are not served once deleted, even while their file is there', async () => {
    const { file_id, url } = (await post(picture)).body
    const path = join(app.config.dataDir, new URL(url).pathname)
    await app.send(`/v1/files/${file_id}`, { method: 'DELETE', key: account.key })
    // As if the store had refused to delete it.
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, picture)
    for (const method of ['GET', 'HEAD']) expect((await fetch(url, { method })).status).toBe(404)
    rmSync(path)
  })

  test('are limited in their total size; deleting one makes room', async () => {
    const records = []
    for (let count = 0; count < 5; count++) records.push((await post(picture)).body)
    const refused = await post(picture)
    expect([refused.status, refused.body.code]).toEqual([409, 'too_many_uploads'])
    expect(refused.body.detail).toContain('327680')
    await app.send(`/v1/files/${records[0].file_id}`, { method: 'DELETE', key: account.key })
    expect((await post(picture)).status).toBe(201)
  })

  test('get no more space when they arrive at the same time', async () => {
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await post(pictureOf(65_536))).status))
    expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 201, 201, 201, 201, 409, 409, 409])
  })
})

test('other routes still accept only JSON', async () => {
  const response = await fetch(`${app.url}/v1/quotes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}` },
    body: formOf({ file: blob }),
  })
  expect(response.status).toBe(415)
})

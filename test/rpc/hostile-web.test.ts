// Connect and gRPC-Web on the HTTP port: the caller is known before a body is read, and a body is bounded before messages are made of it.
import { once } from 'node:events'
import { request } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { create, type JsonObject, toBinary } from '@bufbuild/protobuf'
import { afterAll, describe, expect, test } from 'vitest'
import { CreateQuoteRequestSchema } from '../../gen/mediagen/v1/quotes_pb.ts'
import { exchange, openRaw } from '../gateway/raw-http.ts'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'
import { countCalls } from './metrics.ts'
import { toFrame } from './raw-grpc.ts'

const maxBytes = 20_000
const maxValues = 500
const { log, lines } = keepLog()
const app = await startTestApp(
  {
    MEDIAGEN_ROLES: 'api',
    MEDIAGEN_MAX_BODY_BYTES: String(maxBytes),
    MEDIAGEN_MAX_VALUES: String(maxValues),
    MEDIAGEN_STALL_SECONDS: '1',
  },
  { log },
)
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const rpc = 'QuotesService.CreateQuote'
const path = '/mediagen.v1.QuotesService/CreateQuote'

interface WebRequest {
  readonly path?: string
  readonly type?: string
  readonly key?: string | null
  readonly headers?: Record<string, string>
  /** Null to send nothing and never end. */
  readonly body?: Buffer | null
}

/** Sends a request over HTTP/1.1; resolves with the answer, and rejects when the connection breaks. */
async function send(options: WebRequest): Promise<{ status: number; text: string }> {
  const { type = 'application/json', key = app.account.key, headers = {}, body = null } = options
  const sent = request(app.app.httpUrl + (options.path ?? path), {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': type,
      ...(key !== null && { authorization: `Bearer ${key}` }),
      'transfer-encoding': 'chunked',
      ...headers,
    },
  })
  if (body) sent.end(body)
  else sent.flushHeaders()
  try {
    const [answer] = await once(sent, 'response')
    const pieces: Buffer[] = await answer.toArray()
    return { status: answer.statusCode, text: Buffer.concat(pieces).toString('latin1') }
  } finally {
    sent.on('error', () => {}).destroy()
  }
}

const countOf = (code: string, of = rpc) => countCalls(app, of, code)

const toProto = (input: JsonObject) =>
  Buffer.from(toBinary(CreateQuoteRequestSchema, create(CreateQuoteRequestSchema, { model, input })))
const toJson = (input: JsonObject) => Buffer.from(JSON.stringify({ model, input }))

/** Ways to send the same request. */
const forms: Record<string, (input: JsonObject) => WebRequest> = {
  'Connect, JSON': (input) => ({ type: 'application/json', body: toJson(input) }),
  'Connect, binary': (input) => ({ type: 'application/proto', body: toProto(input) }),
  'Connect, gzip': (input) => ({
    type: 'application/proto',
    body: gzipSync(toProto(input)),
    headers: { 'content-encoding': 'gzip' },
  }),
  'Connect, brotli': (input) => ({
    type: 'application/json',
    body: brotliCompressSync(toJson(input)),
    headers: { 'content-encoding': 'br' },
  }),
  'gRPC-Web': (input) => ({ type: 'application/grpc-web+proto', body: toFrame(toProto(input)) }),
  'gRPC-Web, JSON': (input) => ({ type: 'application/grpc-web+json', body: toFrame(toJson(input)) }),
  'gRPC-Web, gzip': (input) => ({
    type: 'application/grpc-web',
    body: toFrame(gzipSync(toProto(input)), true),
    headers: { 'grpc-encoding': 'gzip' },
  }),
}

describe.for(Object.keys(forms))('%s', (name) => {
  const form = forms[name] as (input: JsonObject) => WebRequest
  const listOf = (length: number) => ({ prompt: 'x', nested: { list: Array.from({ length }, () => null) } })

  test('a stranger is refused before the body is read, which is logged and counted', async () => {
    lines.length = 0
    const before = await countOf('authentication_required')
    expect((await send({ ...form({}), key: null, body: null })).text).toMatch(/No API key was sent|No%20API%20key/)
    expect(await countOf('authentication_required')).toBe(before + 1)
    expect(lines).toContainEqual(expect.objectContaining({ rpc, code: 'authentication_required' }))
  })

  test('MEDIAGEN_MAX_VALUES: one more is refused, as many are not', async () => {
    const others = 6
    expect((await send(form(listOf(maxValues - others)))).text).toContain('quote_')
    const before = await countOf('invalid_request')
    expect((await send(form(listOf(maxValues - others + 1)))).text).toContain('MEDIAGEN_MAX_VALUES')
    expect(await countOf('invalid_request')).toBe(before + 1)
  })

  test('MEDIAGEN_MAX_BODY_BYTES: a larger body, inflated or not, is refused, logged and counted', async () => {
    const before = await countOf('payload_too_large')
    expect((await send(form({ prompt: 'x'.repeat(6_000_000) }))).text).toMatch(/larger( |%20)than/)
    expect(await countOf('payload_too_large')).toBe(before + 1)
    expect(lines).toContainEqual(expect.objectContaining({ rpc, code: 'payload_too_large' }))
  })

  test('a malformed message is an error of the client', async () => {
    const before = await countOf('invalid_request')
    const { text } = await send({ ...form({}), body: Buffer.from([0, 0, 0, 0, 2, 0x0a, 0xff]) })
    expect(text).toMatch(/invalid_argument|grpc-status: 3/)
    expect(await countOf('invalid_request')).toBe(before + 1)
  })

  test('MEDIAGEN_STALL_SECONDS: a body that does not come is given up', async () => {
    const { status } = await send({ ...form({}), body: null }).catch(() => ({ status: 0 }))
    expect([0, 408]).toContain(status)
  })
})

test('an input that nests thousands of levels is refused', async () => {
  const levels = maxValues - 10
  const body = Buffer.from(`{"model":"${model}","input":{"prompt":${'['.repeat(levels)}${']'.repeat(levels)}}}`)
  expect(await send({ body })).toMatchObject({ status: 400 })
})

test('a GET is held to the same', async () => {
  const get = async (query: string, key: string | null = app.account.key) => {
    const answer = await fetch(`${app.app.httpUrl}/mediagen.v1.GenerationService/GetJob?${query}`, {
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
    })
    return { status: answer.status, text: await answer.text() }
  }
  const toQuery = (bytes: Buffer, compression = 'identity') =>
    `connect=v1&encoding=proto&base64=1&compression=${compression}&message=${bytes.toString('base64url')}`
  expect(await get(toQuery(Buffer.alloc(0)), null)).toMatchObject({ status: 401 })
  expect(await get('connect=v1&encoding=json&message={"jobId":"job_x"}')).toMatchObject({ status: 404 })
  expect(await countOf('job_not_found', 'GenerationService.GetJob')).toBe(1)
  const unknown = Buffer.alloc(12_000, Buffer.from([0x78, 0x00]))
  for (const query of [toQuery(gzipSync(unknown), 'gzip'), toQuery(unknown.subarray(0, 2000))])
    expect((await get(query)).text).toContain('MEDIAGEN_MAX_VALUES')
  expect((await get(toQuery(gzipSync(Buffer.alloc(6_000_000)), 'gzip'))).text).toMatch(/larger( |%20)than/)
  expect(await countOf('authentication_required', 'GenerationService.GetJob')).toBe(1)
})

test('what keeps to no protocol is counted, too', async () => {
  const before = await countOf('invalid_request')
  expect(await send({ type: 'text/plain', body: Buffer.from('x') })).toMatchObject({ status: 415 })
  expect((await send({ body: toJson({}), headers: { 'content-encoding': 'zstd' } })).text).toContain(
    'unknown compression',
  )
  expect(await countOf('invalid_request')).toBe(before + 2)
})

test('MEDIAGEN_RATE_LIMIT: a call counts once', async () => {
  await using limited = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_RATE_LIMIT: '3' })
  const startedMs = performance.now()
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const answer = await fetch(`${limited.app.httpUrl}/mediagen.v1.CatalogService/ListCategories`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${limited.account.key}` },
        body: '{}',
      })
      return answer.status
    }),
  )
  const seconds = (performance.now() - startedMs) / 1000
  const served = statuses.filter((status) => status === 200).length
  expect(served).toBeGreaterThanOrEqual(3)
  expect(served).toBeLessThanOrEqual(3 + 3 * seconds)
  expect(new Set(statuses)).toEqual(new Set(served < 20 ? [200, 429] : [200]))
})

test('no proxy may compress or keep a stream (P201)', async () => {
  const answer = await fetch(`${app.url}/mediagen.v1.GenerationService/WatchJob`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'application/connect+json' },
    body: new Uint8Array(toFrame(Buffer.from('{"job_id":"job_none"}'))),
  })
  expect(answer.headers.get('cache-control')).toBe('no-store, no-transform')
  expect(await answer.text()).toContain('job_not_found')
})

test('a name that is given twice is refused with our code and its place (P202)', async () => {
  const answer = await fetch(app.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'application/json' },
    body: `{"model":"${model}","input":{"width":512,"width":2048}}`,
  })
  expect(await answer.json()).toMatchObject({
    code: 'invalid_argument',
    message: 'invalid_request: /input/width is given more than once.',
    details: [{ type: 'mediagen.v1.ErrorDetail' }],
  })
})

test('HTTP/1.0 without a Host, which Connect needs, is refused in words', async () => {
  using connection = await openRaw(app.app.httpUrl)
  connection.write(`POST ${path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`)
  expect(await connection.next()).toMatchObject({ status: 400, body: { detail: 'The request has no Host header.' } })
})

test.each(['application/json', 'application/proto', 'application/grpc-web+json', 'application/connect+json'])(
  '%s: a body that is too large is refused with its code, and the next request on its connection is answered',
  async (type) => {
    const body = toFrame(Buffer.alloc(2_000_000, ' '))
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.account.key}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`
    const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const answers = String(await exchange(app.app.httpUrl, Buffer.concat([Buffer.from(head), body, Buffer.from(next)])))
    if (type === 'application/connect+json') expect(answers).toContain('HTTP/1.1 415 ')
    else expect(answers).toContain('payload_too_large')
    expect(answers).toMatch(/\{"status":"ok"\}$/)
  },
)

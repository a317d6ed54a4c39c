// What a request over gRPC may be, and that nothing of it is looked at before its caller is known (P166).
import { once } from 'node:events'
import zlib, { deflateSync, gzipSync } from 'node:zlib'
import { create, type JsonObject, toBinary } from '@bufbuild/protobuf'
import * as grpc from '@grpc/grpc-js'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { CreateQuoteRequestSchema } from '../../gen/mediagen/v1/quotes_pb.ts'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'
import { countCalls, readMetrics } from './metrics.ts'
import { openRawClient, toField, toFrame } from './raw-grpc.ts'

const maxBytes = 20_000
const maxValues = 500
const { log, lines } = keepLog()
const app = await startTestApp(
  {
    MEDIAGEN_MAX_BODY_BYTES: String(maxBytes),
    MEDIAGEN_MAX_VALUES: String(maxValues),
    MEDIAGEN_MAX_OPEN_REQUEST_BYTES: '300',
  },
  { log },
)
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const createQuote = 'QuotesService/CreateQuote'
const { OK, INVALID_ARGUMENT, UNAUTHENTICATED, RESOURCE_EXHAUSTED, UNIMPLEMENTED } = grpc.status
const open = (key: string | null = app.account.key) => openRawClient(app.app.grpcUrl, key)
const toRequest = (input: JsonObject) =>
  toBinary(CreateQuoteRequestSchema, create(CreateQuoteRequestSchema, { model, input }))
// Six million nulls in six kilobytes.
const bomb = gzipSync(
  toField(2, toField(1, Buffer.concat([toField(1, 'x'), toField(2, toField(6, Buffer.alloc(6_000_000)))]))),
)

/** Calls once with one request. */
async function send(bytes: Buffer, key: string | null = app.account.key, headers: Record<string, string> = {}) {
  using client = await open(key)
  return await client.call(createQuote, { body: bytes, headers }).ended
}

const countOf = (rpc: string, code: string) => countCalls(app, rpc, code)

describe('a caller without a key', () => {
  test('is refused before a byte of its request is read, and told to stop', async () => {
    using client = await open(null)
    const before = await countOf('QuotesService.CreateQuote', 'authentication_required')
    // No byte of it comes, nor its end.
    const { ended } = client.call(createQuote, { ends: false })
    expect(await ended).toMatchObject({ status: UNAUTHENTICATED, detail: 'authentication_required', rstCode: 0 })
    expect(await countOf('QuotesService.CreateQuote', 'authentication_required')).toBe(before + 1)
  })

  test('costs nothing with a request that inflates, and is logged and counted', async () => {
    lines.length = 0
    const before = await countOf('QuotesService.CreateQuote', 'invalid_api_key')
    expect(await send(toFrame(bomb, true), `mgk_${'x'.repeat(43)}`, { 'grpc-encoding': 'gzip' })).toMatchObject({
      status: UNAUTHENTICATED,
      detail: 'invalid_api_key',
    })
    expect(await countOf('QuotesService.CreateQuote', 'invalid_api_key')).toBe(before + 1)
    expect(lines).toContainEqual(expect.objectContaining({ rpc: 'QuotesService.CreateQuote', code: 'invalid_api_key' }))
  })

  test('is refused when its request is no message', async () => {
    expect(await send(Buffer.from('no frame at all'), null)).toMatchObject({ status: UNAUTHENTICATED })
  })
})

describe('the size of a request', () => {
  test('MEDIAGEN_MAX_BODY_BYTES: what says that it is larger is refused before it comes', async () => {
    using client = await open()
    const head = toFrame(Buffer.alloc(0))
    head.writeUInt32BE(1_000_000, 1)
    const { ended } = client.call(createQuote, { body: head, ends: false })
    const end = await ended
    expect(end).toMatchObject({ status: RESOURCE_EXHAUSTED, detail: 'payload_too_large', rstCode: 0 })
    expect(end.message).toContain('1000000 bytes')
  })

  test('MEDIAGEN_MAX_BODY_BYTES: a request that is larger once inflated is refused by name, logged and counted', async () => {
    lines.length = 0
    for (const [encoding, bytes] of [
      ['gzip', bomb],
      ['deflate', deflateSync(Buffer.alloc(6_000_000))],
    ] as const)
      expect(await send(toFrame(bytes, true), app.account.key, { 'grpc-encoding': encoding })).toMatchObject({
        status: RESOURCE_EXHAUSTED,
        detail: 'payload_too_large',
      })
    expect(await countOf('QuotesService.CreateQuote', 'payload_too_large')).toBeGreaterThanOrEqual(2)
    expect(lines).toContainEqual(
      expect.objectContaining({
        rpc: 'QuotesService.CreateQuote',
        code: 'payload_too_large',
        account_id: app.account.accountId,
      }),
    )
  })

  test('MEDIAGEN_MAX_BODY_BYTES: it is measured as JSON', async () => {
    // Control characters are six times as long in JSON.
    expect(await send(toFrame(toRequest({ prompt: '\u0001'.repeat(maxBytes - 100) })))).toMatchObject({
      status: INVALID_ARGUMENT,
    })
    expect(await send(toFrame(toRequest({ prompt: '\u0001'.repeat(maxBytes) })))).toMatchObject({
      status: RESOURCE_EXHAUSTED,
      detail: 'payload_too_large',
    })
  })

  test('a request that is within the bounds is read, compressed or not, in one piece or in many', async () => {
    const request = toRequest({ prompt: 'x', nested: { list: Array.from({ length: 400 }, () => 0) } })
    expect(await send(toFrame(request))).toMatchObject({ status: OK })
    expect(await send(toFrame(gzipSync(request), true), app.account.key, { 'grpc-encoding': 'gzip' })).toMatchObject({
      status: OK,
    })
    using client = await open()
    const { stream, ended } = client.call(createQuote, { ends: false })
    for (const byte of toFrame(request)) if (!stream.write(Buffer.from([byte]))) await once(stream, 'drain')
    stream.end()
    expect(await ended).toMatchObject({ status: OK })
  })

  test('MEDIAGEN_MAX_OPEN_REQUEST_BYTES: services that need no key take little', async () => {
    using client = await open(null)
    const check = '/grpc.health.v1.Health/Check'
    expect(await client.call(check, { body: toFrame(toField(1, '')) }).ended).toMatchObject({ status: OK })
    expect(await client.call(check, { body: toFrame(toField(1, 'x'.repeat(300_000))) }).ended).toMatchObject({
      status: RESOURCE_EXHAUSTED,
      detail: 'payload_too_large',
    })
    expect(await client.call(check, { body: toFrame(Buffer.from([0x0a, 0xff])) }).ended).toMatchObject({
      status: INVALID_ARGUMENT,
      detail: 'invalid_request',
    })
  })

  test('MEDIAGEN_MAX_OPEN_REQUEST_BYTES: they inflate no more than that', async () => {
    using client = await open(null)
    // As it comes it is within the bound.
    const body = toFrame(gzipSync(toField(1, 'x'.repeat(10_000))), true)
    expect(body.length).toBeLessThan(300)
    const end = await client.call('/grpc.health.v1.Health/Check', { body, headers: { 'grpc-encoding': 'gzip' } }).ended
    expect(end).toMatchObject({ status: RESOURCE_EXHAUSTED, detail: 'payload_too_large' })
  })
})

test('of many requests in one frame of HTTP/2, none is inflated before it is asked for', async () => {
  const inflated = vi.spyOn(zlib, 'gunzip')
  using client = await open()
  // 600 of them are in 16 KiB.
  const body = Buffer.concat(Array.from({ length: 600 }, () => toFrame(gzipSync(Buffer.alloc(0)), true)))
  const upload = '/mediagen.v1.FilesService/UploadFile'
  const end = await client.call(upload, { body, headers: { 'grpc-encoding': 'gzip' } }).ended
  expect(end).toMatchObject({ status: INVALID_ARGUMENT })
  expect([1, 2]).toContain(inflated.mock.calls.length)
  inflated.mockRestore()
})

describe('the values of a request', () => {
  const list = (length: number) => ({ prompt: 'x', nested: { list: Array.from({ length }, () => null) } })
  // The message, its model, its input, the prompt, what is nested, the list.
  const others = 6

  test('MEDIAGEN_MAX_VALUES: one more is refused, as many are not', async () => {
    expect(await send(toFrame(toRequest(list(maxValues - others))))).toMatchObject({ status: OK })
    const end = await send(toFrame(toRequest(list(maxValues - others + 1))))
    expect(end).toMatchObject({ status: INVALID_ARGUMENT, detail: 'invalid_request' })
    expect(end.message).toContain('MEDIAGEN_MAX_VALUES')
  })

  test('MEDIAGEN_MAX_VALUES: unknown fields count, and a field that comes in pieces counts anew with each', async () => {
    const unknown = Buffer.concat(Array.from({ length: maxValues }, () => toField(99, '')))
    expect((await send(toFrame(unknown))).message).toContain('MEDIAGEN_MAX_VALUES')
    const piece = toRequest(list(20))
    expect((await send(toFrame(Buffer.concat(Array.from({ length: 15 }, () => piece))))).message).toContain(
      'MEDIAGEN_MAX_VALUES',
    )
  })
})

test.for<[string, Buffer, Record<string, string>]>([
  ['nothing', Buffer.alloc(0), {}],
  ['two requests', Buffer.concat([toFrame(Buffer.alloc(0)), toFrame(Buffer.alloc(0))]), {}],
  ['a request and half of one', Buffer.concat([toFrame(Buffer.alloc(0)), Buffer.from([0, 0])]), {}],
  ['half a request', toFrame(Buffer.alloc(10)).subarray(0, 9), {}],
  ['half a head', Buffer.from([0, 0]), {}],
  ['bytes that are no message', toFrame(Buffer.from([0x0a, 0xff, 0x01])), {}],
  ['a field of another type', toFrame(Buffer.from([0x10, 0x01])), {}],
  ['a field longer than its message', toFrame(toField(2, Buffer.from([0x0a, 0x7f]))), {}],
  [
    'messages in messages',
    toFrame(Array.from({ length: 60 }).reduce((inner: Buffer) => toField(6, toField(1, inner)), Buffer.alloc(0))),
    {},
  ],
  ['what is compressed in no known way', toFrame(gzipSync(Buffer.alloc(0)), true), {}],
  ['what is no gzip', toFrame(Buffer.from('no gzip'), true), { 'grpc-encoding': 'gzip' }],
  ['a timeout that cannot be read', toFrame(Buffer.alloc(0)), { 'grpc-timeout': 'soon' }],
])('%s is the fault of whoever sent it', async ([what, body, headers]) => {
  const nested = what === 'messages in messages' ? toFrame(toField(2, toField(1, toField(2, body.subarray(5))))) : body
  expect(await send(nested, app.account.key, headers)).toMatchObject({
    status: INVALID_ARGUMENT,
    detail: 'invalid_request',
  })
})

test('a refusal that lists more than trailers can hold is answered with as much as they can', async () => {
  await using roomy = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  using client = await openRawClient(roomy.app.grpcUrl, roomy.account.key)
  for (const length of [10, 900]) {
    const input = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`f${at}`.padEnd(length, 'ü'), 1]))
    const end = await client.call(createQuote, { body: toFrame(toRequest(input)) }).ended
    expect(end).toMatchObject({ status: INVALID_ARGUMENT, detail: 'invalid_input' })
  }
})

test('what the port itself refuses is logged and counted, too', async () => {
  lines.length = 0
  using client = await open(null)
  const unknown = await client.call('/no.such.Service/100%').ended
  expect(unknown).toMatchObject({ status: UNIMPLEMENTED, message: expect.stringContaining('/no.such.Service/100%') })
  expect(await client.call(createQuote, { headers: { 'grpc-encoding': 'br' } }).ended).toMatchObject({
    status: UNIMPLEMENTED,
  })
  const page = client.call('/', { headers: { 'content-type': 'text/html' }, ends: false })
  expect((await once(page.stream, 'response'))[0]).toMatchObject({ ':status': 415 })
  await page.ended
  const metrics = await readMetrics(app)
  for (const reason of ['unknown_method', 'unknown_encoding', 'not_grpc']) {
    expect(metrics).toContain(`mediagen_grpc_refusals_total{reason="${reason}"} 1`)
    expect(lines).toContainEqual(expect.objectContaining({ code: reason, msg: 'gRPC refused' }))
  }
})

// Requests that never end, answers that nobody reads: each call has its time, and all of them their room (P120, P158).
import { create, toBinary } from '@bufbuild/protobuf'
import * as grpc from '@grpc/grpc-js'
import { afterAll, describe, expect, test } from 'vitest'
import { CreateQuoteRequestSchema } from '../../gen/mediagen/v1/quotes_pb.ts'
import { startTestApp } from '../test-app.ts'
import { readMetrics } from './metrics.ts'
import { openRawClient, type RawClient, toField, toFrame } from './raw-grpc.ts'

const maxConnectionBytes = 1_500_000
const maxBytes = 2_000_000
const app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_STALL_SECONDS: '1' })
/** One on which nothing stalls for a minute: what ends there ends for its bytes. */
const patient = await startTestApp({
  MEDIAGEN_ROLES: 'api',
  MEDIAGEN_MAX_GRPC_CONNECTION_BYTES: String(maxConnectionBytes),
  MEDIAGEN_MAX_GRPC_BYTES: String(maxBytes),
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await patient[Symbol.asyncDispose]()
})

const { OK, DEADLINE_EXCEEDED, UNAVAILABLE } = grpc.status
const enhanceYourCalm = 11
const createQuote = 'QuotesService/CreateQuote'
const listModels = 'CatalogService/ListModels'
const reflect = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
const empty = toFrame(Buffer.alloc(0))
const model = 'test/instant/text-to-image'
const open = (options = {}, { app: { grpcUrl }, account } = app) => openRawClient(grpcUrl, account.key, options)
const frame = toFrame(
  toBinary(CreateQuoteRequestSchema, create(CreateQuoteRequestSchema, { model, input: { prompt: 'x' } })),
)

/** Begins a request of 900 kB that does not end; resolves when most of it is there. */
async function beginLarge(client: RawClient): Promise<ReturnType<RawClient['call']>> {
  const head = toFrame(Buffer.alloc(0))
  head.writeUInt32BE(900_000, 1)
  const call = client.call(createQuote, { body: head, ends: false })
  await new Promise((resolve) => call.stream.write(Buffer.alloc(800_000), resolve))
  // What was sent before a PING has come when it is answered.
  await new Promise<void>((resolve) => void client.session.ping(() => resolve()))
  return call
}

describe('MEDIAGEN_STALL_SECONDS', () => {
  test.for<[string, Buffer | null]>([
    ['nothing', null],
    ['half a head', Buffer.from([0, 0])],
    ['half a request', frame.subarray(0, 10)],
    ['a whole request but not its end', frame],
  ])('a call of which %s comes is refused', async ([, body]) => {
    using client = await open()
    const end = await client.call(createQuote, { body, ends: false }).ended
    expect(end).toMatchObject({ status: DEADLINE_EXCEEDED, detail: 'request_timeout', rstCode: 0 })
    expect(end.message).toContain('65536 bytes')
    expect(await readMetrics(app)).toMatch(
      /mediagen_rpc_total\{rpc="QuotesService.CreateQuote",code="request_timeout"\} [1-9]/,
    )
  })

  test('a watch whose request does not come is refused', async () => {
    using client = await open()
    expect(await client.call('GenerationService/WatchJob', { ends: false }).ended).toMatchObject({
      status: DEADLINE_EXCEEDED,
      detail: 'request_timeout',
    })
  })

  test('an answer that is not read ends, and the calls beside it go on', async () => {
    // Nothing at all may be sent to this client.
    using client = await open({ settings: { initialWindowSize: 0 } })
    const unread = [
      client.call(listModels, { body: empty }),
      client.call('/grpc.health.v1.Health/Watch', { body: empty }),
    ]
    for (const { ended } of unread) expect(await ended).toMatchObject({ status: null, rstCode: enhanceYourCalm })
    expect(await readMetrics(app)).toMatch(/mediagen_grpc_refusals_total\{reason="answer_not_read"\} [2-9]/)
    using beside = await open()
    expect(await beside.call(createQuote, { body: frame }).ended).toMatchObject({ status: OK })
  })

  test('a slow request that makes progress is read', async () => {
    using client = await open()
    const large = toFrame(
      toBinary(
        CreateQuoteRequestSchema,
        create(CreateQuoteRequestSchema, { model, input: { prompt: 'x'.repeat(400_000) } }),
      ),
    )
    const { stream, ended } = client.call(createQuote, { ends: false })
    for (let at = 0; at < 400_000; at += 100_000) {
      await new Promise((resolve) => stream.write(large.subarray(at, at + 100_000), resolve))
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    stream.end(large.subarray(400_000))
    // It was read: the prompt is too long.
    expect(await ended).toMatchObject({ detail: 'invalid_input' })
  })
})

describe('the deadline of a call', () => {
  test('ends a request that does not come, and one that is kept open', async () => {
    using client = await open({}, patient)
    const headers = { 'grpc-timeout': '50m' }
    const calls = [
      client.call(createQuote, { headers, ends: false }),
      client.call('/grpc.health.v1.Health/Watch', { headers, body: empty }),
    ]
    for (const { ended } of calls) expect(await ended).toMatchObject({ status: DEADLINE_EXCEEDED, rstCode: 0 })
    expect(await readMetrics(patient)).toMatch(
      /mediagen_rpc_total\{rpc="QuotesService.CreateQuote",code="request_timeout"\} [1-9]/,
    )
  })

  test('may be later than any timer', async () => {
    using client = await open({}, patient)
    const headers = { 'grpc-timeout': '99999999H' }
    expect(await client.call(createQuote, { body: frame, headers }).ended).toMatchObject({ status: OK })
  })
})

test('MEDIAGEN_MAX_GRPC_CONNECTION_BYTES: unfinished requests of a connection that are more lose the one that began first', async () => {
  using client = await open({}, patient)
  const first = await beginLarge(client)
  const second = await beginLarge(client)
  expect(await first.ended).toMatchObject({ status: UNAVAILABLE, detail: 'overloaded' })
  expect(second.stream.closed).toBe(false)
  expect(await client.call(createQuote, { body: frame }).ended).toMatchObject({ status: OK })
  expect(await readMetrics(patient)).toMatch(
    /mediagen_rpc_total\{rpc="QuotesService.CreateQuote",code="overloaded"\} [1-9]/,
  )
})

test('MEDIAGEN_MAX_GRPC_BYTES: those of all connections do, too', async () => {
  const clients = await Promise.all([1, 2, 3].map(() => open({}, patient)))
  const calls = []
  for (const client of clients) calls.push(await beginLarge(client))
  expect(await calls[0]?.ended).toMatchObject({ status: UNAVAILABLE, detail: 'overloaded' })
  expect(calls.map(({ stream }) => stream.closed)).toEqual([true, false, false])
  for (const client of clients) client[Symbol.dispose]()
})

test('MEDIAGEN_MAX_GRPC_CONNECTION_BYTES: answers that are not read make room, too', async () => {
  using client = await open({ settings: { initialWindowSize: 0 } }, patient)
  const size = (await (await open({}, patient)).call(listModels, { body: empty }).ended).answer.length
  const calls = Array.from({ length: Math.ceil(maxConnectionBytes / size) + 5 }, () =>
    client.call(listModels, { body: empty }),
  )
  expect(await calls[0]?.ended).toMatchObject({ rstCode: enhanceYourCalm })
})

test('reflection answers no faster than it is read', async () => {
  using client = await open()
  const { stream, ended } = client.call(reflect, { ends: false })
  stream.removeAllListeners('data').pause()
  const question = toFrame(toField(4, 'mediagen.v1.GenerationService'))
  let sent = 0
  // Once the buffers on the way are full, no further question is taken.
  while (stream.write(Buffer.concat(Array.from({ length: 100 }, () => question)))) {
    sent += 100
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (sent > 50_000) break
  }
  expect(sent).toBeLessThan(50_000)
  expect(await ended).toMatchObject({ rstCode: enhanceYourCalm })
})

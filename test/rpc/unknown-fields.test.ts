// Unknown fields of JSON messages are refused by name over Connect and gRPC-Web, as over REST: a misspelt field must not cost credits.
// Those of binary messages are ignored. P117, P118.
import { once } from 'node:events'
import { request } from 'node:http'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { afterAll, expect, test } from 'vitest'
import { CreateQuoteRequestSchema, CreateQuoteResponseSchema } from '../../gen/mediagen/v1/quotes_pb.ts'
import { startTestApp } from '../test-app.ts'
import { toFrame } from './raw-grpc.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => app[Symbol.asyncDispose]())

const input = { prompt: 'x' }
const model = 'test/instant/text-to-image'

/** Sends a body; resolves with all that is answered, the trailers of gRPC-Web decoded. */
async function send(path: string, type: string, body: Buffer): Promise<string> {
  const sent = request(`${app.app.httpUrl}/mediagen.v1.${path}`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': type, authorization: `Bearer ${app.account.key}` },
  })
  sent.end(body)
  const [answer] = await once(sent, 'response')
  const text = Buffer.concat(await answer.toArray()).toString('latin1')
  return text.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
}

const single = (type: string) => (path: string, json: object) => send(path, type, Buffer.from(JSON.stringify(json)))
const framed = (type: string) => (path: string, json: object) =>
  send(path, type, toFrame(Buffer.from(JSON.stringify(json))))
const viaQuery = async (path: string, json: object): Promise<string> => {
  const query = new URLSearchParams({ connect: 'v1', encoding: 'json', message: JSON.stringify(json) })
  const answer = await fetch(`${app.app.httpUrl}/mediagen.v1.${path}?${query}`, {
    headers: { authorization: `Bearer ${app.account.key}` },
  })
  return answer.text()
}

const unary: Readonly<Record<string, (path: string, json: object) => Promise<string>>> = {
  Connect: single('application/json'),
  'gRPC-Web': framed('application/grpc-web+json'),
}

const calls: readonly (readonly [path: string, json: object])[] = [
  ['QuotesService/CreateQuote', { model, input }],
  ['GenerationService/StartGeneration', { model, input, quote_id: 'quote_x', idempotencyKey: 'k' }],
  ['GenerationService/Run', { model, input, idempotencyKey: 'not legal' }],
  ['GenerationService/ListJobs', { status: 'JOB_STATUS_QUEUED' }],
  ['CatalogService/ListModels', {}],
  ['WalletService/ListEntries', { limit: 5 }],
  ['WalletService/GetUsage', { groupBy: ['day'] }],
  ['WebhooksService/CreateWebhook', { url: 'https://example.com/' }],
]

test.for(calls.flatMap(([path, json]) => Object.keys(unary).map((form) => [form, path, json] as const)))(
  '%s, %s: every unknown field is named, and nothing is done',
  async ([form, path, json]) => {
    const ask = unary[form] as (typeof unary)[string]
    expect(await ask(path, json)).not.toContain('is not a known field')
    const answer = await ask(path, { ...json, colour: 1, 'de/lay': 2 })
    expect(answer).toMatch(/invalid_argument|grpc-status: 3/)
    expect(answer).toContain('/colour is not a known field, and 1 more problem')
  },
)

test('a Connect GET', async () => {
  expect(await viaQuery('GenerationService/GetJob', { jobId: 'job_x' })).toContain('no job')
  expect(await viaQuery('GenerationService/GetJob', { jobId: 'job_x', wait: true })).toContain(
    '/wait is not a known field',
  )
})

test.for(['application/connect+json', 'application/grpc-web+json'])('a stream that is watched, %s', async (type) => {
  const watch = framed(type)
  expect(await watch('GenerationService/WatchJob', { jobId: 'job_x' })).toContain('no job')
  expect(await watch('GenerationService/WatchJob', { jobId: 'job_x', afterSequnce: '4' })).toContain(
    '/afterSequnce is not a known field',
  )
})

test.for([
  ['in a later message', [{ header: {} }, { chnuk: '' }], '/chnuk is not a known field'],
  ['in a message within', [{ header: { szie: '4' } }], 'key \\"szie\\" is unknown'],
] as const)('a stream of requests, %s', async ([, messages, words]) => {
  const frames = messages.map((json) => toFrame(Buffer.from(JSON.stringify(json))))
  const answer = await send('FilesService/UploadFile', 'application/connect+json', Buffer.concat(frames))
  expect(answer).toContain(words)
  expect(answer).toContain('invalid_argument')
})

test('a state that does not exist is refused, too', async () => {
  expect(await unary['Connect']?.('GenerationService/ListJobs', { status: 'LOST' })).toContain('LOST')
})

test('a binary message may have fields that this server does not know yet', async () => {
  const message = toBinary(CreateQuoteRequestSchema, create(CreateQuoteRequestSchema, { model, input }))
  // Field 100, a varint: https://protobuf.dev/programming-guides/encoding/
  const later = Buffer.from([0xa0, 0x06, 0x01])
  const answer = await send('QuotesService/CreateQuote', 'application/proto', Buffer.concat([message, later]))
  expect(fromBinary(CreateQuoteResponseSchema, Buffer.from(answer, 'latin1')).quote).toMatchObject({ model })
})

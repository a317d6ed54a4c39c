// What bounds a call over gRPC: its deadline, its cancel, its size; and the request id that names it (P110, P122, P166, P190).
import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, openForeignClient, toStruct } from './foreign-client.ts'
import { countCalls } from './metrics.ts'

const gateModel = 'test/gate/text-to-image'
let app: TestApp
let client: ForeignClient

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_MAX_BODY_BYTES: '20000' })
  client = await openForeignClient(app.app.grpcUrl, app.account.key)
})

afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

/** A start that waits for the end of a job whose gate is shut. */
async function prepareGated() {
  const gate = app.gate()
  const input = toStruct(gate.input)
  const { quote } = await client.call('QuotesService/CreateQuote', { model: gateModel, input })
  const idempotency_key = crypto.randomUUID()
  return { gate, request: { model: gateModel, input, quote_id: quote.quote_id, idempotency_key, wait: true } }
}

test('a deadline ends a wait, not the job', async () => {
  const { gate, request } = await prepareGated()
  const refused = await client.refusal('GenerationService/StartGeneration', request, { deadlineMs: 3000 })
  expect(refused.status).toBe('DEADLINE_EXCEEDED')
  gate.open()
  const { job, replayed } = await client.call('GenerationService/StartGeneration', request)
  expect({ replayed, status: job.status }).toEqual({ replayed: true, status: 'JOB_STATUS_SUCCEEDED' })
})

test('a client that hangs up ends its wait, not the job', async () => {
  const { gate, request } = await prepareGated()
  const countJobs = async (): Promise<number> => (await client.call('GenerationService/ListJobs', {})).total
  const countEnded = () => countCalls(app, 'GenerationService.StartGeneration', 'ok')
  const before = { jobs: await countJobs(), ended: await countEnded() }
  const { call, done } = client.begin('GenerationService/StartGeneration', request)
  await expect.poll(countJobs).toBe(before.jobs + 1)
  call.cancel()
  await expect(done).rejects.toMatchObject({ status: 'CANCELLED' })
  await expect.poll(countEnded).toBe(before.ended + 1)
  gate.open()
  expect((await client.call('GenerationService/StartGeneration', request)).job.status).toBe('JOB_STATUS_SUCCEEDED')
})

test('a deadline that has passed already ends the call', async () => {
  expect((await client.refusal('WalletService/GetWallet', {}, { deadlineMs: -1000 })).status).toBe('DEADLINE_EXCEEDED')
})

test('a message above the limit is refused, one below it is read', async () => {
  const model = 'test/instant/text-to-image'
  const ask = (input: object) => client.refusal('QuotesService/CreateQuote', { model, input: toStruct(input) })
  expect(await ask({ prompt: 'x'.repeat(19_000) })).toMatchObject({ detail: { code: 'invalid_input' } })
  const refused = await ask({ prompt: 'x'.repeat(22_000) })
  expect(refused).toMatchObject({
    status: 'RESOURCE_EXHAUSTED',
    detail: { code: 'payload_too_large', retryable: false },
  })
  expect(refused.message).toContain('20000')
  // Far beyond it, the length alone is refused, before the request comes.
  expect((await ask({ prompt: 'x'.repeat(200_000) })).status).toBe('RESOURCE_EXHAUSTED')
})

test('the limit is that of the request as JSON: what REST takes, the gRPC port takes', async () => {
  const input = { prompt: 'x', nested: { list: Array.from({ length: 9000 }, () => 0) } }
  expect(JSON.stringify(input).length).toBeLessThan(20_000)
  const { quote } = await client.call('QuotesService/CreateQuote', {
    model: 'test/instant/text-to-image',
    input: toStruct(input),
  })
  expect(quote.credits).toBe('3')
})

test('malformed bytes are an error of the client', async () => {
  const client = new grpc.Client(new URL(app.app.grpcUrl ?? '').host, grpc.credentials.createInsecure())
  const metadata = new grpc.Metadata()
  metadata.set('authorization', `Bearer ${app.account.key}`)
  const pass = (bytes: Buffer): Buffer => bytes
  const error = await new Promise<grpc.ServiceError | null>((resolve) =>
    client.makeUnaryRequest(
      '/mediagen.v1.QuotesService/CreateQuote',
      pass,
      pass,
      Buffer.from([0x0a, 0xff, 0x01]),
      metadata,
      resolve,
    ),
  )
  client.close()
  expect(grpc.status[error?.code ?? 0]).toBe('INVALID_ARGUMENT')
})

test('the request id of the client is echoed, on answers, on refusals and on streams', async () => {
  const metadata = { 'x-request-id': 'mine-1' }
  expect((await client.answer('WalletService/GetWallet', {}, { metadata })).header.get('x-request-id')).toEqual([
    'mine-1',
  ])
  const refused = await client.refusal('GenerationService/GetJob', { job_id: 'none' }, { metadata })
  expect(refused.metadata.get('x-request-id')).toEqual(['mine-1'])
  expect(refused.detail.request_id).toBe('mine-1')
  const { job_id } = (await app.generate('test/instant/text-to-image', { prompt: 'x' })).body
  const stream = client.stream('GenerationService/WatchJob', { job_id }, { metadata })
  const header = new Promise<grpc.Metadata>((resolve) => stream.on('metadata', resolve))
  await stream.toArray()
  expect((await header).get('x-request-id')).toEqual(['mine-1'])
})

test('a call without a request id, or with an odd one, gets one of the server', async () => {
  const ids = []
  for (const metadata of [{}, {}, { 'x-request-id': 'x'.repeat(500) }, { 'x-request-id': 'with spaces' }] as Record<
    string,
    string
  >[]) {
    ids.push(...(await client.answer('WalletService/GetWallet', {}, { metadata })).header.get('x-request-id'))
  }
  expect(new Set(ids).size).toBe(4)
  for (const id of ids) expect(id).toMatch(/^req_\w+$/)
})

// The real `buf curl`: each service over gRPC without a schema file, one call and one stream over Connect and gRPC-Web with
// the proto folder. What else goes through these doors is in doors.test.ts. P185, P186.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fromBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { permissions } from '../../src/core/accounts/key.ts'
import { startTestApp, type TestApp } from '../test-app.ts'

const root = join(import.meta.dirname, '../..')
const buf = join(root, 'node_modules/.bin/buf')
const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }
const grpc = 'gRPC, schema by reflection'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startTestApp()
  key = await app.createKey(app.account.accountId, permissions)
})

afterAll(() => app[Symbol.asyncDispose]())

/** How buf curl reaches a door: options and base address. */
const doors: Readonly<Record<string, () => readonly [readonly string[], string]>> = {
  [grpc]: () => [['--protocol', 'grpc', '--http2-prior-knowledge'], app.app.grpcUrl ?? ''],
  'Connect, schema from the folder': () => [
    ['--protocol', 'connect', '--schema', join(root, 'proto')],
    app.app.httpUrl,
  ],
  'gRPC-Web, schema from the folder': () => [
    ['--protocol', 'grpcweb', '--schema', join(root, 'proto')],
    app.app.httpUrl,
  ],
}

interface Ran {
  readonly messages: any[]
  readonly error: string
}

/** Calls one rpc; messages are what it wrote, one JSON document each. */
async function bufCurl(door: string, rpc: string, request: object, authorization = `Bearer ${key}`): Promise<Ran> {
  const [options, address] = doors[door]?.() ?? [[], '']
  const url = `${address}/mediagen.v1.${rpc}`
  const args = ['curl', ...options, '-H', `Authorization: ${authorization}`, '-d', JSON.stringify(request), url]
  const run = await promisify(execFile)(buf, args, { cwd: root }).catch(
    (failed: { stdout: string; stderr: string }) => failed,
  )
  const documents = run.stdout.split(/\n(?=\{)/).filter((text) => text.trim() !== '')
  return { messages: documents.map((text) => JSON.parse(text)), error: run.stderr }
}

async function call(door: string, rpc: string, request: object): Promise<any> {
  const { messages, error } = await bufCurl(door, rpc, request)
  expect(error).toBe('')
  return messages.at(-1)
}

test.for(Object.keys(doors))('%s: a call with a nested input, and a stream', async (door) => {
  const { quote } = await call(door, 'QuotesService/CreateQuote', { model, input })
  expect(quote).toMatchObject({ model, credits: '3' })
  const { job_id } = (await app.generate(model, input)).body
  expect((await call(door, 'GenerationService/WatchJob', { jobId: job_id })).job.status).toBe('JOB_STATUS_SUCCEEDED')
})

test('each service is called over gRPC', async () => {
  const { models } = await call(grpc, 'CatalogService/ListModels', { search: 'instant' })
  expect(models[0].id).toBe(model)
  const { quote_id } = await app.quote(model, input)
  const start = { model, input, quoteId: quote_id, idempotencyKey: 'k', wait: true }
  const { job } = await call(grpc, 'GenerationService/StartGeneration', start)
  expect(job.status).toBe('JOB_STATUS_SUCCEEDED')
  expect(await call(grpc, 'WalletService/GetAccess', {})).toMatchObject({ accountId: app.account.accountId })
  expect((await call(grpc, 'AdminService/ListAccounts', {})).accounts).toHaveLength(1)
})

test.for(Object.keys(doors))('%s: a refusal is shown with its typed detail', async (door) => {
  const { messages, error } = await bufCurl(door, 'GenerationService/GetJob', { jobId: 'job_none' })
  expect(messages).toEqual([])
  const shown = JSON.parse(error)
  expect(shown).toMatchObject({ code: 'not_found', message: 'job_not_found: There is no job "job_none".' })
  const [detail] = shown.details
  expect(detail.type).toBe('mediagen.v1.ErrorDetail')
  expect(fromBinary(ErrorDetailSchema, Buffer.from(detail.value, 'base64')).code).toBe('job_not_found')
})

test('a call without a key is refused', async () => {
  const { error } = await bufCurl(grpc, 'WalletService/GetWallet', {}, 'nothing')
  expect(JSON.parse(error).code).toBe('unauthenticated')
})

test('services are described by reflection: their methods are listed, and health is called without a schema', async () => {
  const curl = (...args: string[]) =>
    promisify(execFile)(buf, ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', ...args], { cwd: root })
  const address = app.app.grpcUrl ?? ''
  const { stdout: methods } = await curl('--list-methods', address)
  expect(methods.split('\n')).toContain('grpc.health.v1.Health/Check')
  expect(methods).toContain('mediagen.v1.GenerationService/StartGeneration')
  const { stdout: checked } = await curl(`${address}/grpc.health.v1.Health/Check`)
  expect(JSON.parse(checked)).toEqual({ status: 'SERVING' })
  const { stdout: listed } = await curl(`${address}/grpc.health.v1.Health/List`)
  expect(JSON.parse(listed).statuses).toHaveProperty(['mediagen.v1.GenerationService'], { status: 'SERVING' })
})

// Every call leaves one line in the log, whatever door it came through; the line of a start, a read or a watch names its job.
import { createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, expect, test } from 'vitest'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { startApp } from '../../src/app/start.ts'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'
import { openForeignClient } from './foreign-client.ts'

const { log, lines } = keepLog()
const app = await startTestApp({ MEDIAGEN_TEST_GATEWAY: '' }, { log })
afterAll(() => app[Symbol.asyncDispose]())
const model = 'test/instant/text-to-image'
const input = { prompt: 'a secret garden' }

/** The lines about one request, as soon as there is one. */
async function linesOf(requestId: string): Promise<any[]> {
  const found = () => lines.filter(({ request_id }) => request_id === requestId)
  await expect.poll(found).not.toEqual([])
  return found()
}

const whose = { account_id: app.account.accountId, key_id: expect.stringMatching(/^key_/) }
const lineOf = (rpc: string, more: object = {}) => ({
  level: 30,
  time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  rpc,
  code: 'ok',
  ms: expect.any(Number),
  ...whose,
  msg: 'call',
  ...more,
})

/** Starts a job over REST. */
async function start(requestId: string): Promise<string> {
  const { quote_id } = await app.quote(model, input)
  const { status, body } = await app.send('/v1/generate?wait=true', {
    body: { model, input, quote_id },
    headers: { 'idempotency-key': requestId, 'x-request-id': requestId },
  })
  expect(status).toBe(200)
  return body.job_id
}

test('REST: one line, in the in-process door and nowhere else', async () => {
  const job_id = await start('rest-start')
  expect(await linesOf('rest-start')).toEqual([
    lineOf('GenerationService.StartGeneration', { request_id: 'rest-start', job_id }),
  ])
  await app.send(`/v1/jobs/${job_id}`, { headers: { 'x-request-id': 'rest-read' } })
  expect(await linesOf('rest-read')).toEqual([lineOf('GenerationService.GetJob', { request_id: 'rest-read', job_id })])
  await app.send('/v1/wallet', { headers: { 'x-request-id': 'rest-wallet' } })
  const read = await linesOf('rest-wallet')
  expect(read).toEqual([lineOf('WalletService.GetWallet', { request_id: 'rest-wallet' })])
  expect(Object.keys(read[0])).toEqual([
    'level',
    'time',
    'rpc',
    'code',
    'ms',
    'request_id',
    'key_id',
    'account_id',
    'msg',
  ])
  await app.send(`/v1/jobs/${job_id}/events`, { headers: { 'x-request-id': 'rest-events' } })
  expect(await linesOf('rest-events')).toEqual([
    lineOf('GenerationService.WatchJob', { request_id: 'rest-events', job_id }),
  ])
  expect(JSON.stringify(lines)).not.toContain('secret garden')
})

test('gRPC and Connect', async () => {
  const job_id = await start('for-grpc')
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  await client.call('GenerationService/GetJob', { job_id }, { metadata: { 'x-request-id': 'grpc' } })
  expect(await linesOf('grpc')).toEqual([lineOf('GenerationService.GetJob', { request_id: 'grpc', job_id })])
  const transport = createConnectTransport({ baseUrl: app.app.httpUrl, httpVersion: '1.1' })
  const headers = (id: string) => ({ authorization: `Bearer ${app.account.key}`, 'x-request-id': id })
  await createClient(CatalogService, transport).listModels({}, { headers: headers('connect') })
  expect(await linesOf('connect')).toEqual([lineOf('CatalogService.ListModels', { request_id: 'connect' })])
  const watch = createClient(GenerationService, transport).watchJob({ jobId: job_id }, { headers: headers('watch') })
  for await (const { job } of watch) expect(job?.jobId).toBe(job_id)
  expect(await linesOf('watch')).toEqual([lineOf('GenerationService.WatchJob', { request_id: 'watch', job_id })])
})

test('a watch that its reader leaves has its line, too', async () => {
  const gate = app.gate()
  const { body } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  const leaving = new AbortController()
  const answer = await fetch(`${app.app.httpUrl}/v1/jobs/${body.job_id}/events`, {
    headers: { authorization: `Bearer ${app.account.key}`, 'x-request-id': 'leaver' },
    signal: leaving.signal,
  })
  await answer.body?.getReader().read()
  leaving.abort()
  expect(await linesOf('leaver')).toEqual([
    lineOf('GenerationService.WatchJob', { request_id: 'leaver', job_id: body.job_id }),
  ])
  gate.open()
})

test('a gateway asks who calls without a line of its own in the log of the core', async () => {
  await using gateway = await startApp(
    { ...app.config, httpPort: 0, coreUrl: app.app.grpcUrl },
    { log: keepLog('silent').log },
  )
  await fetch(`${gateway.httpUrl}/v1/wallet`, {
    headers: { authorization: `Bearer ${app.account.key}`, 'x-request-id': 'through-gateway' },
  })
  expect(await linesOf('through-gateway')).toEqual([
    lineOf('WalletService.GetWallet', { request_id: 'through-gateway' }),
  ])
})

test('a job that a request names and that is no id is left out', async () => {
  const key = await app.createKey(app.account.accountId, ['admin'])
  const transport = createConnectTransport({ baseUrl: app.app.httpUrl, httpVersion: '1.1' })
  await createClient(AdminService, transport).findDeliveries(
    { jobId: 'x","admin":"yes' },
    { headers: { authorization: `Bearer ${key}`, 'x-request-id': 'forger' } },
  )
  const [line] = await linesOf('forger')
  expect(line).not.toHaveProperty('job_id')
  expect(line).not.toHaveProperty('admin')
})

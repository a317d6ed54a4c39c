// A key that is revoked or expires ends the streams that it opened, at every door; those of other keys go on (P113, P116).
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import type { Permission } from '@mediagen/core/key.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { readMetrics } from './metrics.ts'

const doors = {
  gRPC: (app: TestApp) => createGrpcTransport({ baseUrl: app.app.grpcUrl ?? '' }),
  Connect: (app: TestApp) => createConnectTransport({ baseUrl: app.app.httpUrl, httpVersion: '1.1' }),
}

async function startGated(app: TestApp): Promise<{ jobId: string; open: () => void }> {
  const gate = app.gate()
  const { body } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  return { jobId: body.job_id, open: gate.open }
}

/** A second key of the test's account, and what revokes it. */
async function createSpareKey(
  app: TestApp,
  allowed: readonly Permission[] = ['jobs:read'],
): Promise<{ key: string; revoke: () => Promise<unknown> }> {
  const { accountId } = app.account
  const known = new Set((await app.admin.listKeys({ accountId })).keys.map(({ keyId }) => keyId))
  const key = await app.createKey(accountId, allowed)
  const added = (await app.admin.listKeys({ accountId })).keys.find(({ keyId }) => !known.has(keyId))
  return { key, revoke: () => app.admin.revokeKey({ keyId: added?.keyId ?? '' }) }
}

/** A watch that has told the record, and its end. */
async function watch(app: TestApp, door: keyof typeof doors, jobId: string, key: string) {
  const client = createClient(GenerationService, doors[door](app))
  const changes = client.watchJob({ jobId }, { headers: { authorization: `Bearer ${key}` } })[Symbol.asyncIterator]()
  await changes.next()
  const ended = (async () => {
    while (!(await changes.next()).done);
  })()
  ended.catch(() => {})
  return { ended }
}

test.for(Object.keys(doors) as (keyof typeof doors)[])(
  'a revoked key ends its watch over %s and no other',
  async (door) => {
    await using app = await startTestApp()
    const job = await startGated(app)
    const spare = await createSpareKey(app)
    const lost = await watch(app, door, job.jobId, spare.key)
    const kept = await watch(app, door, job.jobId, app.account.key)
    await spare.revoke()
    const error = ConnectError.from(await lost.ended.catch((thrown: unknown) => thrown))
    expect(Code[error.code]).toBe('Unauthenticated')
    expect(error.findDetails(ErrorDetailSchema)[0]?.code).toBe('invalid_api_key')
    expect(await readMetrics(app)).toContain(
      'mediagen_rpc_total{rpc="GenerationService.WatchJob",code="invalid_api_key"} 1',
    )
    job.open()
    await kept.ended
  },
)

test('a revoked key ends its server-sent events with an event that says so', async () => {
  await using app = await startTestApp()
  const job = await startGated(app)
  const spare = await createSpareKey(app)
  const path = `/v1/jobs/${job.jobId}/events`
  const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${spare.key}` } })
  await spare.revoke()
  const text = await response.text()
  expect(text).toContain('event: job')
  const [, data = ''] = /\n\nevent: error\ndata: (.+)\n\n$/.exec(text) ?? []
  expect(JSON.parse(data)).toEqual({
    type: `${app.url}/problems/invalid_api_key`,
    title: expect.any(String),
    status: 401,
    detail: expect.stringContaining('revoked'),
    code: 'invalid_api_key',
    retryable: false,
    request_id: response.headers.get('x-request-id'),
  })
  expect(await app.send(path, { key: spare.key })).toMatchObject({ status: 401, body: { code: 'invalid_api_key' } })
})

test('a revoked key ends its wait, which answers with the job that was started', async () => {
  await using app = await startTestApp()
  const gate = app.gate()
  const model = 'test/gate/text-to-image'
  const spare = await createSpareKey(app, ['generate'])
  const { quote_id } = await app.quote(model, gate.input)
  const answer = app.send('/v1/generate?wait=true', {
    key: spare.key,
    body: { model, input: gate.input, quote_id },
    headers: { 'idempotency-key': 'k' },
  })
  await gate.begun()
  await spare.revoke()
  expect(await answer).toMatchObject({ status: 202, body: { status: 'running', billing: { charged: 0 } } })
  const { job_id } = (await answer).body
  gate.open()
  await expect.poll(async () => (await app.send(`/v1/jobs/${job_id}`)).body.status).toBe('succeeded')
})

test('a key that expires ends its watch', async () => {
  const clock = { aheadMs: 0, nowMs: () => Date.now() + clock.aheadMs }
  await using app = await startTestApp({}, { clock })
  const job = await startGated(app)
  const key = await app.createKey(app.account.accountId, ['jobs:read'], Date.now() + 3_600_000)
  const { ended } = await watch(app, 'gRPC', job.jobId, key)
  clock.aheadMs = 3_600_000
  const error = ConnectError.from(await ended.catch((thrown: unknown) => thrown))
  expect(error.findDetails(ErrorDetailSchema)[0]?.code).toBe('invalid_api_key')
})

// A key that is revoked or expires ends the streams that it opened, at every door; those of other keys go on (P113, P116).
import { setTimeout as sleep } from 'node:timers/promises'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import type { Permission } from '../../src/core/accounts/key.ts'
import { startTestApp, type TestAccount, type TestApp } from '../test-app.ts'
import { countCalls } from './metrics.ts'

const model = 'test/gate/text-to-image'
/** Long enough on any machine for what takes milliseconds. */
const patienceMs = 20_000
const clock = { aheadMs: 0, nowMs: () => Date.now() + clock.aheadMs }
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({}, { clock })
})

afterAll(() => app[Symbol.asyncDispose]())

const doors = {
  gRPC: () => createGrpcTransport({ baseUrl: app.app.grpcUrl ?? '' }),
  Connect: () => createConnectTransport({ baseUrl: app.app.httpUrl, httpVersion: '1.1' }),
}

async function startGated(account: TestAccount): Promise<{ jobId: string; open: () => void }> {
  const gate = app.gate()
  const { body } = await app.generate(model, gate.input, { wait: false, account })
  return { jobId: body.job_id, open: gate.open }
}

/** A second key of an account, and what revokes it. */
async function createSpareKey(
  { accountId }: TestAccount,
  allowed: readonly Permission[] = ['jobs:read'],
): Promise<{ key: string; revoke: () => Promise<unknown> }> {
  const known = new Set((await app.admin.listKeys({ accountId })).keys.map(({ keyId }) => keyId))
  const key = await app.createKey(accountId, allowed)
  const added = (await app.admin.listKeys({ accountId })).keys.find(({ keyId }) => !known.has(keyId))
  return { key, revoke: () => app.admin.revokeKey({ keyId: added?.keyId ?? '' }) }
}

/** What comes of something that ends with its key; fails in words when it goes on. */
async function endOf<Outcome>(what: string, ending: Promise<Outcome>): Promise<Outcome> {
  const goesOn = sleep(patienceMs, undefined, { ref: false }).then(() =>
    expect.unreachable(`${what} goes on without its key`),
  )
  return Promise.race([ending, goesOn])
}

/** A watch that has told the record, and its end. */
async function watch(door: keyof typeof doors, jobId: string, key: string) {
  const client = createClient(GenerationService, doors[door]())
  const changes = client.watchJob({ jobId }, { headers: { authorization: `Bearer ${key}` } })[Symbol.asyncIterator]()
  await changes.next()
  const ended = (async () => {
    while (!(await changes.next()).done);
  })()
  ended.catch(() => {})
  return { ended }
}

const failureOf = (ended: Promise<unknown>): Promise<ConnectError> =>
  ended.then((outcome) => ConnectError.from(outcome), ConnectError.from)

test.for(Object.keys(doors) as (keyof typeof doors)[])(
  'a revoked key ends its watch over %s and no other',
  async (door) => {
    const account = await app.createAccount(100)
    const job = await startGated(account)
    const spare = await createSpareKey(account)
    const lost = await watch(door, job.jobId, spare.key)
    const kept = await watch(door, job.jobId, account.key)
    const countLost = () => countCalls(app, 'GenerationService.WatchJob', 'invalid_api_key')
    const before = await countLost()
    await spare.revoke()
    const error = await endOf('the watch', failureOf(lost.ended))
    expect(Code[error.code]).toBe('Unauthenticated')
    expect(error.findDetails(ErrorDetailSchema)[0]?.code).toBe('invalid_api_key')
    expect(await countLost()).toBe(before + 1)
    job.open()
    await kept.ended
  },
)

test('a revoked key ends its server-sent events with an event that says so', async () => {
  const account = await app.createAccount(100)
  const job = await startGated(account)
  const spare = await createSpareKey(account)
  const path = `/v1/jobs/${job.jobId}/events`
  const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${spare.key}` } })
  await spare.revoke()
  const text = await endOf('the stream of events', response.text())
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
    error: {
      message: expect.stringContaining('revoked'),
      type: 'authentication_error',
      param: null,
      code: 'invalid_api_key',
    },
  })
  expect(await app.send(path, { key: spare.key })).toMatchObject({ status: 401, body: { code: 'invalid_api_key' } })
  job.open()
})

test('a revoked key ends its wait, which answers with the job that was started', async () => {
  const account = await app.createAccount(100)
  const gate = app.gate()
  const spare = await createSpareKey(account, ['generate'])
  const { quote_id } = await app.quote(model, gate.input, account)
  const answer = app.send('/v1/generate?wait=true', {
    key: spare.key,
    body: { model, input: gate.input, quote_id },
    headers: { 'idempotency-key': 'k' },
  })
  await gate.begun()
  await spare.revoke()
  const { status, body } = await endOf('the wait', answer)
  expect({ status, body }).toMatchObject({ status: 202, body: { status: 'running', billing: { charged: 0 } } })
  gate.open()
  const look = () => app.send(`/v1/jobs/${body.job_id}`, { key: account.key })
  await expect.poll(async () => (await look()).body.status).toBe('succeeded')
})

test('a key that expires ends its watch', async () => {
  const account = await app.createAccount(100)
  const job = await startGated(account)
  const key = await app.createKey(account.accountId, ['jobs:read'], Date.now() + 3_600_000)
  const { ended } = await watch('gRPC', job.jobId, key)
  clock.aheadMs = 3_600_000
  const error = await endOf('the watch', failureOf(ended))
  clock.aheadMs = 0
  expect(error.findDetails(ErrorDetailSchema)[0]?.code).toBe('invalid_api_key')
  job.open()
})

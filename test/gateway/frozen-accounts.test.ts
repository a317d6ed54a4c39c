// P312, P313, P316: an account that is frozen starts nothing at any door, and everything else goes on.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Permission } from '../../gen/mediagen/v1/options_pb.ts'
import { paint, startEditApp } from '../openai/edit-app.ts'
import { openForeignClient, toStruct } from '../rpc/foreign-client.ts'
import type { TestAccount } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }
const app = await startEditApp({ MEDIAGEN_OPENAI_SPEECH_MODEL: 'tts-1' })
afterAll(() => app[Symbol.asyncDispose]())
const reason = 'unpaid invoice 17'
const words = /The account is frozen by the operator of this server: unpaid invoice 17\..*Nothing was held/

let account: TestAccount
let quoteId = ''
let earlier: any
const jobsOf = async (key: string) => (await app.send('/v1/jobs', { key })).body

beforeAll(async () => {
  account = await app.createAccount(100)
  const made = await app.generate(model, input, { account, idempotencyKey: 'before' })
  earlier = { ...made.body, quote: made.body.quote_id }
  quoteId = (await app.quote(model, input, account)).quote_id
  await app.admin.freezeAccount({ accountId: account.accountId, reason })
})

const headers = (name: string) => ({ 'idempotency-key': name, 'mediagen-max-credits': '100' })
const doors: Record<string, () => Promise<{ status: number; body: any; headers: Headers }>> = {
  '/v1/generate': () =>
    app.send('/v1/generate', {
      key: account.key,
      headers: headers('generate'),
      body: { model, input, quote_id: quoteId },
    }),
  '/v1/run': () =>
    app.send('/v1/run', { key: account.key, headers: headers('run'), body: { model, input, max_credits: 10 } }),
  '/v1/images/generations': () =>
    app.send('/v1/images/generations', { key: account.key, headers: headers('images'), body: { model, prompt: 'x' } }),
  '/v1/images/edits': async () => {
    const image = `data:image/png;base64,${(await paint('red')).toString('base64')}`
    const body = { model: 'test/edit/one', prompt: 'x', image }
    return app.send('/v1/images/edits', { key: account.key, headers: headers('edits'), body })
  },
  '/v1/audio/speech': () =>
    app.send('/v1/audio/speech', {
      key: account.key,
      headers: headers('speech'),
      body: { model: 'tts-1', input: 'Hello.', voice: 'amy' },
    }),
}

describe('a frozen account', () => {
  test.each(Object.entries(doors))('starts nothing by %s', async (_door, send) => {
    const before = (await jobsOf(account.key)).total
    const refused = await send()
    expect(refused.status).toBe(403)
    expect(refused.body).toMatchObject({ code: 'account_frozen', retryable: false })
    expect(refused.body.detail).toMatch(words)
    expectProblem(refused, app.url, 'account_frozen')
    expect((await jobsOf(account.key)).total).toBe(before)
  })

  test('starts nothing over gRPC', async () => {
    using client = await openForeignClient(app.app.grpcUrl, account.key)
    const order = { model, input: toStruct(input) }
    const start = { ...order, quote_id: quoteId, idempotency_key: 'grpc' }
    const run = { ...order, max_credits: 10, idempotency_key: 'grpc run' }
    for (const [rpc, request] of [
      ['StartGeneration', start],
      ['Run', run],
    ] as const) {
      const refused = await client.refusal(`GenerationService/${rpc}`, { ...request, idempotency_key: rpc })
      expect(refused).toMatchObject({ status: 'PERMISSION_DENIED', detail: { code: 'account_frozen' } })
      expect(refused.message).toMatch(words)
    }
  })

  test('starts nothing over Connect', async () => {
    const response = await fetch(`${app.url}/mediagen.v1.GenerationService/Run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input, maxCredits: '10', idempotencyKey: 'connect' }),
    })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'permission_denied', message: expect.stringMatching(words) })
  })

  test('starts nothing over MCP, and the agent reads why', async () => {
    const client = new Client({ name: 'test', version: '1' })
    const requestInit = { headers: { authorization: `Bearer ${account.key}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit }))
    const result: any = await client.callTool({
      name: 'start_generation',
      arguments: { model, input, max_credits: 10, idempotency_key: 'agent' },
    })
    await client.close()
    expect(result.isError).toBe(true)
    expect(JSON.stringify(result.content)).toMatch(words)
  })

  test('learns with the quote that a start would be refused', async () => {
    const quoted = await app.send('/v1/quotes', { key: account.key, body: { model, input } })
    expect(quoted.status).toBe(200)
    expect(quoted.headers.get('mediagen-start-refused')).toMatch(/^account_frozen; detail=".*unpaid invoice 17/)
    const words = 'überfällig: 100 % "\u{1F4B8}"'
    await app.admin.freezeAccount({ accountId: account.accountId, reason: words })
    const again = await app.send('/v1/quotes', { key: account.key, body: { model, input } })
    await app.admin.freezeAccount({ accountId: account.accountId, reason })
    const [, escaped = ''] = /; detail=%"([ -~]*)"$/.exec(again.headers.get('mediagen-start-refused') ?? '') ?? []
    expect(decodeURIComponent(escaped)).toContain(words)
  })

  test('makes no keys', async () => {
    const refused = await app.send('/v1/keys', { key: account.key, body: { permissions: ['generate'] } })
    expectProblem(refused, app.url, 'account_frozen')
    const order = { accountId: account.accountId, permissions: [Permission.GENERATE] }
    await expect(app.admin.createKey(order)).rejects.toThrow('account_frozen')
  })

  test('reads, repeats an earlier start, uploads, and can be granted credits', async () => {
    const { key } = account
    expect((await app.send('/v1/wallet', { key })).status).toBe(200)
    expect((await app.send(`/v1/jobs/${earlier.job_id}`, { key })).body).toMatchObject({ status: 'succeeded' })
    const again = await app.send('/v1/generate?wait=true', {
      key,
      headers: { 'idempotency-key': 'before' },
      body: { model, input, quote_id: earlier.quote },
    })
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    await app.admin.grantCredits({ accountId: account.accountId, credits: 1n })
  })

  test('has jobs that go on, and starts again when the freeze is over', async () => {
    const busy = await app.createAccount(100)
    const gate = app.gate()
    const { body } = await app.generate('test/gate/text-to-image', gate.input, { account: busy, wait: false })
    await gate.begun()
    await app.admin.freezeAccount({ accountId: busy.accountId, reason })
    gate.open()
    await expect
      .poll(async () => (await app.send(`/v1/jobs/${body.job_id}`, { key: busy.key })).body.status)
      .toBe('succeeded')
    await app.admin.unfreezeAccount({ accountId: busy.accountId })
    expect((await app.generate(model, input, { account: busy })).body).toMatchObject({ status: 'succeeded' })
  })
})

test('a closed account has no keys that work, at once', async () => {
  const gone = await app.createAccount(7)
  const { account: closed, revokedKeys } = await app.admin.closeAccount({
    accountId: gone.accountId,
    reason: 'contract ended',
  })
  expect(closed).toMatchObject({ available: 7n, held: 0n })
  expect(revokedKeys).toBe(1)
  expectProblem(await app.send('/v1/wallet', { key: gone.key }), app.url, 'invalid_api_key')
})

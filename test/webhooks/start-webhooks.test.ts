// Webhooks of single starts over REST and gRPC: where their ends go, who signs them, and which starts are refused
// (P303, P304, P305, P306, P307, P308).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { openReceiver, type Received } from '../outgoing/receiver.ts'
import { openForeignClient, toStruct } from '../rpc/foreign-client.ts'
import type { TestAccount, TestApp } from '../test-app.ts'
import { startWebhookApp } from './webhook-app.ts'

const hooks = await startWebhookApp()
const closed = await startWebhookApp({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'false' })
afterAll(() => Promise.all([hooks[Symbol.asyncDispose](), closed[Symbol.asyncDispose]()]))
const { app } = hooks

const model = 'test/nothing/text-to-image'
const input = { prompt: 'x' }

interface Start {
  readonly server?: TestApp
  readonly payer?: TestAccount
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** Starts by POST /v1/generate, with the URL in the header. */
async function generate({ server = app, payer = server.account, url, headers, body }: Start) {
  const { body: quote } = await server.send('/v1/quotes', { key: payer.key, body: { model, input } })
  const webhook = url === undefined ? {} : { 'mediagen-webhook-url': Buffer.from(url).toString('latin1') }
  return server.send('/v1/generate', {
    key: payer.key,
    headers: { 'idempotency-key': crypto.randomUUID(), ...webhook, ...headers },
    body: { model, input, quote_id: quote.quote_id, ...body },
  })
}

/** Starts by POST /v1/run, with the URL in the body. */
function run({ server = app, payer = server.account, url, headers, body }: Start) {
  return server.send('/v1/run', {
    key: payer.key,
    headers: { 'idempotency-key': crypto.randomUUID(), ...headers },
    body: { model, input, max_credits: 9, ...(url !== undefined && { webhook_url: url }), ...body },
  })
}

/** The secret of the account for its starts. */
async function takeSecret({ key }: TestAccount): Promise<string> {
  const { status, body } = await app.send('/v1/webhooks/starts/rotate-secret', { key, method: 'POST' })
  expect(status).toBe(200)
  return body.secret
}

function verify(secret: string, { body, headers }: Received): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>)
}

describe('the end of a start', () => {
  test('goes to the URL that its header or its body names, signed with the secret for starts', async () => {
    const payer = await app.createAccount(50)
    const secret = await takeSecret(payer)
    await using receiver = await openReceiver()
    for (const [send, url] of [
      [generate, `${receiver.url}?order=1`],
      [run, `${receiver.url}?order=2`],
    ] as const) {
      const { status, body: job } = await send({ payer, url })
      expect(status).toBe(202)
      const received = await receiver.next()
      expect(verify(secret, received)).toMatchObject({
        type: 'job.succeeded',
        data: { job_id: job.job_id, input: null },
      })
      expect(received.path).toBe(new URL(url).pathname + new URL(url).search)
    }
    expect((await run({ payer })).status).toBe(202)
    await hooks.delivered(payer)
    expect(receiver.received).toHaveLength(2)
  })

  test('the body of a run comes before its header; without either there is none', async () => {
    const payer = await app.createAccount(50)
    await using receiver = await openReceiver()
    await run({ payer, url: `${receiver.url}/body`, headers: { 'mediagen-webhook-url': `${receiver.url}/header` } })
    expect((await receiver.next()).path).toBe('/hooks/body')
    await run({ payer, headers: { 'mediagen-webhook-url': `${receiver.url}/header` } })
    expect((await receiver.next()).path).toBe('/hooks/header')
    const refused = await generate({ payer, body: { webhook_url: receiver.url } })
    expect([refused.status, refused.body.errors]).toMatchObject([400, [{ pointer: '/webhook_url' }]])
  })

  test('over gRPC, of both calls that start', async () => {
    const payer = await app.createAccount(50)
    const client = await openForeignClient(app.app.grpcUrl, payer.key)
    await using receiver = await openReceiver()
    const sent = { model, input: toStruct(input), webhook_url: receiver.url }
    const { quote } = await client.call('QuotesService/CreateQuote', { model, input: toStruct(input) })
    const first = { ...sent, quote_id: quote.quote_id, idempotency_key: 'one' }
    const { job } = await client.call('GenerationService/StartGeneration', first)
    expect((await receiver.next()).event.data.job_id).toBe(job.job_id)
    const other = await client.call('GenerationService/Run', { ...sent, max_credits: 9, idempotency_key: 'two' })
    expect((await receiver.next()).event.data.job_id).toBe(other.job.job_id)
    const bad = { ...sent, max_credits: 9, idempotency_key: 'three', webhook_url: 'ftp://example.com/' }
    const refused = await client.refusal('GenerationService/Run', bad)
    expect(refused).toMatchObject({ status: 'INVALID_ARGUMENT', detail: { code: 'invalid_request' } })
    expect(refused.message).toContain('webhook_url must begin with https:// or http://')
    client[Symbol.dispose]()
  })

  test('is tried again, seen with its URL, and sent again when an operator says so', async () => {
    const payer = await app.createAccount(50)
    await using receiver = await openReceiver()
    receiver.answer = 410
    await run({ payer, url: `${receiver.url}/gone` })
    await receiver.next()
    await hooks.delivered(payer)
    receiver.answer = 200
    await run({ payer, url: `${receiver.url}/other` })
    expect((await receiver.next()).path).toBe('/hooks/other')
    await hooks.delivered(payer)
    const [other, gone] = await hooks.deliveries('starts', payer)
    expect([other.status, gone.status, gone.attempts[0].response_status]).toEqual(['delivered', 'failed', 410])
    const { deliveries } = await app.admin.findDeliveries({ accountId: payer.accountId })
    expect(deliveries.map(({ url }) => url)).toEqual([`${receiver.url}/other`, `${receiver.url}/gone`])
    await app.admin.redeliver({ deliveryId: gone.delivery_id })
    const again = await receiver.next()
    expect([again.path, again.headers['webhook-id']]).toEqual(['/hooks/gone', gone.delivery_id])
  })

  test('a repeated start may name another URL; the job keeps the first', async () => {
    const payer = await app.createAccount(50)
    await using receiver = await openReceiver()
    const headers = { 'idempotency-key': 'same' }
    const first = await run({ payer, url: `${receiver.url}/first`, headers })
    for (const url of [`${receiver.url}/second`, undefined]) {
      const again = await run({ payer, headers, ...(url !== undefined && { url }) })
      expect([again.body.job_id, again.headers.get('idempotent-replayed')]).toEqual([first.body.job_id, 'true'])
    }
    await hooks.delivered(payer)
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hooks/first'])
  })
})

describe('a start is refused, and nothing is held,', () => {
  test.each([
    ['/hooks', 'must be an absolute URL'],
    ['ftp://example.com/', 'must begin with https:// or http://'],
    ['https://user:secret@example.com/', 'must not carry a user name or a password'],
    ['https://example.com/#here', 'must not have a fragment'],
    [`https://example.com/${'x'.repeat(2048)}`, 'at most 2048 characters'],
    ['https://example.com/\u202egnp', 'control characters'],
    ['http://127.0.0.1/', 'must lead to a public address'],
    ['http://[::ffff:127.0.0.1]/', 'must lead to a public address'],
    ['http://localhost:3000/', 'must lead to a public address'],
    ['https://example.com:25/', 'must have another port'],
  ])('for the URL %s', async (url, words) => {
    const payer = await closed.app.createAccount(5)
    const byHeader = await generate({ server: closed.app, payer, url })
    expect([byHeader.status, byHeader.body.code]).toEqual([400, 'invalid_request'])
    expect(byHeader.body.detail).toMatch(/^The header Mediagen-Webhook-Url must /)
    expect(byHeader.body.detail).toContain(words)
    expect(byHeader.body.errors).toMatchObject([{ pointer: 'Mediagen-Webhook-Url' }])
    const byBody = await run({ server: closed.app, payer, url })
    expect([byBody.status, byBody.body.code]).toEqual([400, 'invalid_request'])
    expect(byBody.body.errors).toMatchObject([{ pointer: '/webhook_url' }])
    expect((await closed.app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 5, held: 0 })
    expect((await closed.app.send('/v1/webhooks', { key: payer.key })).body.total).toBe(0)
  })

  test('for a key without the permission webhooks', async () => {
    const { accountId } = await app.createAccount(20)
    const key = await app.createKey(accountId, ['generate', 'wallet:read'])
    const payer = { accountId, key }
    for (const send of [generate, run]) {
      const { status, body } = await send({ payer, url: 'https://example.com/hooks' })
      expect([status, body.code, body.permission]).toEqual([403, 'missing_permission', 'webhooks'])
      expect((await send({ payer })).status).toBe(202)
    }
  })
})

test('a private address is not connected to, whatever the setting was at the start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-start-hooks-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await using receiver = await openReceiver()
  let payer: TestAccount
  {
    await using before = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder, MEDIAGEN_ROLES: 'api' })
    payer = before.app.account
    expect((await run({ server: before.app, url: receiver.url })).status).toBe(202)
  }
  await using after = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder, MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'false' })
  const read = async () => (await after.deliveries('starts', payer))[0]
  await expect.poll(async () => (await read())?.attempts.length ?? 0).toBeGreaterThan(0)
  expect((await read()).error).toMatch(/The address was refused: ".+" does not lead to a public address/)
  expect(receiver.received).toEqual([])
})

describe('the endpoint of starts', () => {
  test('is made when it is first needed, is listed, counts toward no limit, and gets another secret', async () => {
    const payer = await app.createAccount(50)
    const { key } = payer
    expect((await app.send('/v1/webhooks/starts', { key })).body.code).toBe('webhook_not_found')
    const first = await takeSecret(payer)
    const { body: listed } = await app.send('/v1/webhooks', { key })
    const { body: read } = await app.send('/v1/webhooks/starts', { key })
    expect(listed).toMatchObject({ total: 1, data: [read] })
    expect(read).toMatchObject({ url: '', description: expect.stringContaining('webhook_url'), disabled_at: null })
    expect((await app.send(`/v1/webhooks/${read.webhook_id}`, { key })).body).toEqual(read)
    for (let n = 0; n < 10; n += 1) await hooks.register(`https://example.com/${n}`, payer)
    const second = await takeSecret(payer)
    await using receiver = await openReceiver()
    await run({ payer, url: receiver.url })
    const received = await receiver.next()
    for (const secret of [first, second]) expect(verify(secret, received)).toMatchObject({ type: 'job.succeeded' })
  })

  test('of another account is another one, and its deletion stops what is pending', async () => {
    const [payer, other] = [await app.createAccount(50), await app.createAccount(50)]
    await using receiver = await openReceiver()
    receiver.answer = 500
    await run({ payer, url: receiver.url })
    await receiver.next()
    const { webhook_id: id } = (await app.send('/v1/webhooks/starts', { key: payer.key })).body
    expect((await app.send(`/v1/webhooks/${id}`, { key: other.key })).status).toBe(404)
    expect((await app.send('/v1/webhooks/starts', { key: other.key, method: 'DELETE' })).status).toBe(404)
    expect((await app.send('/v1/webhooks/starts', { key: payer.key, method: 'DELETE' })).status).toBe(204)
    await hooks.delivered(payer)
    expect((await app.send('/v1/webhooks', { key: payer.key })).body.total).toBe(0)
    const secret = await takeSecret(payer)
    receiver.answer = 200
    await run({ payer, url: receiver.url })
    expect(verify(secret, await receiver.next())).toMatchObject({ type: 'job.succeeded' })
  })
})

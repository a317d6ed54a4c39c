// POST /v1/generate checks in this order: key, permission, body shape, Idempotency-Key, replay, model, quote
// (genuine, owner, expiry, match), input schema, balance (P92, P175).
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_BODY_BYTES: '4096' }, { clock })
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'

/** A request in which everything is wrong, from the key to the balance. */
async function everythingWrong() {
  const payer = await app.createAccount(0)
  const { quote_id, expires_at } = await app.quote(model, { prompt: 'x' })
  clock.ms = Date.parse(expires_at) + 1
  return {
    key: null as string | null,
    idempotencyKey: 'not legal',
    body: { model: 'test/none', input: { prompt: '', width: 1 } as object, quote_id, colour: 'red' } as Record<
      string,
      unknown
    >,
    payer,
  }
}

test('of all that is wrong the first check in the order is told, one by one', async () => {
  const request = await everythingWrong()
  const { payer, body } = request
  const codes: string[] = []
  async function look(): Promise<void> {
    const answer = await app.send('/v1/generate', {
      key: request.key,
      headers: { 'idempotency-key': request.idempotencyKey },
      body,
    })
    codes.push(answer.body.code)
  }

  await look()
  request.key = `mgk_${'0'.repeat(43)}`
  await look()
  request.key = await app.createKey(payer.accountId, ['models:read'])
  await look()
  request.key = payer.key
  await look()
  delete body['colour']
  await look()
  request.idempotencyKey = 'legal'
  await look()
  body['model'] = 'test/unready/video-to-video'
  await look()
  body['model'] = model
  // Expired, but first of all somebody else's.
  await look()
  const own = await app.quote('test/instant/edit', { prompt: 'y' }, payer)
  body['quote_id'] = own.quote_id
  clock.ms += 600_001
  await look()
  body['quote_id'] = (await app.quote('test/instant/edit', { prompt: 'y' }, payer)).quote_id
  await look()
  body['quote_id'] = (await app.quote(model, { prompt: 'y' }, payer)).quote_id
  await look()
  body['input'] = { prompt: 'y' }
  await look()
  await app.admin.grantCredits({ accountId: payer.accountId, credits: 3n })
  await look()

  expect(codes).toEqual([
    'authentication_required',
    'invalid_api_key',
    'missing_permission',
    'invalid_request',
    'idempotency_key_invalid',
    'model_not_found',
    'model_unavailable',
    'quote_not_found',
    'quote_expired',
    'quote_mismatch',
    'quote_mismatch',
    'insufficient_credits',
    undefined,
  ])
})

test('an input that breaks the schema is told after the quote, which was made for another', async () => {
  const { quote_id } = await app.quote(model, { prompt: 'x' })
  const { body } = await app.send('/v1/generate', {
    headers: { 'idempotency-key': 'a' },
    body: { model, input: { prompt: 'x', width: 1 }, quote_id },
  })
  expect(body.code).toBe('quote_mismatch')
})

test('a replay comes before everything that is checked of the model, the quote and the balance', async () => {
  const payer = await app.createAccount(3)
  const { body: job } = await app.generate(model, { prompt: 'x' }, { account: payer, wait: false, idempotencyKey: 'k' })
  clock.ms += 3_600_000
  const { status, body } = await app.send('/v1/generate', {
    key: payer.key,
    headers: { 'idempotency-key': 'k' },
    body: { model, input: { prompt: 'x' }, quote_id: job.quote_id },
  })
  expect([status, body.job_id]).toEqual([202, job.job_id])
})

test.each([
  ['no JSON', { body: '{' }, 'invalid_request'],
  ['another content type', { headers: { 'content-type': 'text/plain' }, body: '{}' }, 'unsupported_media_type'],
  ['too large', { body: JSON.stringify({ model: 'x'.repeat(5000) }) }, 'payload_too_large'],
  ['a wrong query', { path: '?wait=maybe', body: {} }, 'invalid_request'],
])('who may not call learns nothing of a body: %s', async (_what, { path = '', ...request }: any, code) => {
  const send = (key: string | null) => app.send(`/v1/generate${path}`, { ...request, key })
  expect((await send(null)).body.code).toBe('authentication_required')
  expect((await send('mgk_wrong')).body.code).toBe('invalid_api_key')
  const reader = await app.createKey(app.account.accountId, ['models:read'])
  expect((await send(reader)).body).toMatchObject({ code: 'missing_permission', permission: 'generate' })
  expect((await send(app.account.key)).body.code).toBe(code)
})

test('a key without the permission to read the catalog does not learn that a query is wrong', async () => {
  const key = await app.createKey(app.account.accountId, ['generate'])
  expect((await app.send('/v1/models?limit=0', { key })).body.code).toBe('missing_permission')
  expect((await app.send('/v1/models?limit=0', { key: null })).body.code).toBe('authentication_required')
})

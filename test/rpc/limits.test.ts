// Limits of keys over gRPC (P226, P228, P229, P231).
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openForeignClient, toStruct } from './foreign-client.ts'

// Costs 10 credits. Nothing runs here.
const model = 'test/gate/text-to-image'
const input = toStruct({ gate: 'never' })
const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
const client = await openForeignClient(app.app.grpcUrl, await app.createKey(app.account.accountId, ['admin']))
afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

async function makeKey(limits: object, permissions = ['PERMISSION_GENERATE']) {
  const { account } = await client.call('AdminService/CreateAccount', { name: 'a', credits: 100 })
  const order = { account_id: account.account_id, permissions, limits }
  const { key, secret } = await client.call('AdminService/CreateKey', order)
  return { key_id: key.key_id as string, secret: secret as string }
}

test('a start beyond a limit is FAILED_PRECONDITION with the limit as a detail; the quote says it before', async () => {
  const { secret: key, key_id } = await makeKey({ daily: 9 })
  const { quote, refusal } = await client.call('QuotesService/CreateQuote', { model, input }, { key })
  expect(refusal).toMatchObject({ code: 'budget_exceeded', detail: expect.stringContaining('daily limit') })
  const request = { model, input, quote_id: quote.quote_id, idempotency_key: 'x' }
  const refused = await client.refusal('GenerationService/StartGeneration', request, { key })
  expect(refused).toMatchObject({
    status: 'FAILED_PRECONDITION',
    detail: {
      code: 'budget_exceeded',
      budget: { of: 'key', limit: 'daily', credits: '9', held: '0', charged: '0', left: '9' },
    },
  })
  // Raised without a new key, it applies at once.
  const change = { key_id, limits: { daily: 10 }, update_mask: { paths: ['daily'] } }
  await client.call('AdminService/ChangeKeyLimits', change)
  const { job } = await client.call('GenerationService/StartGeneration', request, { key })
  expect(job.key_id).toBe(key_id)
  const { left } = await client.call('AccountService/GetOwnKey', {}, { key })
  expect(left).toMatchObject([{ limit: 'daily', held: '10', left: '0' }])
})

test.each([
  ['no mask', { limits: { daily: 1 } }, 'update_mask'],
  ['a mask that names no limit', { limits: {}, update_mask: { paths: ['weakly'] } }, 'weakly'],
  ['a negative limit', { limits: { daily: -1 }, update_mask: { paths: ['daily'] } }, '/limits/daily'],
  [
    'extra credits until yesterday',
    { limits: { extra: { credits: 5, until: { seconds: 1 } } }, update_mask: { paths: ['extra'] } },
    '/limits/extra/until',
  ],
  [
    'extra credits for ever',
    { limits: { extra: { credits: 5 } }, update_mask: { paths: ['extra'] } },
    '/limits/extra/until',
  ],
  ['an empty pattern', { limits: { models: [' '] }, update_mask: { paths: ['models'] } }, '/limits/models/0'],
  [
    'too many patterns',
    { limits: { models: Array.from({ length: 101 }, String) }, update_mask: { paths: ['models'] } },
    '/limits/models',
  ],
])('%s is refused, and nothing changes', async (_what, change, named) => {
  const { key_id, secret: key } = await makeKey({ daily: 7 })
  const refused = await client.refusal('AdminService/ChangeKeyLimits', { key_id, ...change })
  expect(refused).toMatchObject({ status: 'INVALID_ARGUMENT', message: expect.stringContaining(named) })
  const { left } = await client.call('AccountService/GetOwnKey', {}, { key })
  expect(left).toMatchObject([{ limit: 'daily', credits: '7' }])
})

test('a key without keys:write makes none, one with it makes none that does more', async () => {
  const plain = await makeKey({})
  const own = { permissions: ['PERMISSION_GENERATE'] }
  expect(await client.refusal('AccountService/CreateOwnKey', own, { key: plain.secret })).toMatchObject({
    status: 'PERMISSION_DENIED',
  })
  const maker = await makeKey({ total: 10 }, ['PERMISSION_GENERATE', 'PERMISSION_KEYS_WRITE'])
  const asMaker = { key: maker.secret }
  const beyond = { ...own, limits: { total: 11 } }
  expect(await client.refusal('AccountService/CreateOwnKey', beyond, asMaker)).toMatchObject({
    status: 'INVALID_ARGUMENT',
  })
  const { key } = await client.call('AccountService/CreateOwnKey', own, asMaker)
  expect(key).toMatchObject({ made_by: maker.key_id, limits: { total: '10' } })
  const { key: revoked } = await client.call('AccountService/RevokeOwnKey', { key_id: key.key_id }, asMaker)
  expect(revoked.revoked_at).not.toBeNull()
})

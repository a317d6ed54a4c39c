// Limits of keys over REST: refusals, what is left, and keys that keys make (P226, P228, P229, P230, P231, P232, P233, P234, P236, P238, P239).
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterAll, describe, expect, test } from 'vitest'
import type { Permission } from '../../src/core/accounts/key.ts'
import { toPermissionCode } from '../../src/services/messages/convert.ts'
import { startTestApp, type TestAccount } from '../test-app.ts'

const app = await startTestApp({
  MEDIAGEN_ROLES: 'api',
  MEDIAGEN_TIME_ZONE: 'Europe/Berlin',
  MEDIAGEN_CORS_ORIGINS: 'https://app.example,https://other.example',
})
afterAll(() => app[Symbol.asyncDispose]())

// Costs 10 credits. Nothing runs here.
const model = 'test/gate/text-to-image'
const input = { gate: 'never' }
const day = 86_400_000

interface KeyLimits {
  readonly perStart?: bigint
  readonly daily?: bigint
  readonly monthly?: bigint
  readonly models?: string[]
  readonly origins?: string[]
}

/** A key of a new account with 1000 credits. */
async function makeKey(
  limits: KeyLimits,
  permissions: readonly Permission[] = ['generate', 'jobs:read', 'wallet:read', 'models:read'],
): Promise<TestAccount & { readonly keyId: string }> {
  const { account } = await app.admin.createAccount({ name: 'a', credits: 1000n })
  const accountId = account?.accountId ?? ''
  const order = { accountId, permissions: permissions.map(toPermissionCode), name: 'ads', limits }
  const { key, secret } = await app.admin.createKey(order)
  return { accountId, key: secret, keyId: key?.keyId ?? '' }
}

const read = async ({ key }: { key: string }) => (await app.send('/v1/key', { key })).body
const start = (account: TestAccount) => app.generate(model, input, { wait: false, account })

describe('a start beyond a limit', () => {
  test('is 402 budget_exceeded with the limit, its window and what is left; nothing is held, and the key is free', async () => {
    const account = await makeKey({ daily: 15n })
    const first = await start(account)
    expect(first.body).toMatchObject({ key_id: account.keyId, key_name: 'ads' })
    const { quote_id } = await app.quote(model, input, account)
    const send = () =>
      app.send('/v1/generate', {
        key: account.key,
        headers: { 'idempotency-key': 'second' },
        body: { model, input, quote_id },
      })
    const { status, body } = await send()
    expect([status, body]).toMatchObject([
      402,
      {
        code: 'budget_exceeded',
        retryable: false,
        required: 10,
        budget: { of: 'key', limit: 'daily', credits: 15, held: 10, charged: 0, left: 5 },
      },
    ])
    const { starts_at, renews_at } = body.budget
    expect(Date.parse(starts_at)).toBeLessThanOrEqual(Date.now())
    expect(Date.parse(renews_at)).toBeGreaterThan(Date.now())
    expect(body.detail).toContain(renews_at)
    expect((await app.send('/v1/wallet', { key: account.key })).body).toEqual({ available: 990, held: 10 })
    // What the first one gives back may be spent again, with the same idempotency key.
    await app.send(`/v1/jobs/${first.body.job_id}/cancel`, { key: account.key, method: 'POST' })
    expect((await send()).status).toBe(202)
  })

  test('is announced by the quote, whose four fields stay as they are', async () => {
    const account = await makeKey({ perStart: 9n })
    const { status, headers, body } = await app.send('/v1/quotes', { key: account.key, body: { model, input } })
    expect([status, Object.keys(body)]).toEqual([200, ['quote_id', 'model', 'credits', 'expires_at']])
    expect(headers.get('mediagen-start-refused')).toMatch(
      /^budget_exceeded; detail="The quote needs 10 credits, and the limit/,
    )
    const rich = await makeKey({ perStart: 10n })
    const allowed = await app.send('/v1/quotes', { key: rich.key, body: { model, input } })
    expect(allowed.headers.get('mediagen-start-refused')).toBeNull()
  })

  test('of the account counts all its keys', async () => {
    const account = await makeKey({})
    const limits = { total: 10n }
    await app.admin.changeAccountLimits({ accountId: account.accountId, limits, updateMask: { paths: ['total'] } })
    expect((await start(account)).status).toBe(202)
    const other = { ...account, key: await app.createKey(account.accountId, ['generate']) }
    const { status, body } = await start(other)
    expect([status, body.budget]).toMatchObject([402, { of: 'account', limit: 'total', left: 0, renews_at: null }])
  })
})

test('a key that may use some models gets 403 model_not_allowed for others, at the quote and at the start', async () => {
  const account = await makeKey({ models: ['acme/*', 'test/broken'] })
  const quoted = await app.send('/v1/quotes', { key: account.key, body: { model, input } })
  expect([quoted.status, quoted.body.code]).toEqual([403, 'model_not_allowed'])
  expect(quoted.body.detail).toContain('only acme/*, test/broken')
  const { quote_id } = await app.quote(model, input, {
    ...account,
    key: await app.createKey(account.accountId, ['generate']),
  })
  const headers = { 'idempotency-key': 'x' }
  const started = await app.send('/v1/generate', { key: account.key, headers, body: { model, input, quote_id } })
  expect([started.status, started.body.code]).toEqual([403, 'model_not_allowed'])
  expect((await app.send('/v1/wallet', { key: account.key })).body.held).toBe(0)
})

test('a key with websites is refused to scripts of others, and to no other program', async () => {
  const { key } = await makeKey({ origins: ['https://app.example'] })
  const send = (origin: Record<string, string>) => app.send('/v1/wallet', { key, headers: origin })
  const evil = await send({ origin: 'https://evil.example' })
  expect([evil.status, evil.body.code]).toEqual([403, 'origin_not_allowed'])
  expect((await send({ origin: 'https://app.example' })).status).toBe(200)
  expect((await send({})).status).toBe(200)
  // The tools of /mcp call for the same website.
  const callTool = async (origin: string) => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'find_models', arguments: {} },
    }
    const headers = { origin, accept: 'application/json, text/event-stream' }
    return JSON.stringify((await app.send('/mcp', { key, headers, body })).body)
  }
  expect(await callTool('https://other.example')).toContain('not by scripts of https://other.example')
  expect(await callTool('https://app.example')).not.toContain('not by scripts of')
})

test('websites of an account are those of all its keys', async () => {
  const { accountId, key } = await makeKey({})
  const limits = { origins: ['https://app.example'] }
  await app.admin.changeAccountLimits({ accountId, limits, updateMask: { paths: ['origins'] } })
  const send = (origin: string) => app.send('/v1/wallet', { key, headers: { origin } })
  expect((await send('https://evil.example')).body.code).toBe('origin_not_allowed')
  expect((await send('https://app.example')).status).toBe(200)
})

test('GET /v1/key tells a key its limits, what is left of each, and the time zone', async () => {
  const account = await makeKey({ perStart: 20n, monthly: 100n, models: ['test/*'] })
  await start(account)
  expect(await read(account)).toMatchObject({
    key_id: account.keyId,
    limits: { per_start: 20, daily: null, monthly: 100, total: null, models: ['test/*'], origins: [], extra: null },
    made_by: null,
    left: [
      { of: 'key', limit: 'per_start', left: 20, renews_at: null },
      { of: 'key', limit: 'monthly', credits: 100, held: 10, charged: 0, left: 90 },
    ],
    time_zone: 'Europe/Berlin',
  })
})

describe('a key with keys:write', () => {
  const permissions: Permission[] = ['generate', 'jobs:read', 'keys:write']
  const make = (key: string, body: object) =>
    app.send('/v1/keys', { key, body: { permissions: ['generate'], ...body } })

  test('makes keys of its account, which spend from its own limits', async () => {
    const maker = await makeKey({ daily: 25n, models: ['test/*'] }, permissions)
    const made = await make(maker.key, { name: 'visitor', limits: { total: 10, models: ['test/gate'] } })
    expect([made.status, made.body]).toMatchObject([
      201,
      {
        key: expect.stringMatching(/^mgk_/),
        name: 'visitor',
        made_by: maker.keyId,
        permissions: ['generate'],
        limits: { daily: 25, total: 10, models: ['test/gate'] },
        unmatched_models: [],
      },
    ])
    const visitor = { accountId: maker.accountId, key: made.body.key as string }
    expect((await start(visitor)).status).toBe(202)
    expect((await start(visitor)).body).toMatchObject({ budget: { of: 'key', limit: 'total', left: 0 } })
    expect((await start(maker)).status).toBe(202)
    expect((await start(maker)).body).toMatchObject({ budget: { of: 'key', limit: 'daily', left: 5 } })
  })

  test.each([
    ['another permission', { permissions: ['wallet:read'] }, '/permissions'],
    ['keys:write', { permissions: ['generate', 'keys:write'] }, '/permissions'],
    ['a higher limit', { limits: { daily: 26 } }, '/limits/daily'],
    ['no limit', { limits: { daily: null, per_start: 26 } }, null],
    ['other models', { limits: { models: ['acme/*'] } }, '/limits/models'],
    ['a longer life', { expires_at: new Date(Date.now() + 3 * day).toISOString() }, '/expires_at'],
    ['extra credits', { limits: { extra: { credits: 1, until: '2999-01-01T00:00:00Z' } } }, '/limits/extra'],
    ['a broken number', { limits: { daily: 1.5 } }, '/limits/daily'],
    ['a negative number', { limits: { daily: -1 } }, '/limits/daily'],
    ['an unknown limit', { limits: { dayly: 1 } }, '/limits/dayly'],
    ['a time that no clock shows', { expires_at: '2030-12-31T23:59:60Z' }, '/expires_at'],
    [
      'extra credits until such a time',
      { limits: { extra: { credits: 1, until: '2030-12-31T23:59:60Z' } } },
      '/limits/extra/until',
    ],
    ['no website', { limits: { origins: ['app.example'] } }, '/limits/origins/0'],
    ['no permission', { permissions: [] }, '/permissions'],
  ])('may not give %s', async (_what, body, pointer) => {
    const { account } = await app.admin.createAccount({ name: 'a', credits: 0n })
    const { secret } = await app.admin.createKey({
      accountId: account?.accountId ?? '',
      permissions: permissions.map(toPermissionCode),
      limits: { daily: 25n, models: ['test/*'] },
      expiresAt: timestampFromMs(Date.now() + 2 * day),
    })
    const { status, body: answer } = await make(secret, body)
    // A limit of null is one that is not named: the maker's.
    if (pointer === null) expect([status, answer.limits]).toMatchObject([201, { daily: 25, per_start: 26 }])
    else expect([status, answer.errors?.[0]?.pointer ?? answer.detail]).toEqual([400, pointer])
  })

  test('takes models and websites from the keys that it made when it loses them, and so does the account', async () => {
    const maker = await makeKey({}, permissions)
    const { key } = (await make(maker.key, {})).body
    const quote = async () =>
      (await app.send('/v1/quotes', { key, headers: { origin: 'https://app.example' }, body: { model, input } })).body
    const [keyId, accountId] = [maker.keyId, maker.accountId]
    const lose = (name: 'models' | 'origins', values: string[]) => {
      const change = { limits: { [name]: values }, updateMask: { paths: [name] } }
      return {
        maker: () => app.admin.changeKeyLimits({ keyId, ...change }),
        account: () => app.admin.changeAccountLimits({ accountId, ...change }),
      }
    }
    expect((await quote()).credits).toBe(10)
    for (const of of ['maker', 'account'] as const)
      for (const [name, value, code] of [
        ['models', 'acme/*', 'model_not_allowed'],
        ['origins', 'https://other.example', 'origin_not_allowed'],
      ] as const) {
        await lose(name, [value])[of]()
        expect([of, (await quote()).code]).toEqual([of, code])
        await lose(name, [])[of]()
      }
    expect((await quote()).credits).toBe(10)
  })

  test('changes and revokes the keys that it made, and no others', async () => {
    const maker = await makeKey({ daily: 25n }, permissions)
    const { body: made } = await make(maker.key, { limits: { models: ['nothing/like-this'] } })
    expect(made.unmatched_models).toEqual(['nothing/like-this'])
    const change = (id: string, limits: object) =>
      app.send(`/v1/keys/${id}`, { key: maker.key, method: 'PATCH', body: { limits } })
    expect((await change(made.key_id, { daily: 3, models: null })).body).toMatchObject({
      limits: { daily: 3, models: [] },
    })
    expect((await change(made.key_id, { daily: 26 })).body.errors).toMatchObject([{ pointer: '/limits/daily' }])
    expect((await change(made.key_id, {})).body.errors).toMatchObject([{ pointer: '/limits' }])
    const stranger = await makeKey({})
    for (const id of [maker.keyId, stranger.keyId, 'key_none'])
      expect([(await change(id, { daily: 1 })).body.code, id]).toEqual(['key_not_found', id])
    const revoke = (id: string) => app.send(`/v1/keys/${id}`, { key: maker.key, method: 'DELETE' })
    expect((await revoke(maker.keyId)).status).toBe(404)
    expect((await revoke(made.key_id)).body.revoked_at).toMatch(/Z$/)
    expect((await read({ key: made.key })).code).toBe('invalid_api_key')
  })
})

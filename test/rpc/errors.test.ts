// Every error that can travel over gRPC: its status, its typed detail, its words.
// P138, P139, P141, P143, P144, P145, P146, P147, P148, P150, P151, P152, P155, P156, P159, P160, P161, P162, P164, P167, P168,
// P169, P170, P171, P172, P173, P246, P316, P317.
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSlowClock } from '../slow-clock.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, type ForeignError, openForeignClient, toStruct } from './foreign-client.ts'

/** The contract's table, gRPC column; `retryable` where waiting can help. */
const table: Readonly<Record<string, { status: string; retryable?: true }>> = {
  invalid_request: { status: 'INVALID_ARGUMENT' },
  invalid_input: { status: 'INVALID_ARGUMENT' },
  idempotency_key_required: { status: 'INVALID_ARGUMENT' },
  idempotency_key_invalid: { status: 'INVALID_ARGUMENT' },
  authentication_required: { status: 'UNAUTHENTICATED' },
  invalid_api_key: { status: 'UNAUTHENTICATED' },
  insufficient_credits: { status: 'FAILED_PRECONDITION' },
  price_above_maximum: { status: 'FAILED_PRECONDITION' },
  budget_exceeded: { status: 'FAILED_PRECONDITION' },
  account_frozen: { status: 'PERMISSION_DENIED' },
  model_not_allowed: { status: 'PERMISSION_DENIED' },
  origin_not_allowed: { status: 'PERMISSION_DENIED' },
  missing_permission: { status: 'PERMISSION_DENIED' },
  model_not_found: { status: 'NOT_FOUND' },
  job_not_found: { status: 'NOT_FOUND' },
  quote_not_found: { status: 'NOT_FOUND' },
  account_not_found: { status: 'NOT_FOUND' },
  key_not_found: { status: 'NOT_FOUND' },
  webhook_not_found: { status: 'NOT_FOUND' },
  delivery_not_found: { status: 'NOT_FOUND' },
  session_not_found: { status: 'NOT_FOUND' },
  quote_expired: { status: 'FAILED_PRECONDITION' },
  quote_mismatch: { status: 'FAILED_PRECONDITION' },
  idempotency_key_reused: { status: 'ALREADY_EXISTS' },
  reference_reused: { status: 'ALREADY_EXISTS' },
  account_closed: { status: 'FAILED_PRECONDITION' },
  job_not_in_review: { status: 'FAILED_PRECONDITION' },
  too_many_webhooks: { status: 'FAILED_PRECONDITION' },
  rate_limited: { status: 'RESOURCE_EXHAUSTED', retryable: true },
  too_many_jobs: { status: 'RESOURCE_EXHAUSTED', retryable: true },
  internal: { status: 'INTERNAL', retryable: true },
  model_unavailable: { status: 'UNAVAILABLE', retryable: true },
  model_ended: { status: 'FAILED_PRECONDITION' },
  shutting_down: { status: 'UNAVAILABLE', retryable: true },
  storage_unavailable: { status: 'UNAVAILABLE', retryable: true },
  overloaded: { status: 'UNAVAILABLE', retryable: true },
}

const model = 'test/instant/text-to-image'
const input = toStruct({ prompt: 'x' })
const produced = new Set<string>()
let app: TestApp
let client: ForeignClient
let adminKey: string
/** Ahead of the time, or broken. */
const clock = {
  aheadMs: 0,
  error: null as Error | null,
  nowMs() {
    if (clock.error) throw clock.error
    return Date.now() + clock.aheadMs
  },
}

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_QUEUED_JOBS: '4' }, { clock })
  client = await openForeignClient(app.app.grpcUrl, app.account.key)
  adminKey = await app.createKey(app.account.accountId, ['admin'])
})

afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

/** Holds a refusal against the table. */
function check(error: ForeignError, code: string, message: RegExp): ForeignError {
  expect(error.detail, error.message).toMatchObject({ code, retryable: table[code]?.retryable ?? false })
  expect(error.status).toBe(table[code]?.status)
  expect(error.message).toMatch(message)
  expect(error.detail.request_id).not.toBe('')
  expect(error.metadata.get('x-request-id')).toEqual([error.detail.request_id])
  produced.add(code)
  return error
}

const quote = async (quoted: object = input, key = app.account.key): Promise<string> =>
  (await client.call('QuotesService/CreateQuote', { model, input: quoted }, { key })).quote.quote_id
const start = async (change: object) =>
  client.refusal('GenerationService/StartGeneration', {
    model,
    input,
    quote_id: await quote(),
    idempotency_key: 'unused',
    ...change,
  })

test('a start without a quote is told to ask for one', async () => {
  const request = { model, input, idempotency_key: 'k' }
  const words = /\/quote_id is required: ask for a quote of the same model and input first\./
  check(await client.refusal('GenerationService/StartGeneration', request), 'invalid_request', words)
})

test('all missing fields of a request are listed', async () => {
  const error = check(
    await client.refusal('GenerationService/StartGeneration', { idempotency_key: 'k' }),
    'invalid_request',
    /is required/,
  )
  expect(error.detail.violations.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
    '/input',
    '/model',
    '/quote_id',
  ])
  check(
    await client.refusal('CatalogService/ListModels', { limit: 501 }),
    'invalid_request',
    /\/limit must be 1 to 500/,
  )
  check(await client.refusal('CatalogService/ListModels', { offset: -1 }), 'invalid_request', /\/offset/)
  check(
    await client.refusal('WalletService/GetUsage', { group_by: ['day', 'label:a b'] }),
    'invalid_request',
    /\/group_by has "label:a b", which must have a name/,
  )
  check(
    await client.refusal('CatalogService/ListProducts', { category: 'text-to-nothing' }),
    'invalid_request',
    /\/category/,
  )
  check(await client.refusal('GenerationService/ListJobs', { status: 99 }), 'invalid_request', /\/status/)
})

test('an input that breaks the schema is refused with every violation', async () => {
  const error = check(
    await client.refusal('QuotesService/CreateQuote', { model, input: toStruct({ prompt: '', width: 1, odd: true }) }),
    'invalid_input',
    /schema/,
  )
  expect(error.detail.violations.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
    '/input/odd',
    '/input/prompt',
    '/input/width',
  ])
})

test('an idempotency key that is missing or not legal is refused', async () => {
  check(await start({ idempotency_key: '' }), 'idempotency_key_required', /Idempotency-Key/)
  for (const illegal of ['two words', 'ümlaut', 'x'.repeat(256), '""'])
    check(await start({ idempotency_key: illegal }), 'idempotency_key_invalid', /255/)
})

test('a call without a valid key is refused', async () => {
  const expired = await app.createKey(app.account.accountId, ['wallet:read'], Date.now() + 300)
  check(await client.refusal('WalletService/GetWallet', {}, { key: null }), 'authentication_required', /Authorization/)
  check(
    await client.refusal('WalletService/GetWallet', {}, { key: null, metadata: { authorization: 'Basic dTpw' } }),
    'authentication_required',
    /Bearer/,
  )
  check(
    await client.refusal('WalletService/GetWallet', {}, { key: `mgk_${'x'.repeat(43)}` }),
    'invalid_api_key',
    /unknown/,
  )
  await expect
    .poll(() =>
      client.call('WalletService/GetWallet', {}, { key: expired }).catch((error: ForeignError) => error.detail.code),
    )
    .toBe('invalid_api_key')
})

test('a key that lacks the permission is told which', async () => {
  const error = check(await client.refusal('AdminService/ListAccounts', {}), 'missing_permission', /admin/)
  expect(error.detail.permission).toBe('admin')
})

test('what does not exist is not found, each by its own name', async () => {
  check(await client.refusal('CatalogService/GetModel', { model: 'no/such' }), 'model_not_found', /no\/such/)
  check(await client.refusal('QuotesService/CreateQuote', { model: 'no/such', input }), 'model_not_found', /no\/such/)
  check(await client.refusal('GenerationService/GetJob', { job_id: 'job_none' }), 'job_not_found', /job_none/)
  check(await client.refusal('GenerationService/CancelJob', { job_id: 'job_none' }), 'job_not_found', /job_none/)
  check(await client.refusal('GenerationService/WatchJob', { job_id: 'job_none' }), 'job_not_found', /job_none/)
  check(
    await client.refusal('AdminService/ResolveJob', { job_id: 'job_none' }, { key: adminKey }),
    'job_not_found',
    /job_none/,
  )
  check(
    await client.refusal('AdminService/GrantCredits', { account_id: 'acct_none', credits: 1 }, { key: adminKey }),
    'account_not_found',
    /acct_none/,
  )
  check(
    await client.refusal('AdminService/RevokeKey', { key_id: 'key_none' }, { key: adminKey }),
    'key_not_found',
    /key_none/,
  )
  for (const rpc of ['GetWebhook', 'DeleteWebhook', 'ListDeliveries'])
    check(await client.refusal(`WebhooksService/${rpc}`, { webhook_id: 'wh_none' }), 'webhook_not_found', /wh_none/)
  check(
    await client.refusal('AdminService/Redeliver', { delivery_id: 'dlv_none' }, { key: adminKey }),
    'delivery_not_found',
    /dlv_none/,
  )
  check(
    await client.refusal('AdminService/RevokeSession', { session_id: 'sess_none' }, { key: adminKey }),
    'session_not_found',
    /sess_none/,
  )
})

test('an account has ten webhook endpoints at the most', async () => {
  const { key } = await app.createAccount(0)
  const url = 'https://example.com/'
  for (let i = 0; i < 10; i++) await client.call('WebhooksService/CreateWebhook', { url }, { key })
  check(await client.refusal('WebhooksService/CreateWebhook', { url }, { key }), 'too_many_webhooks', /10/)
})

test('a quote that is forged, altered or of another account is not found', async () => {
  const other = await app.createAccount(10)
  const mine = await quote()
  for (const quote_id of [
    'quote_forged',
    `${mine.slice(0, -1)}${mine.endsWith('A') ? 'B' : 'A'}`,
    await quote(input, other.key),
  ]) {
    check(await client.refusal('QuotesService/GetQuote', { quote_id }), 'quote_not_found', /quote/)
    check(await start({ quote_id }), 'quote_not_found', /quote/)
  }
})

test('a quote for another model or input is refused and says which', async () => {
  check(await start({ model: 'test/instant/edit' }), 'quote_mismatch', /model/)
  check(await start({ input: toStruct({ prompt: 'y' }) }), 'quote_mismatch', /input/)
})

test('an expired quote is refused', async () => {
  const request = { model, input, quote_id: await quote(), idempotency_key: 'late' }
  clock.aheadMs = 601_000
  const refused = await client.refusal('GenerationService/StartGeneration', request)
  clock.aheadMs = 0
  check(refused, 'quote_expired', /expired at \d{4}-/)
})

test('an idempotency key that started something else is refused', async () => {
  const quote_id = await quote()
  await client.call('GenerationService/StartGeneration', { model, input, quote_id, idempotency_key: 'taken' })
  check(await start({ idempotency_key: 'taken' }), 'idempotency_key_reused', /taken/)
})

test('a start beyond the balance names the required and the available credits', async () => {
  const poor = await app.createAccount(2)
  const quote_id = await quote(input, poor.key)
  const error = check(
    await client.refusal(
      'GenerationService/StartGeneration',
      { model, input, quote_id, idempotency_key: 'k' },
      { key: poor.key },
    ),
    'insufficient_credits',
    /3 credits.*2 are available/,
  )
  expect(error.detail).toMatchObject({ required: '3', available: '2' })

  const { key } = await app.createAccount(1)
  const start = { model, input, quote_id: await quote(input, key), idempotency_key: 'k' }
  check(
    await client.refusal('GenerationService/StartGeneration', start, { key }),
    'insufficient_credits',
    /needs 3 credits and 1 is available/,
  )
})

test('a run above its maximum names the price', async () => {
  const request = { model, input, max_credits: '2', idempotency_key: 'run' }
  const refused = await client.refusal('GenerationService/Run', request)
  const error = check(refused, 'price_above_maximum', /costs 3 credits.* at most 2 \(max_credits\)/)
  expect(error.detail.required).toBe('3')
})

test('limits of a key say what they are', async () => {
  const limits = { per_start: 2, models: ['x'], origins: ['https://a.example'] }
  const order = { account_id: app.account.accountId, permissions: ['PERMISSION_GENERATE'], limits }
  const { key: made, secret: key } = await client.call('AdminService/CreateKey', order, { key: adminKey })
  const ask = (metadata = {}) => client.refusal('QuotesService/CreateQuote', { model, input }, { key, metadata })
  check(await ask({ origin: 'https://b.example' }), 'origin_not_allowed', /only be used by https:\/\/a\.example/)
  check(await ask(), 'model_not_allowed', /only x/)
  const change = { key_id: made.key_id, limits: {}, update_mask: { paths: ['models'] } }
  await client.call('AdminService/ChangeKeyLimits', change, { key: adminKey })
  const start = { model, input, quote_id: await quote(input, key), idempotency_key: 'limited' }
  const refused = await client.refusal('GenerationService/StartGeneration', start, { key })
  const error = check(refused, 'budget_exceeded', /needs 3 credits, and the limit for one start of this API key is 2/)
  expect(error.detail.budget).toMatchObject({ limit: 'per_start', credits: '2' })
})

test('a queue that is full says so and when to come again', async () => {
  const busy = await app.createAccount(100)
  const quote_id = await quote(input, busy.key)
  const begin = (idempotency_key: string) =>
    client.call('GenerationService/StartGeneration', { model, input, quote_id, idempotency_key }, { key: busy.key })
  for (const name of ['1', '2', '3', '4']) await begin(name)
  const error = check(
    await begin('5').then(
      () => Promise.reject(new Error('a fifth was queued')),
      (refused: ForeignError) => refused,
    ),
    'too_many_jobs',
    /4 queued/,
  )
  expect(error.detail.retry_after_seconds).toBeGreaterThan(0)
})

test('a model whose engine is not ready is unavailable', async () => {
  const error = check(
    await client.refusal('QuotesService/CreateQuote', { model: 'test/unready/video-to-video', input }),
    'model_unavailable',
    /not ready/,
  )
  expect(error.detail.retry_after_seconds).toBeGreaterThan(0)
})

test('a model that has ended is refused, with its successor', async () => {
  const quote = { model: 'test/ended/text-to-image', input }
  const error = check(await client.refusal('QuotesService/CreateQuote', quote), 'model_ended', /ended on 2026-01-31/)
  expect(error.detail.replaced_by).toBe(model)
})

test('a job that is not under review cannot be resolved', async () => {
  const { jobs } = await client.call('GenerationService/ListJobs', { limit: 1 })
  check(
    await client.refusal('AdminService/ResolveJob', { job_id: jobs[0].job_id }, { key: adminKey }),
    'job_not_in_review',
    /queued/,
  )
})

test('an account that is frozen starts nothing, and one that is closed stays as it is', async () => {
  const { accountId: account_id, key } = await app.createAccount(10)
  await client.call('AdminService/FreezeAccount', { account_id, reason: 'unpaid' }, { key: adminKey })
  const run = { model, input, max_credits: 10, idempotency_key: 'frozen' }
  check(await client.refusal('GenerationService/Run', run, { key }), 'account_frozen', /: unpaid\. It starts nothing/)
  await client.call('AdminService/CloseAccount', { account_id, reason: 'gone' }, { key: adminKey })
  const rename = { account_id, name: 'x' }
  check(
    await client.refusal('AdminService/RenameAccount', rename, { key: adminKey }),
    'account_closed',
    /stays as it is/,
  )
})

test('a reference of a grant is for no other one', async () => {
  const { accountId: account_id } = await app.createAccount(0)
  const grant = { account_id, credits: 1, reference: 'pay_1' }
  await client.call('AdminService/GrantCredits', grant, { key: adminKey })
  check(
    await client.refusal('AdminService/GrantCredits', { ...grant, credits: 2 }, { key: adminKey }),
    'reference_reused',
    /grant of 1 credit /,
  )
})

test('a caller that asks too often learns when to try again', async () => {
  await using limited = await startTestApp({ MEDIAGEN_RATE_LIMIT: '3' })
  using limitedClient = await openForeignClient(limited.app.grpcUrl, limited.account.key)
  const calls = await Promise.allSettled(
    Array.from({ length: 10 }, () => limitedClient.call('WalletService/GetWallet', {})),
  )
  const refused = calls.filter((call) => call.status === 'rejected').map((call) => call.reason as ForeignError)
  expect(refused.length).toBeGreaterThanOrEqual(6)
  const [error] = refused
  check(error as ForeignError, 'rate_limited', /3 requests per second/)
  expect(error?.detail.retry_after_seconds).toBeGreaterThan(0)
})

test.each([
  ['a bug is answered as internal', null, 'internal', /its log/i],
  ['a change that may have been made says so', 'DATABASE_DOUBT', 'storage_unavailable', /may have made it.*look/],
  ['a read-only disk is answered as storage_unavailable', 'SQLITE_READONLY', 'storage_unavailable', /database.*later/],
])('%s, without its cause', async (_title, sqliteCode, code, message) => {
  clock.error = Object.assign(new Error('the secret cause'), sqliteCode && { code: sqliteCode })
  const refused = await client.refusal('WalletService/GetWallet', {})
  clock.error = null
  const error = check(refused, code, message)
  expect(error.message).not.toContain('secret')
  expect(JSON.stringify(error.detail)).not.toContain('secret')
  if (sqliteCode) expect(error.detail.retry_after_seconds).toBeGreaterThan(0)
})

test('an overloaded server refuses some calls', async () => {
  const slowClock = createSlowClock(15)
  const settings = { MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_QUEUE_MS: '20' }
  await using behind = await startTestApp(settings, { clock: slowClock })
  using behindClient = await openForeignClient(behind.app.grpcUrl, behind.account.key)
  await behindClient.call('WalletService/GetWallet', {})
  slowClock.slow = true
  const calls = await Promise.allSettled(
    Array.from({ length: 40 }, () => behindClient.call('WalletService/GetWallet', {})),
  )
  const refused = calls.find((call) => call.status === 'rejected')
  const error = check(refused?.reason as ForeignError, 'overloaded', /Nothing was held/)
  expect(error.detail.retry_after_seconds).toBeGreaterThan(0)
})

test('a server that stops ends its watches and starts nothing, and says so', async () => {
  const stopping = await startTestApp({ MEDIAGEN_STOP_GRACE_SECONDS: '20' })
  using stoppingClient = await openForeignClient(stopping.app.grpcUrl, stopping.account.key)
  const gate = stopping.gate()
  const { job_id } = (await stopping.generate('test/gate/text-to-image', gate.input, { wait: false })).body
  const watch = stoppingClient.stream('GenerationService/WatchJob', { job_id })
  const running = new Promise<void>((resolve) =>
    watch.on('data', ({ job }) => job.status === 'JOB_STATUS_RUNNING' && resolve()),
  )
  const ended = once(watch, 'end').catch((error: unknown) => stoppingClient.toForeignError(error))
  await running
  const { quote } = await stoppingClient.call('QuotesService/CreateQuote', { model, input })
  const stopped = stopping[Symbol.asyncDispose]()
  check((await ended) as ForeignError, 'shutting_down', /stopping/)
  check(
    await stoppingClient.refusal('GenerationService/StartGeneration', {
      model,
      input,
      quote_id: quote.quote_id,
      idempotency_key: 'k',
    }),
    'shutting_down',
    /Nothing was held/,
  )
  gate.open()
  await stopped
})

test('every code of the table was produced', () => {
  expect([...produced].toSorted()).toEqual(Object.keys(table).toSorted())
})

// Every row of the error table is reached over HTTP: status, code, headers and body.
// P126, P127, P134, P136, P137, P139, P140, P141, P143, P144, P145, P146, P147, P148, P149, P150, P151, P152, P155, P157, P159,
// P160, P161, P166, P167, P168, P169, P170, P172, P173, P246, P316.
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { Permission as PermissionCode } from '../../gen/mediagen/v1/options_pb.ts'
import type { ErrorCode } from '../../src/core/errors.ts'
import { problemKinds } from '../../src/gateway/problems/problem-kinds.ts'
import { createSlowClock } from '../slow-clock.ts'
import { startTestApp, type TestAccount, type TestAnswer } from '../test-app.ts'
import { expectProblem } from './problem.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const logged: string[] = []
const log = pino({ level: 'error' }, { write: (line) => void logged.push(line) })
/** While it is set, whoever asks for the time gets this error. */
let broken: Error | null = null

/** Asks for something while the time cannot be had. */
async function askWhileBroken(error: Error): Promise<TestAnswer> {
  broken = error
  try {
    return await app.send('/v1/wallet')
  } finally {
    broken = null
  }
}
const app = await startTestApp(
  { MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_QUEUED_JOBS: '1', MEDIAGEN_MAX_BODY_BYTES: '4096' },
  {
    log,
    clock: {
      nowMs() {
        if (broken) throw broken
        return clock.ms
      },
    },
  },
)
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }

async function start(
  change: object = {},
  headers: Record<string, string> = { 'idempotency-key': crypto.randomUUID() },
) {
  const payer = await app.createAccount(100)
  const { quote_id } = await app.quote(model, input, payer)
  const send = () => app.send('/v1/generate', { key: payer.key, headers, body: { model, input, quote_id, ...change } })
  return { payer, quote_id, send }
}

interface Row {
  readonly status: number
  readonly retryable?: true
  readonly produce: () => Promise<TestAnswer>
  /** Headers that the answer has, beside those of every problem. */
  readonly headers?: Readonly<Record<string, RegExp>>
  /** Members of the body, beside those of every problem. */
  readonly members?: object
}

/** Asks with a new key that has these limits. */
async function withLimits(
  limits: { perStart?: bigint; models?: string[]; origins?: string[] },
  ask: (account: TestAccount) => Promise<TestAnswer>,
): Promise<TestAnswer> {
  const { accountId } = app.account
  const { secret } = await app.admin.createKey({ accountId, permissions: [PermissionCode.GENERATE], limits })
  return ask({ accountId, key: secret })
}

const rows = {
  invalid_request: {
    status: 400,
    produce: () => app.send('/v1/quotes', { body: { model } }),
    members: { errors: [{ pointer: '/input', detail: 'is required' }] },
  },
  unsupported_media_type: {
    status: 415,
    produce: () => app.send('/v1/quotes', { headers: { 'content-type': 'text/plain' }, body: '{}' }),
  },
  invalid_input: {
    status: 400,
    produce: () => app.send('/v1/quotes', { body: { model, input: { prompt: 'x', width: 1 } } }),
    members: { errors: [{ pointer: '/input/width', detail: 'must be at least 64' }] },
  },
  idempotency_key_required: { status: 400, produce: async () => (await start({}, {})).send() },
  idempotency_key_invalid: {
    status: 400,
    produce: async () => (await start({}, { 'idempotency-key': 'a b' })).send(),
  },
  authentication_required: {
    status: 401,
    produce: () => app.send('/v1/wallet', { key: null }),
    headers: { 'www-authenticate': /^Bearer realm="[^"]+"$/ },
  },
  invalid_api_key: {
    status: 401,
    produce: () => app.send('/v1/wallet', { key: `mgk_${'0'.repeat(43)}` }),
    headers: { 'www-authenticate': /^Bearer realm="[^"]+", error="invalid_token", error_description="[^"]+"$/ },
  },
  insufficient_credits: {
    status: 402,
    produce: async () => app.generate(model, input, { account: await app.createAccount(1), wait: false }),
    members: { required: 3, available: 1 },
  },
  price_above_maximum: {
    status: 402,
    produce: () =>
      app.send('/v1/run', { headers: { 'idempotency-key': 'run' }, body: { model, input, max_credits: 2 } }),
    members: { required: 3 },
  },
  max_credits_required: {
    status: 402,
    produce: () => app.send('/v1/images/generations', { body: { model, prompt: 'x' } }),
  },
  budget_exceeded: {
    status: 402,
    produce: () => withLimits({ perStart: 2n }, (account) => app.generate(model, input, { account, wait: false })),
    members: { required: 3, budget: { of: 'key', limit: 'per_start', credits: 2, left: 2 } },
  },
  account_frozen: {
    status: 403,
    async produce() {
      const { payer, send } = await start()
      await app.admin.freezeAccount({ accountId: payer.accountId, reason: 'unpaid' })
      return send()
    },
  },
  model_not_allowed: {
    status: 403,
    produce: () => withLimits({ models: ['x'] }, ({ key }) => app.send('/v1/quotes', { key, body: { model, input } })),
  },
  origin_not_allowed: {
    status: 403,
    produce: () =>
      withLimits({ origins: ['https://a.example'] }, ({ key }) =>
        app.send('/v1/key', { key, headers: { origin: 'https://b.example' } }),
      ),
  },
  missing_permission: {
    status: 403,
    produce: async () =>
      app.send('/v1/wallet', { key: await app.createKey(app.account.accountId, ['models:read', 'generate']) }),
    headers: { 'www-authenticate': /^Bearer realm="[^"]+", error="insufficient_scope", .*scope="wallet:read"$/ },
    members: { permission: 'wallet:read', detail: expect.stringContaining('wallet:read') },
  },
  route_not_found: { status: 404, produce: () => app.send('/v1/nothing') },
  model_not_found: { status: 404, produce: () => app.send('/v1/models/test/none') },
  job_not_found: { status: 404, produce: () => app.send('/v1/jobs/job_none') },
  quote_not_found: { status: 404, produce: async () => (await start({ quote_id: 'quote_none' })).send() },
  webhook_not_found: { status: 404, produce: () => app.send('/v1/webhooks/wh_none') },
  method_not_allowed: {
    status: 405,
    produce: () => app.send('/v1/quotes'),
    headers: { allow: /^POST$/ },
  },
  quote_expired: {
    status: 409,
    produce: async () => {
      const { send } = await start()
      clock.ms += 600_001
      return send()
    },
  },
  quote_mismatch: { status: 409, produce: async () => (await start({ input: { prompt: 'y' } })).send() },
  idempotency_key_reused: {
    status: 409,
    produce: async () => {
      const { send, payer, quote_id } = await start({}, { 'idempotency-key': 'once' })
      await send()
      const body = { model, input: { prompt: 'y' }, quote_id }
      return app.send('/v1/generate', { key: payer.key, headers: { 'idempotency-key': 'once' }, body })
    },
  },
  payload_too_large: {
    status: 413,
    produce: () => app.send('/v1/quotes', { body: { model, input: { prompt: 'x'.repeat(5000) } } }),
  },
  too_many_jobs: {
    status: 429,
    retryable: true,
    produce: async () => {
      const { payer, send } = await start()
      await send()
      return app.generate(model, input, { account: payer, wait: false })
    },
    headers: { 'retry-after': /^[1-9]\d*$/ },
  },
  rate_limited: {
    status: 429,
    retryable: true,
    produce: async () => {
      await using slow = await startTestApp({ MEDIAGEN_RATE_LIMIT: '1', MEDIAGEN_PUBLIC_URL: app.url })
      const answers = await Promise.all(Array.from({ length: 10 }, () => slow.send('/v1/wallet')))
      return answers.find((answer) => answer.status !== 200) as TestAnswer
    },
    headers: { 'retry-after': /^[1-9]\d*$/ },
  },
  internal: {
    status: 500,
    retryable: true,
    produce: () => askWhileBroken(new Error('the secret of the house')),
  },
  model_unavailable: {
    status: 503,
    retryable: true,
    produce: () => app.send('/v1/quotes', { body: { model: 'test/unready/video-to-video', input } }),
    headers: { 'retry-after': /^[1-9]\d*$/ },
  },
  model_ended: {
    status: 410,
    produce: () => app.send('/v1/quotes', { body: { model: 'test/ended/text-to-image', input } }),
  },
  overloaded: {
    status: 503,
    retryable: true,
    produce: async () => {
      const slow = createSlowClock(15)
      await using behind = await startTestApp(
        { MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_QUEUE_MS: '20', MEDIAGEN_PUBLIC_URL: app.url },
        { clock: slow },
      )
      const ask = () => Promise.all(Array.from({ length: 40 }, () => behind.send('/v1/wallet')))
      // Connections are open when the server falls behind.
      await ask()
      slow.slow = true
      const answers = await ask()
      return answers.find((answer) => answer.status !== 200) as TestAnswer
    },
    headers: { 'retry-after': /^[1-9]\d*$/ },
  },
  storage_unavailable: {
    status: 503,
    retryable: true,
    produce: () => askWhileBroken(Object.assign(new Error('the secret of the disk'), { code: 'SQLITE_FULL' })),
    headers: { 'retry-after': /^[1-9]\d*$/ },
  },
} as const satisfies Partial<Record<ErrorCode, Row>>

test.each(Object.entries<Row>(rows))(
  '%s',
  async (code, { status, retryable = false, produce, headers = {}, members }) => {
    const answer = await produce()
    expect(answer.status).toBe(status)
    expect(answer.body.retryable).toBe(retryable)
    expectProblem(answer, app.url, code as ErrorCode)
    if (members) expect(answer.body).toMatchObject(members)
    for (const [name, pattern] of Object.entries(headers)) expect(answer.headers.get(name)).toMatch(pattern)
    for (const name of ['www-authenticate', 'retry-after', 'allow']) {
      if (!(name in headers)) expect([name, answer.headers.get(name)]).toEqual([name, null])
    }
    expect('errors' in answer.body).toBe(members !== undefined && 'errors' in members)
  },
)

test('every code of the table is reached by a test', () => {
  // shutting_down is in shutdown.test.ts, asset_not_found in assets.test.ts, too_many_webhooks in webhooks.test.ts,
  // what is of uploads in files.test.ts, job_not_ended in deletion.test.ts, generation_… in ../openai/images.test.ts,
  // sign_in_… in ../sign-in/sign-in.test.ts;
  // the others are of AdminService, not of REST.
  const elsewhere = [
    'shutting_down',
    'asset_not_found',
    'too_many_webhooks',
    'invalid_media',
    'file_not_found',
    'too_many_uploads',
    'request_timeout',
    'account_not_found',
    'key_not_found',
    'delivery_not_found',
    'session_not_found',
    'sign_in_refused',
    'sign_in_unavailable',
    'job_not_ended',
    'generation_failed',
    'generation_unfinished',
    'account_closed',
    'job_not_in_review',
    'reference_reused',
  ]
  expect(Object.keys(problemKinds).toSorted()).toEqual([...Object.keys(rows), ...elsewhere].toSorted())
})

test.each(['internal', 'storage_unavailable'] as const)(
  '%s is logged with its cause under the request id, and its cause is never shown',
  async (code) => {
    const answer = await rows[code].produce()
    expect(JSON.stringify(answer.body)).not.toContain('secret')
    const lines = logged.filter((line) => line.includes(answer.body.request_id))
    expect(lines.some((line) => line.includes('the secret of the'))).toBe(true)
  },
)

test('the type of a problem begins with the public address of the server', async () => {
  await using app = await startTestApp({ MEDIAGEN_PUBLIC_URL: 'https://media.example/' })
  const { body } = await app.send('/v1/nothing')
  expect(body.type).toBe('https://media.example/problems/route_not_found')
})

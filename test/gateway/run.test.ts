// POST /v1/run: a quote and its start in one call, up to a maximum price (P240, P241, P242, P243, P244, P247).
import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount, type TestAnswer } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const app = await startTestApp()
const idle = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => Promise.all([app[Symbol.asyncDispose](), idle[Symbol.asyncDispose]()]))

const model = 'test/nothing/text-to-image'
const good = { model, input: { prompt: 'x' }, max_credits: 3 }

interface Run {
  readonly server?: typeof app
  readonly payer?: TestAccount
  /** Null for no header. */
  readonly idempotencyKey?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  readonly path?: string
}

function run({ server = app, payer = server.account, idempotencyKey, headers, body = good, path = '' }: Run = {}) {
  const key = idempotencyKey === undefined ? crypto.randomUUID() : idempotencyKey
  return server.send(`/v1/run${path}`, {
    key: payer.key,
    headers: { ...(key !== null && { 'idempotency-key': key }), ...headers },
    body,
  })
}

const walletOf = async ({ key }: TestAccount, server = app) => (await server.send('/v1/wallet', { key })).body
const countJobs = async ({ key }: TestAccount, server = app) => (await server.send('/v1/jobs', { key })).body.total

test('a run answers at once with its job, which has a quote like any other', async () => {
  const { status, headers, body } = await run({ server: idle })
  expect(status).toBe(202)
  expect(headers.get('location')).toBe(`/v1/jobs/${body.job_id}`)
  expect([headers.get('retry-after'), headers.get('idempotent-replayed')]).toEqual(['1', null])
  expect(body).toMatchObject({
    status: 'queued',
    model,
    credits: 3,
    input: good.input,
    billing: { quoted: 3, held: 3 },
  })
  expect((await idle.send(`/v1/jobs/${body.job_id}`)).body).toEqual({ ...body, reproduction: expect.anything() })
  const start = { model, input: good.input, quote_id: body.quote_id }
  const started = await idle.send('/v1/generate', { headers: { 'idempotency-key': crypto.randomUUID() }, body: start })
  expect([started.status, started.body.credits]).toEqual([202, 3])
})

test('with wait=true it answers with the end of the job', async () => {
  const payer = await app.createAccount(10)
  const { status, body } = await run({ payer, path: '?wait=true' })
  expect([status, body.status, body.billing.charged]).toEqual([200, 'succeeded', 3])
  expect(await walletOf(payer)).toEqual({ available: 7, held: 0 })
})

test('what is used is charged, up to the price', async () => {
  const payer = await app.createAccount(100)
  const body = { model: 'test/usage/text-to-image', input: { seconds: 10, used: 2.5 }, max_credits: 20 }
  const ended = await run({ payer, body, path: '?wait=true' })
  expect(ended.body).toMatchObject({ status: 'succeeded', billing: { quoted: 20, held: 20, charged: 6, released: 14 } })
  expect(await walletOf(payer)).toEqual({ available: 94, held: 0 })
})

test('a price above the maximum is refused with the price; nothing is held, and the key is free', async () => {
  const payer = await idle.createAccount(10)
  const above = { server: idle, payer, idempotencyKey: 'k', body: { ...good, max_credits: 2 } }
  const refused = await run(above)
  expectProblem(refused, idle.url, 'price_above_maximum')
  expect(refused.body).toMatchObject({ status: 402, required: 3, retryable: false })
  expect(refused.body.detail).toMatch(/costs 3 credits.* at most 2 \(max_credits\)/)
  expect(refused.body).not.toHaveProperty('available')
  expect([await walletOf(payer, idle), await countJobs(payer, idle)]).toEqual([{ available: 10, held: 0 }, 0])
  const started = await run({ ...above, body: good })
  expect([started.status, started.headers.get('idempotent-replayed')]).toEqual([202, null])
})

test('a run whose line was cut is repeated: one job, one charge', async () => {
  const payer = await app.createAccount(10)
  const gate = app.gate()
  const body = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10 }
  const again = { payer, idempotencyKey: 'cut', body, path: '?wait=true' }
  const cut = request(`${app.url}/v1/run?wait=true`, {
    method: 'POST',
    headers: { authorization: `Bearer ${payer.key}`, 'content-type': 'application/json', 'idempotency-key': 'cut' },
  })
  cut.end(JSON.stringify(body))
  await gate.begun()
  cut.destroy()
  await once(cut, 'error')
  const waiting = run(again)
  gate.open()
  const { status, headers, body: job } = await waiting
  expect([status, job.status, headers.get('idempotent-replayed')]).toEqual([200, 'succeeded', 'true'])
  expect((await run(again)).body.job_id).toBe(job.job_id)
  expect([await walletOf(payer), await countJobs(payer)]).toEqual([{ available: 0, held: 0 }, 1])
})

test('twenty equal runs at once start one job', async () => {
  const payer = await idle.createAccount(100)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => run({ server: idle, payer, idempotencyKey: 'one' })),
  )
  expect(answers.every(({ status }) => status === 202)).toBe(true)
  expect(new Set(answers.map(({ body }) => body.job_id)).size).toBe(1)
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') !== 'true')).toHaveLength(1)
  expect([await walletOf(payer, idle), await countJobs(payer, idle)]).toEqual([{ available: 97, held: 3 }, 1])
})

describe('a key that started something else is refused, and nothing is held', () => {
  test.each<[string, Partial<Run>]>([
    ['another input', { body: { ...good, input: { prompt: 'y' } } }],
    ['another model', { body: { ...good, model: 'test/instant/edit' } }],
    ['another maximum', { body: { ...good, max_credits: 4 } }],
    ['a deadline', { headers: { 'cancel-after': '5m' } }],
    ['a priority', { headers: { 'mediagen-priority': '-1' } }],
    ['a retention', { headers: { 'retain-for': '1h' } }],
  ])('%s', async (_what, change) => {
    const payer = await idle.createAccount(100)
    const first = { server: idle, payer, idempotencyKey: 'k' }
    await run(first)
    expectProblem(await run({ ...first, ...change }), idle.url, 'idempotency_key_reused')
    expect(await walletOf(payer, idle)).toEqual({ available: 97, held: 3 })
  })

  test('a start with a quote, and a run after it', async () => {
    const payer = await idle.createAccount(100)
    const { body } = await run({ server: idle, payer, idempotencyKey: 'k' })
    const start = { model, input: good.input, quote_id: body.quote_id }
    const send = (key: string) =>
      idle.send('/v1/generate', { key: payer.key, headers: { 'idempotency-key': key }, body: start })
    expectProblem(await send('k'), idle.url, 'idempotency_key_reused')
    expect((await send('another')).status).toBe(202)
    expectProblem(await run({ server: idle, payer, idempotencyKey: 'another' }), idle.url, 'idempotency_key_reused')
    expect(await walletOf(payer, idle)).toEqual({ available: 94, held: 6 })
  })
})

test('the headers of a start are those of a run', async () => {
  const headers = { 'cancel-after': '1s', 'mediagen-priority': '-3', 'retain-for': '1h' }
  const answer = await run({ server: idle, idempotencyKey: '"quoted"', headers, path: '?wait=true' })
  expect(answer.body).toMatchObject({ status: 'expired', billing: { charged: 0, released: 3 } })
  const again = await run({ server: idle, idempotencyKey: 'quoted', headers })
  expect(again.body.job_id).toBe(answer.body.job_id)
  const long = await run({ server: idle, headers: { 'retain-for': '60d' } })
  expectProblem(long, idle.url, 'invalid_request')
  expect(long.body.detail).toMatch(/^The header Retain-For must be 1 to/)
})

test('of all that is wrong the first check in the order is told, one by one; each refusal is documented', async () => {
  const payer = await idle.createAccount(2)
  const reader = { ...payer, key: await idle.createKey(payer.accountId, ['models:read']) }
  const wrong = { model: 'test/none', input: { prompt: '' }, max_credits: 1, colour: 'red' }
  const known = { ...wrong, colour: undefined }
  const found = { ...known, model }
  const valid = { ...found, input: good.input }
  const steps: readonly Run[] = [
    { payer: { ...payer, key: `mgk_${'0'.repeat(43)}` }, body: wrong },
    { payer: reader, body: wrong },
    { body: wrong },
    { body: known, idempotencyKey: null },
    { body: known, idempotencyKey: 'not legal' },
    { body: known },
    { body: { ...known, model: 'test/unready/video-to-video' } },
    { body: found },
    { body: valid },
    { body: { ...valid, max_credits: 3 } },
  ]
  const answers: TestAnswer[] = []
  for (const step of steps) answers.push(await run({ server: idle, payer, ...step }))
  expect(answers.map(({ body }) => body.code)).toEqual([
    'invalid_api_key',
    'missing_permission',
    'invalid_request',
    'idempotency_key_required',
    'idempotency_key_invalid',
    'model_not_found',
    'model_unavailable',
    'invalid_input',
    'price_above_maximum',
    'insufficient_credits',
  ])
  const { responses } = (await idle.send('/openapi.json')).body.paths['/v1/run'].post
  for (const { status, body } of answers) expect(responses[status].description).toContain(`(\`${body.code}\`)`)
  expect([await walletOf(payer, idle), await countJobs(payer, idle)]).toEqual([{ available: 2, held: 0 }, 0])
})

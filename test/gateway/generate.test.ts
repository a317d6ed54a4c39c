// POST /v1/generate: what starts, what it costs, what is answered.
// P1, P2, P13, P15, P16, P17, P20, P57, P58, P64, P65, P108, P110, P174.
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('a generation is quoted, started, awaited and charged; its record is exactly that of the contract', async () => {
  const payer = await app.createAccount(1000)
  const { status, body } = await app.generate(model, { prompt: 'x' }, { account: payer })
  expect(status).toBe(200)
  expect(body).toStrictEqual({
    job_id: expect.stringMatching(/^job_[0-9a-z]{26}$/),
    status: 'succeeded',
    model,
    quote_id: expect.stringMatching(/^quote_/),
    progress: 1,
    credits: 3,
    billing: { quoted: 3, held: 3, charged: 3, released: 0 },
    outputs: [
      {
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/assets\/job_[0-9a-z]{26}\/0\.png\?/),
        content_type: 'image/png',
        bytes: expect.any(Number),
        width: expect.any(Number),
        height: expect.any(Number),
        duration_seconds: null,
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        expires_at: time,
        preview_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/assets\/job_[0-9a-z]{26}\/0\.preview\.webp\?/),
        blurhash: expect.any(String),
        expired: false,
        kept_until: expect.any(String),
        provenance: {
          signed: false,
          verified: null,
          issuer: null,
          generator: null,
          actions: [],
          source_type: null,
          problem: null,
        },
      },
    ],
    error: null,
    attempts: 1,
    queue_position: null,
    deleted_at: null,
    key_id: expect.stringMatching(/^key_/),
    key_name: null,
    labels: {},
    reproduction: null,
    receipt: { held: 3, charged: 3, released: 0, quote_id: body.quote_id, key_id: body.key_id },
    created_at: time,
    started_at: time,
    finished_at: time,
    preview_url: null,
    served_by: null,
    input: { prompt: 'x' },
  })
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 997, held: 0 })
})

test('without wait it returns at once: 202, where to look and when, and the credits held', async () => {
  const payer = await app.createAccount(1000)
  const gate = app.gate()
  const { status, headers, body } = await app.generate('test/gate/text-to-image', gate.input, {
    account: payer,
    wait: false,
  })
  expect(status).toBe(202)
  expect(headers.get('location')).toBe(`/v1/jobs/${body.job_id}`)
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(body).toMatchObject({
    credits: 10,
    billing: { quoted: 10, held: 10, charged: 0, released: 0 },
    outputs: [],
    finished_at: null,
    error: null,
  })
  expect(['queued', 'running']).toContain(body.status)
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 990, held: 10 })
  expect((await app.send(headers.get('location') ?? '', { key: payer.key })).body.job_id).toBe(body.job_id)
  gate.open()
})

test('a start without a quote is told to ask for one', async () => {
  const { status, body } = await app.send('/v1/generate', {
    headers: { 'idempotency-key': crypto.randomUUID() },
    body: { model, input: { prompt: 'x' } },
  })
  expect(status).toBe(400)
  expect(body.detail).toBe('/quote_id is required: ask for a quote of the same model and input first.')
})

test('wait is false by default', async () => {
  const gate = app.gate()
  const { quote_id } = await app.quote('test/gate/text-to-image', gate.input)
  const { status } = await app.send('/v1/generate', {
    headers: { 'idempotency-key': crypto.randomUUID() },
    body: { model: 'test/gate/text-to-image', input: gate.input, quote_id },
  })
  expect(status).toBe(202)
  gate.open()
})

test('an answer with a terminal record has neither Location nor Retry-After', async () => {
  const { headers } = await app.generate(model, { prompt: 'x' })
  expect([headers.get('location'), headers.get('retry-after')]).toEqual([null, null])
})

test('a generation that fails is no HTTP error, and every credit comes back', async () => {
  const payer = await app.createAccount(100)
  const { status, body } = await app.generate('test/failing/text-to-image', { prompt: 'x' }, { account: payer })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'failed',
    credits: 0,
    billing: { quoted: 7, held: 7, charged: 0, released: 7 },
    outputs: [],
    error: { code: expect.any(String), message: expect.stringContaining('the paint ran out'), retryable: false },
  })
  expect(body.progress).toBeLessThan(1)
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 100, held: 0 })
})

test('a generation that takes longer than its model may fails, and every credit comes back', async () => {
  const payer = await app.createAccount(100)
  const { body } = await app.generate('test/timeout/text-to-image', { prompt: 'x' }, { account: payer })
  expect(body).toMatchObject({ status: 'failed', billing: { charged: 0, released: 1 } })
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 100, held: 0 })
})

test.each([
  ['less than the bound', 3.2, 8, 12],
  ['exactly the bound', 10, 20, 0],
  ['more than the bound', 100, 20, 0],
  ['more credits than a number carries exactly', Number.MAX_SAFE_INTEGER, 20, 0],
  ['nothing', 0, 0, 20],
])(
  'billed by usage: what used %s is charged for what it used, at most the quote',
  async (_what, used, charged, released) => {
    const payer = await app.createAccount(100)
    const { body } = await app.generate('test/usage/text-to-image', { seconds: 10, used }, { account: payer })
    expect(body).toMatchObject({
      status: 'succeeded',
      credits: charged,
      billing: { quoted: 20, held: 20, charged, released },
    })
    expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 100 - charged, held: 0 })
  },
)

test('credits that cover the quote exactly are enough', async () => {
  const payer = await app.createAccount(3)
  expect((await app.generate(model, { prompt: 'x' }, { account: payer })).status).toBe(200)
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 0, held: 0 })
})

test('one credit too few: nothing is held, and the answer says what is required and what is available', async () => {
  const payer = await app.createAccount(2)
  const { status, body } = await app.generate(model, { prompt: 'x' }, { account: payer })
  expect(status).toBe(402)
  expect(body).toMatchObject({ code: 'insufficient_credits', required: 3, available: 2 })
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 2, held: 0 })
  expect((await app.send('/v1/jobs', { key: payer.key })).body.total).toBe(0)
})

test('parallel starts never spend more than the balance', async () => {
  const payer = await app.createAccount(10)
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => app.generate(model, { prompt: 'x' }, { account: payer })),
  )
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(3)
  expect(answers.filter((answer) => answer.status === 402)).toHaveLength(9)
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 1, held: 0 })
})

test('a client that hangs up cancels nothing', async () => {
  const gate = app.gate()
  const payer = await app.createAccount(100)
  const gateModel = 'test/gate/text-to-image'
  const { quote_id } = await app.quote(gateModel, gate.input, payer)
  const hangUp = new AbortController()
  const waiting = fetch(`${app.url}/v1/generate?wait=true`, {
    method: 'POST',
    signal: hangUp.signal,
    headers: {
      authorization: `Bearer ${payer.key}`,
      'content-type': 'application/json',
      'idempotency-key': 'hang-up',
    },
    body: JSON.stringify({ model: gateModel, input: gate.input, quote_id }),
  })
  const job = await app.send('/v1/generate', {
    key: payer.key,
    headers: { 'idempotency-key': 'hang-up' },
    body: { model: gateModel, input: gate.input, quote_id },
  })
  hangUp.abort()
  await expect(waiting).rejects.toThrow()
  gate.open()
  const replay = await app.send('/v1/generate?wait=true', {
    key: payer.key,
    headers: { 'idempotency-key': 'hang-up' },
    body: { model: gateModel, input: gate.input, quote_id },
  })
  expect(replay.body).toMatchObject({ job_id: job.body.job_id, status: 'succeeded' })
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 90, held: 0 })
})

test('starting needs the permission generate and no other', async () => {
  const { accountId } = app.account
  const key = await app.createKey(accountId, ['generate'])
  expect((await app.generate(model, { prompt: 'x' }, { account: { accountId, key } })).status).toBe(200)
})

test('queued jobs are limited per account; the refusal says when to try again', async () => {
  await using small = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_QUEUED_JOBS: '2' })
  const start = () => small.generate(model, { prompt: 'x' }, { wait: false })
  expect((await start()).status).toBe(202)
  const second = await start()
  expect(second.status).toBe(202)
  const third = await start()
  expect([third.status, third.body.code]).toEqual([429, 'too_many_jobs'])
  expect(third.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect((await small.send('/v1/wallet')).body).toEqual({ available: 994, held: 6 })
  const other = await small.createAccount(100)
  expect((await small.generate(model, { prompt: 'x' }, { wait: false, account: other })).status).toBe(202)
  await small.send(`/v1/jobs/${second.body.job_id}/cancel`, { method: 'POST' })
  expect((await start()).status).toBe(202)
})

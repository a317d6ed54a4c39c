// StartGeneration and Run over gRPC: idempotency, waiting, what a refusal leaves behind (P93, P95, P98, P240, P241, P242, P243, P244).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, openForeignClient, toStruct } from './foreign-client.ts'

const model = 'test/instant/text-to-image'
const input = toStruct({ prompt: 'x' })

const clock = { aheadMs: 0, nowMs: () => Date.now() + clock.aheadMs }
let working: TestApp
/** A server on which jobs stay in the queue. */
let idle: TestApp

beforeAll(async () => {
  working = await startTestApp({}, { clock })
  idle = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_WAIT_SECONDS: '1' })
})

afterAll(async () => {
  await working[Symbol.asyncDispose]()
  await idle[Symbol.asyncDispose]()
})

/** A client of a new account. */
const open = async (app: TestApp) => openForeignClient(app.app.grpcUrl, (await app.createAccount(1000)).key)
const quote = async (client: ForeignClient, quotedModel = model, quoted = input): Promise<string> =>
  (await client.call('QuotesService/CreateQuote', { model: quotedModel, input: quoted })).quote.quote_id

test('40 concurrent starts with one key make one job and one hold', async () => {
  using client = await open(idle)
  const request = { model, input, quote_id: await quote(client), idempotency_key: 'one' }
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => client.call('GenerationService/StartGeneration', request)),
  )
  expect(new Set(answers.map(({ job }) => job.job_id)).size).toBe(1)
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
  expect(await client.call('WalletService/GetWallet', {})).toEqual({ available: '997', held: '3' })
  expect((await client.call('GenerationService/ListJobs', {})).total).toBe(1)
})

test('the same key answers with the job as it is now, also after the quote expired', async () => {
  using client = await open(working)
  const request = { model, input, quote_id: await quote(client), idempotency_key: '"quoted"' }
  const first = await client.call('GenerationService/StartGeneration', { ...request, wait: true })
  clock.aheadMs = 700_000
  const again = await client.call('GenerationService/StartGeneration', { ...request, idempotency_key: 'quoted' })
  clock.aheadMs = 0
  expect(again).toMatchObject({
    replayed: true,
    job: { job_id: first.job.job_id, status: 'JOB_STATUS_SUCCEEDED', billing: first.job.billing },
  })
})

test('an input that is equal in canonical JSON is the same input', async () => {
  using client = await open(working)
  const quote_id = await quote(client, model, toStruct({ prompt: 'x', width: 640, nested: { a: 1, b: [2] } }))
  const { job } = await client.call('GenerationService/StartGeneration', {
    model,
    input: toStruct({ nested: { b: [2], a: 1 }, width: 640, prompt: 'x' }),
    quote_id,
    idempotency_key: 'k',
    wait: true,
  })
  expect(job.status).toBe('JOB_STATUS_SUCCEEDED')
})

test('a start that was refused leaves its key free', async () => {
  using client = await open(idle)
  const request = { model, input, quote_id: await quote(client), idempotency_key: 'free' }
  expect(
    (await client.refusal('GenerationService/StartGeneration', { ...request, input: toStruct({ prompt: 'other' }) }))
      .detail.code,
  ).toBe('quote_mismatch')
  expect((await client.call('GenerationService/StartGeneration', request)).replayed).toBe(false)
})

test('one quote serves any number of generations until it expires', async () => {
  using client = await open(idle)
  const quote_id = await quote(client)
  const ids = await Promise.all(
    ['1', '2', '3'].map(
      async (idempotency_key) =>
        (await client.call('GenerationService/StartGeneration', { model, input, quote_id, idempotency_key })).job
          .job_id,
    ),
  )
  expect(new Set(ids).size).toBe(3)
})

/** A start of a job whose gate is shut. */
async function prepareGated(client: ForeignClient) {
  const gate = working.gate()
  const gateModel = 'test/gate/text-to-image'
  const input = toStruct(gate.input)
  const quote_id = await quote(client, gateModel, input)
  return { gate, request: { model: gateModel, input, quote_id, idempotency_key: 'k' } }
}

test('without wait the answer comes at once; with wait it comes with the end of the job', async () => {
  using client = await open(working)
  const { gate, request } = await prepareGated(client)
  const { job } = await client.call('GenerationService/StartGeneration', request)
  expect(['JOB_STATUS_QUEUED', 'JOB_STATUS_RUNNING']).toContain(job.status)
  const waiting = client.call('GenerationService/StartGeneration', { ...request, wait: true })
  gate.open()
  expect(await waiting).toMatchObject({ replayed: true, job: { job_id: job.job_id, status: 'JOB_STATUS_SUCCEEDED' } })
})

test('a wait that is over answers with the record as it is', async () => {
  using client = await open(idle)
  const begun = performance.now()
  const { job } = await client.call('GenerationService/StartGeneration', {
    model,
    input,
    quote_id: await quote(client),
    idempotency_key: 'k',
    wait: true,
  })
  expect(job.status).toBe('JOB_STATUS_QUEUED')
  expect(performance.now() - begun).toBeGreaterThan(900)
})

test('40 who wait for one job are all answered by its end', async () => {
  using client = await open(working)
  const { gate, request } = await prepareGated(client)
  const waiting = Array.from({ length: 40 }, () =>
    client.call('GenerationService/StartGeneration', { ...request, wait: true }),
  )
  await expect
    .poll(async () => (await client.call('GenerationService/ListJobs', { status: 'JOB_STATUS_RUNNING' })).total)
    .toBe(1)
  gate.open()
  const answers = await Promise.all(waiting)
  expect(new Set(answers.map(({ job }) => `${job.job_id} ${job.status}`)).size).toBe(1)
  expect(answers[0].job.status).toBe('JOB_STATUS_SUCCEEDED')
  expect(await client.call('WalletService/GetWallet', {})).toEqual({ available: '990', held: '0' })
})

test('a job, its quote and its key are of one account: others see nothing of them', async () => {
  using client = await open(idle)
  const other = await idle.createAccount(100)
  const { job } = await client.call('GenerationService/StartGeneration', {
    model,
    input,
    quote_id: await quote(client),
    idempotency_key: 'k',
  })
  const as = { key: other.key }
  expect((await client.refusal('GenerationService/GetJob', { job_id: job.job_id }, as)).status).toBe('NOT_FOUND')
  expect((await client.refusal('GenerationService/CancelJob', { job_id: job.job_id }, as)).status).toBe('NOT_FOUND')
  expect((await client.refusal('GenerationService/WatchJob', { job_id: job.job_id }, as)).status).toBe('NOT_FOUND')
  expect((await client.call('GenerationService/ListJobs', {}, as)).total).toBe(0)
  const own = (await client.call('QuotesService/CreateQuote', { model, input }, as)).quote.quote_id
  expect(
    (await client.call('GenerationService/StartGeneration', { model, input, quote_id: own, idempotency_key: 'k' }, as))
      .replayed,
  ).toBe(false)
})

describe('Run', () => {
  const run = { model, input, max_credits: '3', idempotency_key: 'k' }

  test('quotes, starts and waits in one call', async () => {
    using client = await open(working)
    const { job, replayed } = await client.call('GenerationService/Run', { ...run, wait: true })
    expect(replayed).toBe(false)
    expect(job).toMatchObject({ status: 'JOB_STATUS_SUCCEEDED', billing: { quoted: '3', charged: '3' } })
    const { quote } = await client.call('QuotesService/GetQuote', { quote_id: job.quote_id })
    expect(quote).toMatchObject({ model, credits: '3' })
    expect(await client.call('WalletService/GetWallet', {})).toEqual({ available: '997', held: '0' })
  })

  test('20 concurrent runs with one key make one job and one hold', async () => {
    using client = await open(idle)
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.call('GenerationService/Run', run)))
    expect(new Set(answers.map(({ job }) => job.job_id)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await client.call('WalletService/GetWallet', {})).toEqual({ available: '997', held: '3' })
  })

  test('a call that was canceled is repeated: one job, also after its quote expired', async () => {
    using client = await open(working)
    const { gate, request } = await prepareGated(client)
    const gated = { model: request.model, input: request.input, max_credits: '10', idempotency_key: 'k', wait: true }
    const { call, done } = client.begin('GenerationService/Run', gated)
    await gate.begun()
    call.cancel()
    await expect(done).rejects.toThrow()
    gate.open()
    const { job } = await client.call('GenerationService/Run', gated)
    expect(job.status).toBe('JOB_STATUS_SUCCEEDED')
    clock.aheadMs = 700_000
    const again = await client.call('GenerationService/Run', gated)
    clock.aheadMs = 0
    expect(again).toMatchObject({ replayed: true, job: { job_id: job.job_id, billing: { charged: '10' } } })
    expect(await client.call('WalletService/GetWallet', {})).toEqual({ available: '990', held: '0' })
  })

  test('a refusal holds nothing and leaves the key free; a key that is taken is refused', async () => {
    using client = await open(idle)
    const refusal = async (change: object) =>
      (await client.refusal('GenerationService/Run', { ...run, ...change })).detail
    expect(await refusal({ max_credits: undefined })).toMatchObject({
      code: 'invalid_request',
      violations: [{ pointer: '/max_credits' }],
    })
    expect(await refusal({ max_credits: '2' })).toMatchObject({ code: 'price_above_maximum', required: '3' })
    expect(await client.call('WalletService/GetWallet', {})).toEqual({ available: '1000', held: '0' })
    const { job, replayed } = await client.call('GenerationService/Run', run)
    expect(replayed).toBe(false)
    expect(await refusal({ max_credits: '4' })).toMatchObject({ code: 'idempotency_key_reused' })
    const start = { model, input, quote_id: job.quote_id, idempotency_key: 'k' }
    const { detail } = await client.refusal('GenerationService/StartGeneration', start)
    expect(detail.code).toBe('idempotency_key_reused')
    expect(await client.call('WalletService/GetWallet', {})).toEqual({ available: '997', held: '3' })
  })
})

describe('a job that is made again', () => {
  const labelled = async (client: ForeignClient, named: Record<string, string>) => {
    const labels = Object.entries(named).map(([key, value]) => ({ key, value }))
    const request = { model, input, quote_id: await quote(client), idempotency_key: crypto.randomUUID(), wait: true }
    return (await client.call('GenerationService/StartGeneration', { ...request, labels })).job as { job_id: string }
  }

  test('says in GetJob what it takes (P361)', async () => {
    using client = await open(working)
    const { job_id } = await labelled(client, {})
    const { job } = await client.call('GenerationService/GetJob', { job_id })
    expect(job.reproduction.engine).toBe('null')
    expect(job.reproduction.input.fields.map(({ key }: { key: string }) => key)).toEqual(['prompt', 'width'])
    expect(job.reproduction.not_guaranteed.map(({ code }: { code: string }) => code)).toContain('no_seed')
  })

  test('has its files sent, one after the other (P369)', async () => {
    using client = await open(working)
    const { job_id } = await labelled(client, {})
    const pieces = await client.readAll('GenerationService/ReadJobFiles', { job_id })
    const [first, ...chunks] = pieces
    expect(first.file).toMatchObject({ path: 'outputs/1.png' })
    const bytes = Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer))
    expect(String(bytes.length)).toBe(first.file.bytes)
    expect(bytes.toString('latin1', 1, 4)).toBe('PNG')
    using other = await open(working)
    await expect(other.readAll('GenerationService/ReadJobFiles', { job_id })).rejects.toThrow('job_not_found')
  })

  test('is listed by its labels (P370)', async () => {
    using client = await open(working)
    const { job_id } = await labelled(client, { team: 'ads:2', n: '1' })
    await labelled(client, { team: 'ads', n: '2' })
    const { jobs, total } = await client.call('GenerationService/ListJobs', { label: 'team:ads:2' })
    expect([total, jobs[0].job_id]).toEqual([1, job_id])
    for (const [label, words] of [
      ['team', 'must be a name and a value, such as team:ads'],
      [':ads', 'must have a name of 1 to 64'],
      ['team:', 'must have a value of 1 to 256 characters'],
      ['team:a\nb', 'must be one line'],
    ] as const) {
      const { status, message } = await client.refusal('GenerationService/ListJobs', { label })
      expect([status, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(`/label ${words}`)])
    }
  })
})

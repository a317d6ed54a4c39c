// /v1/jobs: reading, listing and cancelling (P25, P67, P68, P114).
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount, type TestApp } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const app = await startTestApp()
const clock = createTestClock()
const idle = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { clock })
afterAll(() => Promise.all([app[Symbol.asyncDispose](), idle[Symbol.asyncDispose]()]))

const model = 'test/instant/text-to-image'

/** Starts jobs that stay in the queue, a millisecond apart; their ids in the order of their starts. */
async function queue(server: TestApp, payer: TestAccount, models: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const name of models) {
    clock.ms += 1
    const { body } = await server.generate(name, { prompt: 'x' }, { wait: false, account: payer })
    ids.push(body.job_id)
  }
  return ids
}

function list(query: string, payer: TestAccount, server = idle) {
  return server.send(`/v1/jobs${query}`, { key: payer.key })
}

describe('GET /v1/jobs/{job_id}', () => {
  test('answers with the record that the start answered with', async () => {
    const { body } = await app.generate(model, { prompt: 'x' })
    const read = await app.send(`/v1/jobs/${body.job_id}`)
    expect([read.status, read.body]).toEqual([200, { ...body, reproduction: expect.anything() }])
  })

  test("another account's job is not found", async () => {
    const { body } = await app.generate(model, { prompt: 'x' })
    const other = await app.createAccount(0)
    const read = await app.send(`/v1/jobs/${body.job_id}`, { key: other.key })
    expect([read.status, read.body.code]).toEqual([404, 'job_not_found'])
  })

  test.each([
    ['of the right form', 'job_00000000000000000000000000'],
    ['of another form', 'nonsense'],
    ['of a prefix alone', 'job_'],
    ['of no text', '%00'],
    ['of 101 letters', 'j'.repeat(101)],
    ['of 5000 letters', 'j'.repeat(5000)],
  ])('an unknown id is not found: one %s', async (_what, id) => {
    const read = await app.send(`/v1/jobs/${id}`)
    expect([read.status, read.body.code]).toEqual([404, 'job_not_found'])
  })

  test('a queued job has not started, has no outputs and no error, and holds its credits', async () => {
    const payer = await idle.createAccount(100)
    const [id] = await queue(idle, payer, [model])
    expect((await idle.send(`/v1/jobs/${id}`, { key: payer.key })).body).toMatchObject({
      status: 'queued',
      progress: 0,
      credits: 3,
      outputs: [],
      error: null,
      attempts: 0,
      created_at: new Date(clock.ms).toISOString(),
      started_at: null,
      finished_at: null,
    })
  })
})

describe('GET /v1/jobs', () => {
  test("lists the account's own jobs, newest first", async () => {
    const [payer, other] = await Promise.all([idle.createAccount(100), idle.createAccount(100)])
    const ids = await queue(idle, payer, [model, 'test/instant/edit', model])
    await queue(idle, other, [model])
    const { status, body } = await list('', payer)
    expect(status).toBe(200)
    expect(body).toMatchObject({ object: 'list', total: 3, limit: 100, offset: 0, has_more: false })
    expect(Object.keys(body).toSorted()).toEqual(['data', 'has_more', 'limit', 'object', 'offset', 'total'])
    expect(body.data.map((job: { job_id: string }) => job.job_id)).toEqual(ids.toReversed())
    const read = await idle.send(`/v1/jobs/${ids[2]}`, { key: payer.key })
    expect(read.body).toEqual({ ...body.data[0], reproduction: expect.anything() })
  })

  test('job ids sort by time', async () => {
    const payer = await idle.createAccount(100)
    const ids = await queue(idle, payer, [model, model, model, model])
    expect(ids.toSorted()).toEqual(ids)
  })

  test('limit and offset page through the list', async () => {
    const payer = await idle.createAccount(100)
    const ids = await queue(idle, payer, [model, model, model])
    const first = await list('?limit=2', payer)
    expect(first.body).toMatchObject({ total: 3, limit: 2, offset: 0, has_more: true })
    const second = await list('?limit=2&offset=2', payer)
    expect(second.body).toMatchObject({ total: 3, limit: 2, offset: 2, has_more: false })
    const listed = [...first.body.data, ...second.body.data].map((job) => job.job_id)
    expect(listed).toEqual(ids.toReversed())
    expect((await list('?offset=3', payer)).body).toMatchObject({ data: [], total: 3, has_more: false })
  })

  test('status and model filter, together and alone', async () => {
    const payer = await idle.createAccount(100)
    const [first, second, third] = await queue(idle, payer, [model, model, 'test/instant/edit'])
    await idle.send(`/v1/jobs/${second}/cancel`, { method: 'POST', key: payer.key })
    const idsOf = async (query: string) => (await list(query, payer)).body.data.map((job: any) => job.job_id)
    expect(await idsOf('?status=queued')).toEqual([third, first])
    expect(await idsOf('?status=canceled')).toEqual([second])
    expect(await idsOf(`?model=${model}`)).toEqual([second, first])
    expect(await idsOf(`?model=${encodeURIComponent(model)}&status=queued`)).toEqual([first])
    expect(await idsOf('?status=needs_review')).toEqual([])
    expect(await idsOf('?model=test/none')).toEqual([])
  })

  test('idempotency_key finds the job of a start whose answer was lost', async () => {
    const payer = await idle.createAccount(100)
    const { body } = await idle.generate(model, { prompt: 'x' }, { wait: false, account: payer, idempotencyKey: 'k1' })
    expect((await list('?idempotency_key=k1', payer)).body.data).toEqual([body])
    expect((await list('?idempotency_key=k2', payer)).body.total).toBe(0)
    expect((await list('?idempotency_key=k1', await idle.createAccount(0))).body.total).toBe(0)
  })

  test('an unknown status names the parameter', async () => {
    const { status, body } = await list('?status=done', idle.account)
    expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'invalid_request', '?status'])
  })

  test('an idempotency_key that no start can have had names the parameter', async () => {
    const { status, body } = await list('?idempotency_key=a%20b', idle.account)
    expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'invalid_request', '?idempotency_key'])
  })
})

describe('POST /v1/jobs/{job_id}/cancel', () => {
  const cancel = (server: TestApp, id: string, payer: TestAccount) =>
    server.send(`/v1/jobs/${id}/cancel`, { method: 'POST', key: payer.key })

  test('a queued job is canceled at once and every credit comes back', async () => {
    const payer = await idle.createAccount(100)
    const [id = ''] = await queue(idle, payer, [model])
    const { status, body } = await cancel(idle, id, payer)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      job_id: id,
      status: 'canceled',
      credits: 0,
      billing: { quoted: 3, held: 3, charged: 0, released: 3 },
      error: { code: expect.any(String), message: expect.any(String), retryable: expect.any(Boolean) },
      started_at: null,
      finished_at: new Date(clock.ms).toISOString(),
    })
    expect((await idle.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 100, held: 0 })
  })

  test('a running job is stopped, and every credit comes back', async () => {
    const payer = await app.createAccount(100)
    const gateModel = 'test/gate/text-to-image'
    const { input } = app.gate()
    const options = { account: payer, idempotencyKey: 'stop', wait: false }
    const { job_id, quote_id } = (await app.generate(gateModel, input, options)).body
    const events = await fetch(`${app.url}/v1/jobs/${job_id}/events`, {
      headers: { authorization: `Bearer ${payer.key}` },
    })
    const waiting = app.send('/v1/generate?wait=true', {
      key: payer.key,
      headers: { 'idempotency-key': 'stop' },
      body: { model: gateModel, input, quote_id },
    })
    let seen = ''
    let canceled = false
    for await (const chunk of events.body ?? []) {
      seen += Buffer.from(chunk).toString()
      if (canceled || !seen.includes('"status":"running"')) continue
      canceled = true
      expect((await cancel(app, job_id, payer)).status).toBe(200)
    }
    expect((await waiting).body).toMatchObject({ job_id, status: 'canceled', billing: { charged: 0, released: 10 } })
    expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 100, held: 0 })
  })

  test('a terminal job is left as it is', async () => {
    const { body } = await app.generate(model, { prompt: 'x' })
    const { status, body: after } = await cancel(app, body.job_id, app.account)
    expect([status, after]).toEqual([200, body])
  })

  test('canceling twice is canceling once', async () => {
    const payer = await idle.createAccount(100)
    const [id = ''] = await queue(idle, payer, [model])
    const first = await cancel(idle, id, payer)
    clock.ms += 1000
    expect((await cancel(idle, id, payer)).body).toEqual(first.body)
    expect((await idle.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 100, held: 0 })
  })

  test("another account's job cannot be canceled", async () => {
    const payer = await idle.createAccount(100)
    const [id = ''] = await queue(idle, payer, [model])
    const { status, body } = await cancel(idle, id, await idle.createAccount(0))
    expect([status, body.code]).toEqual([404, 'job_not_found'])
    expect((await idle.send(`/v1/jobs/${id}`, { key: payer.key })).body.status).toBe('queued')
  })

  test.each([
    ['no body and no content type', {}],
    ['an empty object', { body: {} }],
    ['the content type of a client that always sends it', { headers: { 'content-type': 'application/json' } }],
  ])('%s will do', async (_what, request) => {
    const payer = await idle.createAccount(100)
    const [id = ''] = await queue(idle, payer, [model])
    const { status } = await idle.send(`/v1/jobs/${id}/cancel`, { method: 'POST', key: payer.key, ...request })
    expect(status).toBe(200)
  })

  test('an unknown field is refused by name', async () => {
    const payer = await idle.createAccount(100)
    const [id = ''] = await queue(idle, payer, [model])
    const { status, body } = await idle.send(`/v1/jobs/${id}/cancel`, { key: payer.key, body: { force: true } })
    expect([status, body.code, body.errors?.[0].pointer]).toEqual([400, 'invalid_request', '/force'])
  })
})

test('reading needs jobs:read, canceling needs generate', async () => {
  const payer = await idle.createAccount(100)
  const [id = ''] = await queue(idle, payer, [model])
  const reader = await idle.createKey(payer.accountId, ['jobs:read'])
  const maker = await idle.createKey(payer.accountId, ['generate'])
  for (const path of ['/v1/jobs', `/v1/jobs/${id}`]) {
    expect((await idle.send(path, { key: reader })).status).toBe(200)
    const refused = await idle.send(path, { key: maker })
    expect([refused.status, refused.body.permission]).toEqual([403, 'jobs:read'])
  }
  const refused = await idle.send(`/v1/jobs/${id}/cancel`, { method: 'POST', key: reader })
  expect([refused.status, refused.body.permission]).toEqual([403, 'generate'])
  expect((await idle.send(`/v1/jobs/${id}/cancel`, { method: 'POST', key: maker })).status).toBe(200)
})

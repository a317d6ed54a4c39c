// Cancel-After, cancels and priorities over REST (P22, P100, P101, P102, P104).
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp, testCatalog } from '../test-app.ts'

const catalog = `${testCatalog}:${join(import.meta.dirname, '../runner/models.yaml')}`
const app = await startTestApp({ MEDIAGEN_CATALOG: catalog })
const idle = await startTestApp({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_ROLES: 'api' })
afterAll(() => Promise.all([app[Symbol.asyncDispose](), idle[Symbol.asyncDispose]()]))

// A gate that nobody opens.
const never = join(app.folder, 'never')
const gate = 'test/gate/text-to-image'
const deaf = 'test/deaf/text-to-image'

async function start(server: TestApp, model: string, headers: Record<string, string>, wait = false) {
  const input = { gate: never }
  const { quote_id } = await server.quote(model, input)
  const idempotency = { 'idempotency-key': crypto.randomUUID(), ...headers }
  return server.send(`/v1/generate?wait=${wait}`, { headers: idempotency, body: { model, input, quote_id } })
}

const read = async (server: TestApp, id: string) => (await server.send(`/v1/jobs/${id}`)).body

describe('Cancel-After', () => {
  test('ends a job that runs: canceled, free, its program killed', async () => {
    const { body } = await start(app, deaf, { 'cancel-after': '1' }, true)
    expect(body).toMatchObject({
      status: 'canceled',
      error: { code: 'deadline_passed' },
      billing: { charged: 0, released: 10 },
    })
    expect(Date.parse(body.finished_at) - Date.parse(body.created_at)).toBeGreaterThanOrEqual(1000)
  })

  test('ends a job that could not begin: expired, free', async () => {
    await using busy = await startTestApp({ MEDIAGEN_CATALOG: catalog })
    // So many run here at once; the next one waits in the queue.
    const blocking = await Promise.all(Array.from({ length: 8 }, () => start(busy, gate, {})))
    const { body } = await start(busy, gate, { 'cancel-after': '1s' }, true)
    expect(body).toMatchObject({ status: 'expired', error: { code: 'expired' }, started_at: null, attempts: 0 })
    expect(body.billing).toEqual({ quoted: 10, held: 10, charged: 0, released: 10 })
    await Promise.all(blocking.map(({ body: job }) => busy.send(`/v1/jobs/${job.job_id}/cancel`, { method: 'POST' })))
  })

  test('ends a job that no worker is there for: expired, free', async () => {
    const { body } = await start(idle, gate, { 'cancel-after': '1s' }, true)
    expect(body).toMatchObject({ status: 'expired', error: { code: 'expired' }, attempts: 0 })
    expect(body.billing).toEqual({ quoted: 10, held: 10, charged: 0, released: 10 })
  })

  test.each(['60', '60s', '1m', '1h30m', '168h', ' 5m '])('takes %j', async (after) => {
    expect((await start(idle, gate, { 'cancel-after': after })).status).toBe(202)
  })

  test.each(['0', '-1', '1.5', 'soon', '', '8d', '169h', '604801', '5m 3s', '1e3'])('refuses %j', async (after) => {
    const { status, body } = await start(idle, gate, { 'cancel-after': after })
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.detail).toContain('Cancel-After')
  })

  test('is a part of the request: another one with the same key is refused, the same one is replayed', async () => {
    const input = { gate: never }
    const { quote_id } = await idle.quote(gate, input)
    const send = (headers: Record<string, string>) =>
      idle.send('/v1/generate', {
        headers: { 'idempotency-key': 'terms', ...headers },
        body: { model: gate, input, quote_id },
      })
    const first = await send({ 'cancel-after': '60' })
    const again = await send({ 'cancel-after': '1m' })
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    for (const other of [{}, { 'cancel-after': '61' }, { 'cancel-after': '60', 'mediagen-priority': '-1' }])
      expect((await send(other)).body.code).toBe('idempotency_key_reused')
  })
})

describe('a cancel', () => {
  test('ends a job whose program is deaf to it', async () => {
    const { body } = await start(app, deaf, {})
    await expect.poll(async () => (await read(app, body.job_id)).progress).toBe(0.5)
    await app.send(`/v1/jobs/${body.job_id}/cancel`, { method: 'POST' })
    await expect.poll(async () => (await read(app, body.job_id)).status, { interval: 20 }).toBe('canceled')
  })

  test('that races the end has one winner', async () => {
    const jobs = await Promise.all(
      Array.from({ length: 12 }, () => app.generate('test/nothing/text-to-image', { prompt: 'x' }, { wait: false })),
    )
    await Promise.all(jobs.map(({ body }) => app.send(`/v1/jobs/${body.job_id}/cancel`, { method: 'POST' })))
    for (const { body } of jobs) {
      await expect.poll(async () => (await read(app, body.job_id)).finished_at).not.toBeNull()
      const { status, billing } = await read(app, body.job_id)
      expect(['succeeded', 'canceled']).toContain(status)
      expect(billing).toMatchObject(status === 'succeeded' ? { charged: 3, released: 0 } : { charged: 0, released: 3 })
    }
    expect((await app.admin.verifyLedger({})).problems).toEqual([])
  })
})

describe('the position in the queue', () => {
  test('is in every record of a queued job, moves up, and is null once the job is not queued', async () => {
    const payer = await idle.createAccount(100)
    const model = 'test/patient/text-to-image'
    const made: string[] = []
    for (const position of [1, 2, 3]) {
      const { body } = await idle.generate(model, { gate: never }, { wait: false, account: payer })
      expect(body.queue_position).toBe(position)
      made.push(body.job_id)
    }
    const canceled = await idle.send(`/v1/jobs/${made[0]}/cancel`, { key: payer.key, method: 'POST' })
    expect(canceled.body.queue_position).toBeNull()
    const { body } = await idle.send('/v1/jobs', { key: payer.key })
    expect(body.data.map((job: { queue_position: unknown }) => job.queue_position)).toEqual([2, 1, null])
  })

  test('of a job with a lower priority is behind all others', async () => {
    const model = 'test/fragile/text-to-image'
    const low = await start(idle, model, { 'mediagen-priority': '-5' })
    expect(low.body.queue_position).toBe(1)
    expect((await start(idle, model, {})).body.queue_position).toBe(1)
    expect((await read(idle, low.body.job_id)).queue_position).toBe(2)
  })

  test.each(['1', '-11', '0.5', 'high', ''])('a priority of %j is refused', async (priority) => {
    const { status, body } = await start(idle, gate, { 'mediagen-priority': priority })
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.detail).toContain('Mediagen-Priority')
  })
})

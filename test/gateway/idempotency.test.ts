// Idempotency-Key: one generation for each key, however often and however late it is asked for.
// P91, P92, P93, P94, P95, P96, P98.
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { clock })
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/nothing/text-to-image'
const input = { prompt: 'x' }

interface Start {
  readonly quoteId: string
  readonly key?: string
  readonly input?: object
  readonly model?: string
  readonly payer?: TestAccount
  readonly path?: string
}

/** Starts with an Idempotency-Key; without one when `key` is undefined. */
function start(request: Start) {
  const { quoteId, key, payer = app.account, path = '/v1/generate' } = request
  return app.send(path, {
    key: payer.key,
    headers: key === undefined ? {} : { 'idempotency-key': key },
    body: { model: request.model ?? model, input: request.input ?? input, quote_id: quoteId },
  })
}

/** A quote, and a key that nobody used. */
async function prepare(): Promise<{ quoteId: string; key: string }> {
  return { quoteId: (await app.quote(model, input)).quote_id, key: crypto.randomUUID() }
}

test('the same key with the same request answers with the same job, and says that it is a replay', async () => {
  const request = await prepare()
  const first = await start(request)
  const second = await start(request)
  expect([first.status, second.status]).toEqual([202, 202])
  expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([null, 'true'])
  expect(second.body).toEqual(first.body)
})

test('a replay holds nothing more', async () => {
  const payer = await app.createAccount(3)
  const quoteId = (await app.quote(model, input, payer)).quote_id
  for (let i = 0; i < 3; i++) expect((await start({ quoteId, key: 'k', payer })).status).toBe(202)
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 0, held: 3 })
})

test('a hundred concurrent requests with one key start one job', async () => {
  const payer = await app.createAccount(100)
  const quoteId = (await app.quote(model, input, payer)).quote_id
  const answers = await Promise.all(Array.from({ length: 100 }, () => start({ quoteId, key: 'one', payer })))
  expect(answers.every((answer) => answer.status === 202)).toBe(true)
  expect(new Set(answers.map((answer) => answer.body.job_id)).size).toBe(1)
  expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') !== 'true')).toHaveLength(1)
  expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 97, held: 3 })
  expect((await app.send('/v1/jobs', { key: payer.key })).body.total).toBe(1)
})

test('a replay is answered even after the quote expired', async () => {
  const request = await prepare()
  const first = await start(request)
  clock.ms += 3_600_000
  const late = await start(request)
  expect([late.status, late.body.job_id]).toEqual([202, first.body.job_id])
})

test('a replay is answered even when no credits are left', async () => {
  const payer = await app.createAccount(3)
  const quoteId = (await app.quote(model, input, payer)).quote_id
  const first = await start({ quoteId, key: 'a', payer })
  expect((await start({ quoteId, key: 'b', payer })).status).toBe(402)
  expect((await start({ quoteId, key: 'a', payer })).body.job_id).toBe(first.body.job_id)
})

test('a replay answers with the job as it is now: 200 and its end once it has ended', async () => {
  const request = await prepare()
  const first = await start(request)
  await app.send(`/v1/jobs/${first.body.job_id}/cancel`, { method: 'POST' })
  const second = await start(request)
  expect(second.status).toBe(200)
  expect(second.headers.get('idempotent-replayed')).toBe('true')
  expect(second.body).toMatchObject({ job_id: first.body.job_id, status: 'canceled' })
})

test('the order of keys and white space do not make another request', async () => {
  const quoted = { prompt: 'x', width: 64 }
  const { quote_id } = await app.quote(model, quoted)
  const first = await start({ quoteId: quote_id, key: 'order', input: quoted })
  const second = await app.send('/v1/generate', {
    headers: { 'idempotency-key': 'order' },
    body: ` {"quote_id":"${quote_id}","input":{ "width":64.0,"prompt":"x" },"model":"${model}"}`,
  })
  expect(second.body.job_id).toBe(first.body.job_id)
})

describe('a key that was used with another request is refused, and nothing is held', () => {
  test.each([
    ['another input', async (): Promise<Partial<Start>> => ({ input: { prompt: 'y' } })],
    ['another model', async () => ({ model: 'test/instant/edit' })],
    ['another model that does not exist', async () => ({ model: 'test/none' })],
    ['another quote of the same', async () => ({ quoteId: (await app.quote(model, input)).quote_id })],
    ['another quote that is none', async () => ({ quoteId: 'quote_x' })],
  ])('%s', async (_what, change) => {
    const request = await prepare()
    await start(request)
    const before = await app.send('/v1/wallet')
    const { status, body } = await start({ ...request, ...(await change()) })
    expect([status, body.code]).toEqual([409, 'idempotency_key_reused'])
    expect((await app.send('/v1/wallet')).body).toEqual(before.body)
  })
})

test('a start that was refused leaves the key free', async () => {
  const payer = await app.createAccount(0)
  const quoteId = (await app.quote(model, input, payer)).quote_id
  expect((await start({ quoteId, key: 'free', payer })).status).toBe(402)
  expect((await start({ quoteId: 'quote_x', key: 'free', payer })).status).toBe(404)
  expect((await start({ quoteId, key: 'free', payer, input: { prompt: 'y' } })).status).toBe(409)
  await app.admin.grantCredits({ accountId: payer.accountId, credits: 3n })
  const { status, headers } = await start({ quoteId, key: 'free', payer })
  expect([status, headers.get('idempotent-replayed')]).toEqual([202, null])
})

test('keys are unique per account: two accounts may use the same', async () => {
  const request = await prepare()
  const first = await start(request)
  const payer = await app.createAccount(100)
  const quoteId = (await app.quote(model, input, payer)).quote_id
  const second = await start({ quoteId, key: request.key, payer })
  expect(second.status).toBe(202)
  expect(second.headers.get('idempotent-replayed')).toBeNull()
  expect(second.body.job_id).not.toBe(first.body.job_id)
})

test('with and without the quotes of an RFC 8941 string it is the same key', async () => {
  const { quoteId } = await prepare()
  const bare = await start({ quoteId, key: 'quoted-or-not' })
  expect((await start({ quoteId, key: '"quoted-or-not"' })).body.job_id).toBe(bare.body.job_id)
  const escaped = await start({ quoteId, key: String.raw`"a\"b\\c"` })
  expect((await start({ quoteId, key: String.raw`a"b\c` })).body.job_id).toBe(escaped.body.job_id)
})

test('keys differ by case', async () => {
  const { quoteId } = await prepare()
  const lower = await start({ quoteId, key: 'case-a' })
  expect((await start({ quoteId, key: 'CASE-A' })).body.job_id).not.toBe(lower.body.job_id)
})

test.each([
  ['one character', '~'],
  ['255 characters', 'k'.repeat(255)],
  ['255 characters in quotes', `"${'q'.repeat(255)}"`],
  ['punctuation', `!#$%&'()*+,-./:;<=>?@[]^_{|}`],
])('a legal key: %s', async (_what, key) => {
  const { quoteId } = await prepare()
  expect((await start({ quoteId, key })).status).toBe(202)
})

test.each([
  ['256 characters', 'k'.repeat(256)],
  ['256 characters in quotes', `"${'k'.repeat(256)}"`],
  ['a space', 'a b'],
  ['a space in quotes', '"a b"'],
  ['a tab', 'a\tb'],
  ['a letter beyond ASCII', 'caf\u00e9'],
  ['nothing in quotes', '""'],
])('not a legal key: %s', async (_what, key) => {
  const { quoteId } = await prepare()
  const { status, body } = await start({ quoteId, key })
  expect([status, body.code]).toEqual([400, 'idempotency_key_invalid'])
})

test.each([
  ['no key', undefined],
  ['an empty one', ''],
  ['white space', '  '],
])('a key is required: %s', async (_what, key) => {
  const { quoteId } = await prepare()
  const { status, body } = await start({ quoteId, ...(key !== undefined && { key }) })
  expect([status, body.code]).toEqual([400, 'idempotency_key_required'])
})

test('the header sent twice is not one key', async () => {
  const { quoteId } = await prepare()
  const { hostname, port } = new URL(app.url)
  const body = JSON.stringify({ model, input, quote_id: quoteId })
  const headers = ['host', 'x', 'idempotency-key', 'a', 'idempotency-key', 'b', 'content-type', 'application/json']
  const call = request({
    hostname,
    port,
    method: 'POST',
    path: '/v1/generate',
    headers: [...headers, 'authorization', `Bearer ${app.account.key}`, 'content-length', String(body.length)],
  })
  call.end(body)
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  expect(await json(answer)).toMatchObject({ status: 400, code: 'idempotency_key_invalid' })
})

test('keys live as long as their jobs: the job is found by its key', async () => {
  const request = await prepare()
  const { body } = await start(request)
  const bare = await app.send(`/v1/jobs?idempotency_key=${request.key}`)
  const quoted = await app.send(`/v1/jobs?idempotency_key=%22${request.key}%22`)
  expect([bare.body.data[0].job_id, bare.body.total]).toEqual([body.job_id, 1])
  expect(quoted.body.data).toEqual(bare.body.data)
})

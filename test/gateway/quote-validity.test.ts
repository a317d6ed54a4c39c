// What a quote is good for: one account, one model, one exact input, until its last millisecond (P5, P9, P10, P11).
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { clock })
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'

/** Starts with a quote; the body is written as it is sent. */
async function start(quoteId: string, input: object | string, options: { model?: string; payer?: TestAccount } = {}) {
  const { model: named = model, payer = app.account } = options
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  const { status, body } = await app.send('/v1/generate', {
    key: payer.key,
    headers: { 'idempotency-key': crypto.randomUUID() },
    body: `{"model":${JSON.stringify(named)},"quote_id":${JSON.stringify(quoteId)},"input":${text}}`,
  })
  return { status, body, code: body.code as string | undefined }
}

test('a quote is valid through the very millisecond of its expires_at', async () => {
  const { quote_id, expires_at } = await app.quote(model, { prompt: 'x' })
  clock.ms = Date.parse(expires_at)
  expect((await start(quote_id, { prompt: 'x' })).status).toBe(202)
})

test('one millisecond later the quote has expired, and the answer says when', async () => {
  const { quote_id, expires_at } = await app.quote(model, { prompt: 'x' })
  clock.ms = Date.parse(expires_at) + 1
  const { status, body } = await start(quote_id, { prompt: 'x' })
  expect([status, body.code]).toEqual([409, 'quote_expired'])
  expect(body.detail).toContain(expires_at)
})

test('a quote may be used for any number of generations until it expires', async () => {
  const { quote_id } = await app.quote(model, { prompt: 'x' })
  const jobs = await Promise.all([1, 2, 3].map(() => start(quote_id, { prompt: 'x' })))
  expect(jobs.map((job) => job.status)).toEqual([202, 202, 202])
  expect(new Set(jobs.map((job) => job.body.job_id)).size).toBe(3)
})

describe('a quote is valid only for the exact input', () => {
  const quoted = { prompt: 'a fox', width: 512, nested: { a: [1, 2], b: { c: null } } }

  test.each([
    ['another value', { ...quoted, prompt: 'a  fox' }],
    ['another order in a list', { ...quoted, nested: { ...quoted.nested, a: [2, 1] } }],
    ['a field less', { prompt: quoted.prompt, width: quoted.width }],
    ['a field more', { ...quoted, nested: { ...quoted.nested, d: 1 } }],
    ['null in place of nothing', { ...quoted, nested: { ...quoted.nested, d: null } }],
    ['a text in place of a number', { ...quoted, nested: { ...quoted.nested, a: ['1', 2] } }],
  ])('%s is another input', async (_what, input) => {
    const { quote_id } = await app.quote(model, quoted)
    const { status, body } = await start(quote_id, input)
    expect([status, body.code]).toEqual([409, 'quote_mismatch'])
    expect(body.detail).toContain('input')
  })

  test.each([
    ['the order of keys', '{"nested":{"b":{"c":null},"a":[1,2]},"width":512,"prompt":"a fox"}'],
    ['white space', '{ "prompt" : "a fox",\n\t"width":512 , "nested":{"a":[ 1,2 ],"b":{"c":null}}}'],
    ['how a number is written', '{"prompt":"a fox","width":5.120e2,"nested":{"a":[1.0,2],"b":{"c":null}}}'],
    [
      'how a letter is escaped',
      String.raw`{"prompt":"a \u0066ox","width":512,"nested":{"a":[1,2],"b":{"\u0063":null}}}`,
    ],
  ])('%s does not matter', async (_what, input) => {
    const { quote_id } = await app.quote(model, quoted)
    expect((await start(quote_id, input)).status).toBe(202)
  })

  test('a default that is spelled out is another input than one that is left out', async () => {
    const bare = await app.quote(model, { prompt: 'x' })
    expect((await start(bare.quote_id, { prompt: 'x', width: 1024 })).code).toBe('quote_mismatch')
    const spelled = await app.quote(model, { prompt: 'x', width: 1024 })
    expect((await start(spelled.quote_id, { prompt: 'x' })).code).toBe('quote_mismatch')
  })

  test('texts that look alike but are other Unicode are other inputs', async () => {
    const { quote_id } = await app.quote(model, { prompt: 'caf\u00e9' })
    expect((await start(quote_id, { prompt: 'cafe\u0301' })).code).toBe('quote_mismatch')
  })
})

test('a quote is valid only for its model, and the answer names both', async () => {
  const { quote_id } = await app.quote(model, { prompt: 'x' })
  const { status, body } = await start(quote_id, { prompt: 'x' }, { model: 'test/instant/edit' })
  expect([status, body.code]).toEqual([409, 'quote_mismatch'])
  expect(body.detail).toContain(model)
  expect(body.detail).toContain('test/instant/edit')
})

test("another account's quote is not found", async () => {
  const other = await app.createAccount(100)
  const { quote_id } = await app.quote(model, { prompt: 'x' })
  const { status, body } = await start(quote_id, { prompt: 'x' }, { payer: other })
  expect([status, body.code]).toEqual([404, 'quote_not_found'])
})

test('another key of the same account may use the quote', async () => {
  const { quote_id } = await app.quote(model, { prompt: 'x' })
  const { accountId } = app.account
  const payer = { accountId, key: await app.createKey(accountId, ['generate']) }
  expect((await start(quote_id, { prompt: 'x' }, { payer })).status).toBe(202)
})

describe('a forged, altered or mangled quote is not found', () => {
  test.each<[string, (quoteId: string) => string]>([
    ['one character changed', (id) => id.slice(0, 20) + (id[20] === 'A' ? 'B' : 'A') + id.slice(21)],
    ['the last character changed', (id) => id.slice(0, -1) + (id.endsWith('A') ? 'Q' : 'A')],
    ['cut short', (id) => id.slice(0, -1)],
    ['made longer', (id) => `${id}A`],
    ['padded', (id) => `${id}=`],
    ['with white space', (id) => ` ${id}`],
    ['without its prefix', (id) => id.slice('quote_'.length)],
    ['only its prefix', () => 'quote_'],
    ['nothing like one', () => 'hello'],
    ['a job id', () => 'job_01jd00000000000000000000'],
    ['very long', () => `quote_${'A'.repeat(100_000)}`],
  ])('%s', async (_what, alter) => {
    const { quote_id } = await app.quote(model, { prompt: 'x' })
    const { status, body } = await start(alter(quote_id), { prompt: 'x' })
    expect([status, body.code]).toEqual([404, 'quote_not_found'])
  })

  test('an expired quote of another account is unknown, not expired', async () => {
    const other = await app.createAccount(100)
    const { quote_id, expires_at } = await app.quote(model, { prompt: 'x' })
    clock.ms = Date.parse(expires_at) + 1
    expect((await start(quote_id, { prompt: 'x' }, { payer: other })).code).toBe('quote_not_found')
  })
})

test('quotes made before a rotation of the key stay valid until they expire, new ones are sealed with the new key', async () => {
  const before = await app.quote(model, { prompt: 'x' })
  await app.admin.rotateQuoteKey({})
  clock.ms += 1000
  const after = await app.quote(model, { prompt: 'x' })
  expect((await start(before.quote_id, { prompt: 'x' })).status).toBe(202)
  expect((await start(after.quote_id, { prompt: 'x' })).status).toBe(202)
})

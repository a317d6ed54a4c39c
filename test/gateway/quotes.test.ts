// POST /v1/quotes: what a quote says (P1, P4, P6, P7, P65, P78, P192, P193).
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { clock })
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const tenMinutesMs = 600_000

test('a quote is exactly quote_id, model, credits and expires_at', async () => {
  const answer = await app.send('/v1/quotes', { body: { model, input: { prompt: 'x' } } })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(answer.body).toEqual({
    quote_id: expect.stringMatching(/^quote_[\w-]+$/),
    model,
    credits: 3,
    expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  })
})

test('a quote is valid for at most 10 minutes, and for 10 minutes by default', async () => {
  clock.ms += 17
  const { expires_at } = await app.quote(model, { prompt: 'x' })
  expect(expires_at).toBe(new Date(clock.ms + tenMinutesMs).toISOString())
})

test('the operator can make quotes valid for a shorter time', async () => {
  await using brief = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_QUOTE_TTL_SECONDS: '7' }, { clock })
  const { expires_at } = await brief.quote(model, { prompt: 'x' })
  expect(expires_at).toBe(new Date(clock.ms + 7000).toISOString())
})

test('the operator cannot make quotes valid for longer than 10 minutes', async () => {
  await expect(startTestApp({ MEDIAGEN_QUOTE_TTL_SECONDS: '601' })).rejects.toThrow(/MEDIAGEN_QUOTE_TTL_SECONDS/)
})

test.each([
  [64, 2],
  [1000, 2],
  [1001, 3],
  [2048, 4],
])('credits are quoted for this exact request: width %i costs %i', async (width, credits) => {
  expect(await app.quote(model, { prompt: 'x', width })).toMatchObject({ model, credits })
})

test('what the input leaves out is priced with the default of the schema', async () => {
  const [bare, spelled] = await Promise.all([
    app.quote(model, { prompt: 'x' }),
    app.quote(model, { prompt: 'x', width: 1024 }),
  ])
  expect(bare.credits).toBe(spelled.credits)
})

test('for a model billed by usage the quote is the upper bound', async () => {
  expect((await app.quote('test/usage/text-to-image', { seconds: 10, used: 1 })).credits).toBe(20)
})

test('a quote charges nothing, holds nothing and writes nothing', async () => {
  const before = await app.send('/v1/wallet/entries')
  await app.quote(model, { prompt: 'x' })
  expect((await app.send('/v1/wallet')).body).toEqual({ available: 1000, held: 0 })
  expect((await app.send('/v1/wallet/entries')).body).toEqual(before.body)
  expect((await app.send('/v1/jobs')).body.total).toBe(0)
})

test('an account without credits may ask what things cost', async () => {
  const poor = await app.createAccount(0)
  expect((await app.quote(model, { prompt: 'x' }, poor)).credits).toBe(3)
})

test('each quote has an id of its own', async () => {
  const quotes = await Promise.all(Array.from({ length: 20 }, () => app.quote(model, { prompt: 'x' })))
  expect(new Set(quotes.map((quote) => quote.quote_id)).size).toBe(20)
})

test('a quote needs the permission generate and no other', async () => {
  const key = await app.createKey(app.account.accountId, ['generate'])
  const body = { model, input: { prompt: 'x' } }
  expect((await app.send('/v1/quotes', { key, body })).status).toBe(200)
  const others = await app.createKey(app.account.accountId, ['models:read', 'jobs:read', 'wallet:read'])
  const refused = await app.send('/v1/quotes', { key: others, body })
  expect([refused.status, refused.body.code, refused.body.permission]).toEqual([403, 'missing_permission', 'generate'])
})

test('an input that breaks the schema gets no quote, and every violation is listed', async () => {
  const input = { prompt: '', width: 63.5, nested: 1, colour: 'red' }
  const { status, body } = await app.send('/v1/quotes', { body: { model, input } })
  expect([status, body.code]).toEqual([400, 'invalid_input'])
  const pointers = body.errors.map((error: { pointer: string }) => error.pointer)
  expect(new Set(pointers)).toEqual(new Set(['/input/prompt', '/input/width', '/input/nested', '/input/colour']))
})

test('an unknown model gets no quote', async () => {
  const { status, body } = await app.send('/v1/quotes', { body: { model: 'test/none', input: {} } })
  expect([status, body.code]).toEqual([404, 'model_not_found'])
})

test('a misspelt model or field comes with similar ones, as far as the caller may see them', async () => {
  const misspelt = { model: 'test/instnt/text-to-image', input: {} }
  const meant = `There is no model "${misspelt.model}"; did you mean "${model}"? GET /v1/models lists the models.`
  expect((await app.send('/v1/quotes', { body: misspelt })).body.detail).toBe(meant)
  expect((await app.send(`/v1/models/${misspelt.model}`)).body.detail).toBe(meant)
  const blind = await app.createKey(app.account.accountId, ['generate'])
  const { body } = await app.send('/v1/quotes', { key: blind, body: misspelt })
  expect(body.detail).toBe(`There is no model "${misspelt.model}". GET /v1/models lists the models.`)

  const wrong = await app.send('/v1/quotes', { body: { model, input: { prompt: 'x', widht: 64, unlike: 1 } } })
  expect(wrong.body.errors).toEqual([
    { pointer: '/input/widht', detail: 'is not a known field (did you mean "width"?)' },
    { pointer: '/input/unlike', detail: 'is not a known field' },
  ])
  const outer = await app.send('/v1/quotes', { body: { model, inptu: {} } })
  expect(outer.body.errors).toContainEqual({
    pointer: '/inptu',
    detail: 'is not a known field (did you mean "input"?)',
  })
})

test('a model whose engine is not ready gets no quote', async () => {
  const { status, body } = await app.send('/v1/quotes', {
    body: { model: 'test/unready/video-to-video', input: { prompt: 'x' } },
  })
  expect([status, body.code, body.retryable]).toEqual([503, 'model_unavailable', true])
})

test('an input without a price is refused by model and value, and the operator hears of it', async () => {
  const { log, lines } = keepLog()
  const catalog = join(import.meta.dirname, '../models/unpriced.yaml')
  await using unpriced = await startTestApp({ MEDIAGEN_CATALOG: catalog }, { log })
  const id = 'test/unpriced/text-to-image'
  const answer = await unpriced.send('/v1/quotes', { body: { model: id, input: { prompt: 'secret', width: 777 } } })
  expect([answer.status, answer.body]).toMatchObject([
    400,
    {
      code: 'invalid_input',
      detail: expect.stringContaining(`${id} has no price for this input`),
      errors: [
        { pointer: '/input/width', detail: `has no price in ${id}: 777` },
        { pointer: '/input/prompt', detail: `has no price in ${id}: a text of 6 characters` },
      ],
    },
  ])
  const said = lines.filter(({ msg }) => msg === 'an input has no price')
  expect(said).toMatchObject([{ level: 50, model: id, reason: expect.stringContaining('divided by 0') }])
  expect(JSON.stringify(said)).not.toContain('secret')
  expect((await unpriced.quote(id, { prompt: 'x', width: 778 })).credits).toBe(111)
})

test.each([
  ['6687881544318117707', '/input/nested/seed'],
  ['-9007199254740993', '/input/nested/seed'],
  ['9007199254740992', '/input/nested/seed'],
  ['1e30', '/input/nested/seed'],
  ['1e400', '/input/nested/seed'],
  ['[1, {"a/b": 18446744073709551615}]', '/input/nested/seed/1/a~1b'],
])('a number that JSON cannot carry is refused with its place: %s', async (seed, pointer) => {
  const body = `{"model":"${model}","input":{"prompt":"x","nested":{"seed":${seed}}}}`
  for (const path of ['/v1/quotes', '/v1/generate']) {
    const answer = await app.send(path, {
      headers: { 'idempotency-key': 'k' },
      body: path === '/v1/quotes' ? body : body.replace('{', '{"quote_id":"quote_x",'),
    })
    expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_request', errors: [{ pointer }] }])
  }
})

test.each(['9007199254740991', '-9007199254740991', '0.1', '-0', '1.5e-7', '123456789.125'])(
  'a number that JSON carries is accepted: %s',
  async (seed) => {
    const body = `{"model":"${model}","input":{"prompt":"x","nested":{"seed":${seed}}}}`
    expect((await app.send('/v1/quotes', { body })).status).toBe(200)
  },
)

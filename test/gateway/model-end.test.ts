// The end of a model as clients see it (P300, P301, P302).
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_CATALOG: join(import.meta.dirname, '../models/ending.yaml') }, { clock })
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/ending/text-to-image'
const successor = 'test/successor/text-to-image'
const input = { prompt: 'x' }
const endMs = Date.UTC(2026, 11, 1)
const noticeMs = 60 * 86_400_000
const headersOf = ({ headers }: { headers: Headers }) =>
  ['deprecation', 'sunset', 'link'].map((name) => headers.get(name))
const announced = [
  `@${(endMs - noticeMs) / 1000}`,
  'Tue, 01 Dec 2026 00:00:00 GMT',
  `</v1/models/${successor}>; rel="successor-version"`,
]

beforeEach(() => {
  clock.ms = endMs - 1000
})

test('the list and the record of a model say its version, its end and its successor; null where the catalog does not', async () => {
  const { body: list } = await app.send('/v1/models')
  const life = { version: '1.5', released: '2025-12-16', shutdown_date: '2026-12-01', replaced_by: successor }
  const none = { version: null, released: null, shutdown_date: null, replaced_by: null }
  expect(list.data).toMatchObject([
    { id: model, ...life },
    { id: successor, ...none },
  ])
  expect((await app.send(`/v1/models/${model}`)).body).toMatchObject(life)
})

test('P300: for sixty days before the end, quotes and starts say it in headers, and not before', async () => {
  expect(headersOf(await app.send('/v1/quotes', { body: { model, input } }))).toEqual(announced)
  expect(headersOf(await app.generate(model, input))).toEqual(announced)
  const run = { body: { model, input, max_credits: 5 }, headers: { 'idempotency-key': 'run-before-the-end' } }
  expect(headersOf(await app.send('/v1/run', run))).toEqual(announced)
  const picture = { body: { model: 'old-picture', prompt: 'x' }, headers: { 'mediagen-max-credits': '5' } }
  expect(headersOf(await app.send('/v1/images/generations', picture))).toEqual(announced)
  expect(headersOf(await app.send('/v1/quotes', { body: { model: successor, input } }))).toEqual([null, null, null])
  clock.ms = endMs - noticeMs - 1
  expect(headersOf(await app.send('/v1/quotes', { body: { model, input } }))).toEqual([null, null, null])
})

test('P301: from its day on a model gets no quote and no start; the refusal names the successor, and nothing is held', async () => {
  const quote = await app.quote(model, input)
  clock.ms = endMs
  const refused = {
    code: 'model_ended',
    detail: `“Ending” is gone: it ended on 2026-12-01; use ${successor}. Nothing was held.`,
    replaced_by: successor,
    retryable: false,
  }
  const start = { model, input, quote_id: quote.quote_id }
  for (const [path, body] of [
    ['/v1/quotes', { model, input }],
    ['/v1/generate', start],
    ['/v1/run', { model, input, max_credits: 5 }],
  ] as const) {
    const answer = await app.send(path, { body, headers: { 'idempotency-key': `after-the-end-${path}` } })
    expect.soft([answer.status, answer.body], path).toEqual([410, expect.objectContaining(refused)])
  }
  expect((await app.send('/v1/wallet')).body).toMatchObject({ held: 0 })
  // It can still be read, by those who wonder where it went.
  expect((await app.send(`/v1/models/${model}`)).body).toMatchObject({
    unready_reason: `it ended on 2026-12-01; use ${successor}`,
  })
})

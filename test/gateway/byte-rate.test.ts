// A key may send so many bytes of requests a second, whatever the door; files do not count, and others are not slowed (P167).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openForeignClient, toStruct } from '../rpc/foreign-client.ts'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'

// A burst is four times as much: two large requests and a little more.
const byteRate = 1000
const app = await startTestApp({
  MEDIAGEN_ROLES: 'api',
  MEDIAGEN_BYTE_RATE: String(byteRate),
  MEDIAGEN_MAX_BODY_BYTES: '2048',
})
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const large = { model, input: { prompt: 'x'.repeat(1800) } }
const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))

/** Asks for quotes at once; how often each status came. */
async function send(key: string, body: unknown, times: number, headers: Record<string, string> = {}) {
  const answers = await Promise.all(Array.from({ length: times }, () => app.send('/v1/quotes', { key, body, headers })))
  return answers.toSorted((a, b) => a.status - b.status)
}

test('MEDIAGEN_BYTE_RATE: what goes beyond is refused, and told when to come again', async () => {
  const { key } = await app.createAccount(0)
  const answers = await send(key, large, 4)
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429])
  for (const answer of answers.slice(2)) {
    expectProblem(answer, app.url, 'rate_limited')
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]$/)
    expect(answer.body.detail).toContain('MEDIAGEN_BYTE_RATE')
  }
  const small = { model, input: { prompt: 'x' } }
  expect(
    (await send(key, small, 3)).map(({ status }) => status),
    'what fits is let through',
  ).toEqual([200, 200, 200])
  const other = await app.createAccount(0)
  expect((await send(other.key, large, 1))[0]?.status, 'another key has its own').toBe(200)
})

test('bytes of a malformed request count', async () => {
  const { key } = await app.createAccount(0)
  const answers = await send(key, { ...large, more: 1 }, 4)
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 429, 429])
})

test('files do not count', async () => {
  const { key } = await app.createAccount(0)
  const upload = () =>
    fetch(`${app.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'image/png' },
      body: picture,
    })
  const files = Math.ceil((byteRate * 4) / picture.length)
  for (let i = 0; i < files; i++) expect((await upload()).status).toBe(201)
  expect((await send(key, large, 2)).map(({ status }) => status)).toEqual([200, 200])
})

test('many values count more than their bytes, at every door', async () => {
  // 350 bytes, and 30 values beyond a hundred.
  const input = { prompt: 'x', more: Array.from({ length: 126 }, () => 1) }
  const rest = await app.createAccount(0)
  const answers = await send(rest.key, { model, input }, 3)
  expect(answers.map(({ status }) => status)).toEqual([400, 429, 429])
  const { key } = await app.createAccount(0)
  using client = await openForeignClient(app.app.grpcUrl, key)
  const ask = async () => (await client.refusal('QuotesService/CreateQuote', { model, input: toStruct(input) })).status
  expect([await ask(), await ask()]).toEqual(['INVALID_ARGUMENT', 'RESOURCE_EXHAUSTED'])
  // A pure gateway serves no Connect.
  if (process.env['MEDIAGEN_TEST_GATEWAY'] === '1') return
  const web = await app.createAccount(0)
  const post = async () =>
    (await app.send('/mediagen.v1.QuotesService/CreateQuote', { key: web.key, body: { model, input } })).status
  expect([await post(), await post()]).toEqual([400, 429])
})

test('gRPC and Connect draw on the same', async () => {
  const { key } = await app.createAccount(0)
  using client = await openForeignClient(app.app.grpcUrl, key)
  const request = { model, input: toStruct(large.input) }
  await client.call('QuotesService/CreateQuote', request)
  const answer = await app.send('/mediagen.v1.QuotesService/CreateQuote', { key, body: large })
  // A pure gateway serves no Connect.
  const passed =
    process.env['MEDIAGEN_TEST_GATEWAY'] === '1' ? await app.send('/v1/quotes', { key, body: large }) : answer
  expect(passed.status).toBe(200)
  const refused = await client.refusal('QuotesService/CreateQuote', request)
  expect(refused).toMatchObject({ status: 'RESOURCE_EXHAUSTED', detail: { code: 'rate_limited' } })
  expect(refused.detail.retry_after_seconds).toBeGreaterThan(0)
  if (process.env['MEDIAGEN_TEST_GATEWAY'] === '1') return
  const web = await app.send('/mediagen.v1.QuotesService/CreateQuote', { key, body: large })
  expect([web.status, web.body.code]).toEqual([429, 'resource_exhausted'])
  expect(web.headers.get('retry-after')).toMatch(/^[1-9]$/)
  expect((await app.send('/v1/quotes', { key, body: large })).status).toBe(429)
})

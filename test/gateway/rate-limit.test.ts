// So many requests a second for each key, with a burst of as many (P167).
import { afterAll, expect, test } from 'vitest'
import { settings } from '../../src/config.ts'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_RATE_LIMIT: '5' })
afterAll(() => app[Symbol.asyncDispose]())

/** Sends many at once; the answers that were let through and those that were not. */
async function flood(key: string, path = '/v1/wallet') {
  const answers = await Promise.all(Array.from({ length: 40 }, () => app.send(path, { key })))
  return {
    passed: answers.filter(({ status }) => status !== 429),
    refused: answers.filter(({ status }) => status === 429),
  }
}

test('a burst of one second is served; further requests are refused and learn when to try again', async () => {
  const { key } = await app.createAccount(0)
  const { passed, refused } = await flood(key)
  expect(passed.length).toBeGreaterThanOrEqual(5)
  expect(refused.length).toBeGreaterThan(0)
  for (const answer of refused) {
    expectProblem(answer, app.url, 'rate_limited')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.body.retryable).toBe(true)
  }
})

test('the limit is counted for each key: another key of the same account is not slowed', async () => {
  const { accountId, key } = await app.createAccount(0)
  await flood(key)
  const other = await app.createKey(accountId, ['wallet:read'])
  expect((await app.send('/v1/wallet', { key: other })).status).toBe(200)
})

test('requests that are refused for their form count too', async () => {
  const { key } = await app.createAccount(0)
  const { refused } = await flood(key, '/v1/models?limit=0')
  expect(refused.length).toBeGreaterThan(0)
})

test('a quote and a start count as one request together', async () => {
  const { key } = await app.createAccount(0)
  const bodies = {
    '/v1/quotes': { model: 'none', input: {} },
    '/v1/generate': { model: 'none', input: {}, quote_id: 'x' },
  }
  const sent = Array.from({ length: 20 }, () =>
    Object.entries(bodies).map(([path, body]) => app.send(path, { key, body, headers: { 'Idempotency-Key': 'one' } })),
  ).flat()
  const passed = (await Promise.all(sent)).filter(({ status }) => status !== 429)
  // A slow machine fills the bucket again meanwhile.
  expect(passed.length).toBeGreaterThanOrEqual(10)
})

test('it is 50 by default', () => {
  expect(settings.rateLimit.fallback).toBe('50')
})

test('0 is no limit', async () => {
  await using free = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_RATE_LIMIT: '0' })
  const answers = await Promise.all(Array.from({ length: 200 }, () => free.send('/v1/wallet')))
  expect(answers.every(({ status }) => status === 200)).toBe(true)
})

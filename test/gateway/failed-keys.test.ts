// A client that tries many keys has to wait, by its address; others do not (P167).
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { startTestApp, type TestAnswer } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const perMinute = 5
// A gateway in front, where there is one, is at 127.0.0.1.
const app = await startTestApp({
  MEDIAGEN_ROLES: 'api',
  MEDIAGEN_FAILED_KEYS_PER_MINUTE: String(perMinute),
  MEDIAGEN_TRUSTED_PROXIES: '127.0.0.1',
})
afterAll(() => app[Symbol.asyncDispose]())

const wrongKey = `mgk_${'0'.repeat(43)}`

/** Asks for the wallet from an address of the loopback. */
async function askFrom(address: string, key: string | null, headers: Record<string, string> = {}): Promise<TestAnswer> {
  const sent = { ...headers, ...(key !== null && { authorization: `Bearer ${key}` }) }
  const asked = request(`${app.url}/v1/wallet`, { localAddress: address, agent: false, headers: sent }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>)
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(response.headers as Record<string, string>),
    body: JSON.parse(Buffer.concat(chunks).toString()),
  }
}

/** Tries wrong keys until no more are answered as such. */
async function exhaust(address: string): Promise<void> {
  for (let i = 0; i < perMinute; i++) expect((await askFrom(address, wrongKey)).body.code).toBe('invalid_api_key')
}

test('MEDIAGEN_FAILED_KEYS_PER_MINUTE: an address that tried that many has to wait', async () => {
  const startedMs = performance.now()
  await exhaust('127.0.0.2')
  const answer = await askFrom('127.0.0.2', wrongKey)
  expectProblem(answer, app.url, 'rate_limited')
  // A fifth of a minute after the first of them.
  const waitSeconds = Number(answer.headers.get('retry-after'))
  expect(waitSeconds).toBeLessThanOrEqual(12)
  expect(waitSeconds).toBeGreaterThanOrEqual(12 - (performance.now() - startedMs) / 1000)
  expect(answer.body.detail).toContain('5')
})

test('a valid key still works from that address, and other addresses are answered as usual', async () => {
  await exhaust('127.0.0.3')
  expect((await askFrom('127.0.0.3', wrongKey)).status).toBe(429)
  expect((await askFrom('127.0.0.3', app.account.key)).status).toBe(200)
  const fresh = await app.createAccount(0)
  expect((await askFrom('127.0.0.3', fresh.key)).status, 'one that is used for the first time, too').toBe(200)
  expect((await askFrom('127.0.0.3', null)).body.code).toBe('authentication_required')
  expect((await askFrom('127.0.0.4', wrongKey)).body.code).toBe('invalid_api_key')
})

test('X-Forwarded-For of an untrusted client is ignored', async () => {
  await exhaust('127.0.0.5')
  const answer = await askFrom('127.0.0.5', wrongKey, { 'x-forwarded-for': '203.0.113.9' })
  expect(answer.status).toBe(429)
})

test('behind a trusted proxy each client counts for itself', async () => {
  const ask = (client: string) => askFrom('127.0.0.1', wrongKey, { 'x-forwarded-for': client })
  for (let i = 0; i < perMinute; i++) expect((await ask('203.0.113.1')).status).toBe(401)
  expect((await ask('203.0.113.1')).status).toBe(429)
  expect((await ask('203.0.113.2')).status).toBe(401)
})

// API keys: how they are sent, when they work, and what they may do (P84, P85, P86).
import { afterAll, describe, expect, test } from 'vitest'
import { permissions } from '../../src/core/accounts/key.ts'
import { toPermissionCode } from '../../src/services/messages/convert.ts'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'
import { sendRaw } from './raw-http.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { clock })
afterAll(() => app[Symbol.asyncDispose]())

const { accountId, key: goodKey } = app.account
const sendHeader = (authorization: string) => sendRaw(app.url, { path: '/v1/wallet', headers: { authorization } })

describe('the header Authorization: Bearer <API_KEY>', () => {
  test.each([
    ['as it is written', `Bearer ${goodKey}`],
    ['in lower case', `bearer ${goodKey}`],
    ['in upper case', `BEARER ${goodKey}`],
    ['with white space', `Bearer   ${goodKey}  `],
  ])('%s is understood', async (_what, header) => {
    expect((await sendHeader(header)).status).toBe(200)
  })

  test.each([
    ['nothing', ''],
    ['the key alone', goodKey],
    ['the scheme alone', 'Bearer'],
    ['another scheme', `Basic ${Buffer.from(`x:${goodKey}`).toString('base64')}`],
    ['two keys', `Bearer ${goodKey} ${goodKey}`],
    ['no space', `Bearer${goodKey}`],
  ])('%s is no authentication', async (_what, header) => {
    expectProblem(await sendHeader(header), app.url, 'authentication_required')
  })

  test.each([
    ['an unknown key', `mgk_${'a'.repeat(43)}`],
    ['a key cut short', goodKey.slice(0, -1)],
    ['a key made longer', `${goodKey}A`],
    ['a key in capitals', goodKey.toUpperCase()],
    ['a key of another kind', 'sk-proj-0123456789'],
    ['a key in quotes', `"${goodKey}"`],
    ['a very long key', `mgk_${'a'.repeat(8000)}`],
  ])('%s is invalid', async (_what, key) => {
    expectProblem(await sendHeader(`Bearer ${key}`), app.url, 'invalid_api_key')
  })

  test('bytes that no header may carry are no key', async () => {
    expect((await sendHeader('Bearer mgk_ключ')).status).toBe(401)
  })

  test('no key is taken from the query or a cookie', async () => {
    const inQuery = await app.send(`/v1/wallet?api_key=${goodKey}&access_token=${goodKey}`, { key: null })
    expectProblem(inQuery, app.url, 'authentication_required')
    const inCookie = await app.send('/v1/wallet', { key: null, headers: { cookie: `key=${goodKey}` } })
    expectProblem(inCookie, app.url, 'authentication_required')
  })
})

test('a key looks like mgk_ and 32 random bytes in base62', async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => app.createKey(accountId, ['models:read'])))
  for (const key of keys) expect(key).toMatch(/^mgk_[0-9A-Za-z]{43}$/)
  expect(new Set(keys).size).toBe(20)
})

test('a key may expire: it works until its last millisecond has come, and not from then on', async () => {
  const expiresAtMs = clock.ms + 5000
  const key = await app.createKey(accountId, ['wallet:read'], expiresAtMs)
  clock.ms = expiresAtMs - 1
  expect((await app.send('/v1/wallet', { key })).status).toBe(200)
  clock.ms = expiresAtMs
  expectProblem(await app.send('/v1/wallet', { key }), app.url, 'invalid_api_key')
})

test('a key that was revoked is refused from the next request on, at every route', async () => {
  const made = await app.admin.createKey({ accountId, permissions: permissions.map(toPermissionCode) })
  expect((await app.send('/v1/wallet', { key: made.secret })).status).toBe(200)
  await app.admin.revokeKey({ keyId: made.key?.keyId ?? '' })
  for (const path of ['/v1/wallet', '/v1/models', '/v1/models/categories', '/v1/jobs', '/v1/jobs/job_x']) {
    expectProblem(await app.send(path, { key: made.secret }), app.url, 'invalid_api_key')
  }
})

test('revoking one key leaves the others of the account', async () => {
  const made = await app.admin.createKey({ accountId, permissions: [toPermissionCode('wallet:read')] })
  await app.admin.revokeKey({ keyId: made.key?.keyId ?? '' })
  expect((await app.send('/v1/wallet')).status).toBe(200)
})

test('a key belongs to one account', async () => {
  const other = await app.createAccount(5)
  expect((await app.send('/v1/wallet', { key: other.key })).body).toEqual({ available: 5, held: 0 })
})

describe('each route needs its permission and no other', () => {
  const routes = [
    ['generate', 'POST', '/v1/quotes'],
    ['generate', 'POST', '/v1/generate'],
    ['generate', 'POST', '/v1/jobs/job_x/cancel'],
    ['generate', 'DELETE', '/v1/jobs/job_x'],
    ['models:read', 'GET', '/v1/models'],
    ['models:read', 'GET', '/v1/models?grouped=true'],
    ['models:read', 'GET', '/v1/models/test/instant/edit'],
    ['jobs:read', 'GET', '/v1/jobs'],
    ['jobs:read', 'GET', '/v1/jobs/job_x'],
    ['jobs:read', 'GET', '/v1/jobs/job_x/events'],
    ['wallet:read', 'GET', '/v1/wallet'],
    ['wallet:read', 'GET', '/v1/wallet/entries'],
    ['wallet:read', 'GET', '/v1/account/keys'],
    ['webhooks', 'GET', '/v1/webhooks'],
    ['webhooks', 'POST', '/v1/webhooks'],
    ['webhooks', 'GET', '/v1/webhooks/wh_x'],
    ['webhooks', 'DELETE', '/v1/webhooks/wh_x'],
    ['webhooks', 'GET', '/v1/webhooks/wh_x/deliveries'],
  ] as const

  test.each(routes)('%s: %s %s', async (needed, method, path) => {
    for (const permission of permissions) {
      const key = await app.createKey(accountId, [permission])
      const answer = await app.send(path, { method, key })
      if (permission === needed) expect([401, 403]).not.toContain(answer.status)
      else {
        expectProblem(answer, app.url, 'missing_permission')
        expect(answer.body.permission).toBe(needed)
        expect(answer.headers.get('www-authenticate')).toContain(`scope="${needed}"`)
      }
    }
  })
})

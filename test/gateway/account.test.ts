// /v1/account: what a key may know of its account (P49, P50, P51).
import { afterAll, expect, test } from 'vitest'
import { toPermissionCode } from '../../src/services/messages/convert.ts'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp({
  MEDIAGEN_RATE_LIMIT: '70',
  MEDIAGEN_MAX_BODY_BYTES: '5000',
  MEDIAGEN_MAX_QUEUED_JOBS: '6',
  MEDIAGEN_MAX_WATCHES_PER_ACCOUNT: '7',
  MEDIAGEN_MAX_UPLOAD_BYTES: '80000',
  MEDIAGEN_UPLOAD_ROOM_BYTES: '90000',
  MEDIAGEN_WEBHOOK_ENDPOINTS: '3',
  MEDIAGEN_QUOTE_TTL_SECONDS: '300',
  MEDIAGEN_WAIT_SECONDS: '60',
  MEDIAGEN_RETAIN_HOURS: '2',
})
afterAll(() => app[Symbol.asyncDispose]())

test('any key reads its account, itself without its text, and the limits that apply to it', async () => {
  const { accountId } = app.account
  const key = await app.createKey(accountId, ['models:read'])
  const { status, body } = await app.send('/v1/account', { key })
  const time = expect.stringMatching(/^20.*Z$/)
  expect([status, body]).toEqual([
    200,
    {
      account_id: accountId,
      name: 'test',
      created_at: time,
      key: {
        key_id: expect.stringMatching(/^key_/),
        name: null,
        prefix: key.slice(0, 8),
        permissions: ['models:read'],
        created_at: time,
        last_used_at: null,
        expires_at: null,
        revoked_at: null,
        limits: {
          per_start: null,
          daily: null,
          weekly: null,
          monthly: null,
          total: null,
          models: [],
          origins: [],
          extra: null,
        },
        made_by: null,
      },
      limits: {
        requests_per_second: 70,
        request_bytes_per_second: null,
        request_bytes: 5000,
        queued_jobs: 6,
        open_watches: 7,
        upload_bytes: 80_000,
        stored_upload_bytes: 90_000,
        webhooks: 3,
        quote_seconds: 300,
        wait_seconds: 60,
        retain_seconds: 7200,
      },
    },
  ])
  expect(JSON.stringify(body)).not.toContain(key)
})

test('the keys of the account are listed without their text, and those of no other', async () => {
  const { accountId, key } = await app.createAccount(0)
  const permissions = [toPermissionCode('jobs:read')]
  const named = await app.admin.createKey({ accountId, permissions, name: 'print shop' })
  await app.admin.revokeKey({ keyId: named.key?.keyId ?? '' })
  const { body } = await app.send('/v1/account/keys', { key })
  expect(body).toMatchObject({ object: 'list', total: 2, has_more: false })
  expect(body.data).toMatchObject([
    {
      key_id: named.key?.keyId,
      name: 'print shop',
      prefix: named.secret.slice(0, 8),
      permissions: ['jobs:read'],
      revoked_at: expect.any(String),
    },
    { name: null, prefix: key.slice(0, 8), revoked_at: null },
  ])
  for (const secret of [key, named.secret]) expect(JSON.stringify(body)).not.toContain(secret.slice(8))
})

test('a name of 201 characters is refused', async () => {
  const create = (name: string) =>
    app.admin.createKey({ accountId: app.account.accountId, permissions: [toPermissionCode('generate')], name })
  await expect(create('x'.repeat(201))).rejects.toThrow('/name must have at most 200 characters')
  expect((await create('x'.repeat(200))).key?.name).toHaveLength(200)
})

test('the last use of a key is on record after the server has stopped; quotes alone write it, too', async () => {
  await using first = await startTestApp()
  const { key } = await first.createAccount(10)
  const before = Date.now()
  for (let i = 0; i < 20; i++)
    await first.send('/v1/quotes', { key, body: { model: 'test/nothing/text-to-image', input: { prompt: 'x' } } })
  await first.app[Symbol.asyncDispose]()
  await using second = await startTestApp({ MEDIAGEN_DATA_DIR: first.config.dataDir })
  const { data } = (await second.send('/v1/account/keys', { key })).body
  expect(Date.parse(data[0].last_used_at)).toBeGreaterThanOrEqual(before)
})

// /v1/webhooks: registering, reading, listing and deleting endpoints, and whose they are. docs/webhooks.md.
// P52, P53, P88, P90, P125, P164, P215.
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'

const url = 'https://example.com/hooks'
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
})
afterAll(() => app[Symbol.asyncDispose]())

const register = (body: unknown, key = app.account.key) => app.send('/v1/webhooks', { key, body })

test('an endpoint is registered with a secret that is shown once', async () => {
  const { status, headers, body } = await register({ url, description: 'production' })
  expect(status).toBe(201)
  expect(body).toEqual({
    webhook_id: expect.stringMatching(/^wh_[0-9a-z]{26}$/),
    url,
    description: 'production',
    created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
    disabled_at: null,
    include_input: false,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  })
  expect(new Webhook(body.secret)).toBeDefined()
  expect(headers.get('location')).toBe(`/v1/webhooks/${body.webhook_id}`)

  const { secret, ...record } = body
  const read = await app.send(`/v1/webhooks/${body.webhook_id}`)
  expect([read.status, read.body]).toEqual([200, record])
  const { secret: another } = (await register({ url })).body
  expect(another).not.toBe(secret)
})

test('endpoints are listed newest first, in pages, each account its own', async () => {
  const { key } = await app.createAccount(0)
  const made = []
  for (const path of ['a', 'b', 'c']) made.push((await register({ url: `${url}/${path}` }, key)).body.webhook_id)
  const ids = (body: any) => body.data.map(({ webhook_id }: any) => webhook_id)
  const first = (await app.send('/v1/webhooks?limit=2', { key })).body
  expect(ids(first)).toEqual([made[2], made[1]])
  expect(first).toMatchObject({ object: 'list', total: 3, limit: 2, offset: 0, has_more: true })
  expect(first.data[0]).not.toHaveProperty('secret')
  expect(ids((await app.send('/v1/webhooks?limit=2&offset=2', { key })).body)).toEqual([made[0]])
})

test("another account's endpoint is not found, and stays", async () => {
  const { webhook_id } = (await register({ url })).body
  const { key } = await app.createAccount(0)
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/deliveries'],
  ] as const) {
    const answer = await app.send(`/v1/webhooks/${webhook_id}${path}`, { method, key })
    expect(answer.body).toMatchObject({ status: 404, code: 'webhook_not_found' })
  }
  expect((await app.send(`/v1/webhooks/${webhook_id}`)).status).toBe(200)
})

test('an endpoint is deleted once', async () => {
  const { webhook_id } = (await register({ url })).body
  const path = `/v1/webhooks/${webhook_id}`
  const gone = await app.send(path, { method: 'DELETE' })
  expect([gone.status, gone.body]).toEqual([204, ''])
  for (const method of ['DELETE', 'GET'])
    expect((await app.send(path, { method })).body).toMatchObject({ status: 404, code: 'webhook_not_found' })
  expect((await app.send(`${path}/deliveries`)).status).toBe(404)
})

test('an account may have ten endpoints, and one more when it deletes one', async () => {
  const { key } = await app.createAccount(0)
  let last
  for (let i = 0; i < 10; i++) last = (await register({ url }, key)).body.webhook_id
  expect((await register({ url }, key)).body).toMatchObject({ status: 409, code: 'too_many_webhooks' })
  await app.send(`/v1/webhooks/${last}`, { method: 'DELETE', key })
  expect((await register({ url }, key)).status).toBe(201)
})

test.each([
  [{}, '/url', 'is required'],
  [{ url: '' }, '/url', /must not be empty/],
  [{ url: 7 }, '/url', /must be text/],
  [{ url: 'example.com/hooks' }, '/url', /absolute URL/],
  [{ url: '/hooks' }, '/url', /absolute URL/],
  [{ url: 'ftp://example.com/' }, '/url', /https:\/\/ or http:\/\//],
  [{ url: 'file:///etc/passwd' }, '/url', /https:\/\/ or http:\/\//],
  [{ url: 'https://user:secret@example.com/' }, '/url', /user name/],
  [{ url: 'https://example.com/#part' }, '/url', /fragment/],
  [{ url: 'https://256.256.256.256/' }, '/url', /absolute URL/],
  [{ url: `https://example.com/${'x'.repeat(2048)}` }, '/url', /2048/],
  [{ url, description: 'x'.repeat(201) }, '/description', /200/],
  ...['\u001B]0;x\u0007', 'a\nwh_1  b', '\u007F', '\u009B2J', '\u2028', '\u200E', '\u061C', 'a\u202Eb', '\u2066'].map(
    (text): [object, string, RegExp] => [{ url, description: text }, '/description', /one line.*direction of text/],
  ),
  [{ url: `${url}/\u202Exe` }, '/url', /one line/],
  [{ url: 'https://exam\nple.com' }, '/url', /one line/],
  [{ url, secret: 'whsec_mine' }, '/secret', 'is not a known field'],
])('%j is refused by name', async (body, pointer, detail) => {
  const answer = await register(body)
  expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' })
  expect(answer.body.errors).toContainEqual({
    pointer,
    detail: typeof detail === 'string' ? detail : expect.stringMatching(detail),
  })
})

test('P207: a description has as many characters as the schema says, pairs of surrogates being one', async () => {
  const description = '\u{1F98A}'.repeat(200)
  expect((await register({ url, description })).body).toMatchObject({ description })
  expect((await register({ url, description: `${description}!` })).body.errors).toMatchObject([
    { pointer: '/description', detail: 'must have at most 200 characters' },
  ])
})

test('unknown parameters are refused by name', async () => {
  const { webhook_id } = (await register({ url })).body
  const deliveries = `/v1/webhooks/${webhook_id}/deliveries`
  for (const [path, name] of [
    ['/v1/webhooks?limit=0', 'limit'],
    ['/v1/webhooks?page=2', 'page'],
    [`/v1/webhooks/${webhook_id}?x=1`, 'x'],
    [`${deliveries}?status=lost`, 'status'],
    [`${deliveries}?offset=-1`, 'offset'],
  ])
    expect((await app.send(path as string)).body).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: `?${name}` }],
    })
})

test('what was sent is listed by its state', async () => {
  const account = await app.createAccount(100)
  const { webhook_id } = (await register({ url }, account.key)).body
  const made: string[] = []
  for (let i = 0; i < 3; i++) {
    const started = await app.generate('test/instant/text-to-image', { prompt: 'x' }, { wait: false, account })
    const path = `/v1/jobs/${started.body.job_id}/cancel`
    made.push((await app.send(path, { method: 'POST', key: account.key })).body.job_id)
  }
  const list = async (query: string) =>
    (await app.send(`/v1/webhooks/${webhook_id}/deliveries${query}`, { key: account.key })).body
  const all = await list('')
  expect(all.data.map(({ job_id }: any) => job_id)).toEqual(made.toReversed())
  expect(all.data[0]).toMatchObject({ type: 'job.canceled', status: 'pending', attempts: [], error: null })
  expect(all.data[0].next_attempt_at).toBe(all.data[0].created_at)
  expect(await list('?status=pending&limit=1')).toMatchObject({ total: 3, has_more: true, data: [{}] })
  expect(await list('?status=delivered')).toMatchObject({ total: 0, data: [] })
  expect(await list('?status=failed')).toMatchObject({ total: 0, data: [] })
})

test('every route needs the permission webhooks and names it', async () => {
  const key = await app.createKey(app.account.accountId, ['generate', 'jobs:read', 'models:read', 'wallet:read'])
  for (const [method, path] of [
    ['POST', ''],
    ['GET', ''],
    ['GET', '/wh_x'],
    ['DELETE', '/wh_x'],
    ['GET', '/wh_x/deliveries'],
  ] as const) {
    const body = method === 'POST' ? { body: { url: 7 } } : {}
    const answer = await app.send(`/v1/webhooks${path}`, { method, key, ...body })
    expect(answer.body).toMatchObject({ status: 403, code: 'missing_permission', permission: 'webhooks' })
  }
})

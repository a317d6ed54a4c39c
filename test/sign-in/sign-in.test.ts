// People who sign in at a real OpenID provider, through a server, and through a gateway in front of it (P335–P343).
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApp } from '../../src/app/start.ts'
import { readConfig } from '../../src/config.ts'
import type { TestApp } from '../test-app.ts'
import { awaitStatus, read, signIn, type SignInSite, startSite } from './people.ts'
import { createBrowser, type TestProvider } from './provider.ts'

const ann = { subject: 'ann-1', claims: { email: 'Ann@example.com', email_verified: true } }
const stack = new AsyncDisposableStack()
let site: SignInSite
let startServer: SignInSite['startServer']
let provider: TestProvider
/** Nobody can sign in here; its accounts are those of the others. */
let base: TestApp
let server: TestApp
let gatewayUrl: string
let team: string
let ops: string

beforeAll(async () => {
  site = stack.use(await startSite())
  ;({ provider, base, startServer } = site)
  team = base.account.accountId
  ops = (await base.createAccount(0)).accountId
  const rules = `group:ops=${ops}:admin; domain:example.com=${team}:generate,models:read,jobs:read,wallet:read`
  server = stack.use(
    await startServer(rules, { MEDIAGEN_CORS_ORIGINS: 'https://app.example', MEDIAGEN_FAILED_KEYS_PER_MINUTE: '0' }),
  )
  const settings = { MEDIAGEN_HTTP_PORT: '0', MEDIAGEN_CORE_URL: server.app.grpcUrl ?? '' }
  const gateway = stack.use(await startApp(readConfig(settings), { log: pino({ level: 'silent' }) }))
  gatewayUrl = gateway.httpUrl
  site.redirectUris.push(`${gatewayUrl}/sign-in/callback`)
})
afterAll(() => stack.disposeAsync())
beforeEach(() => {
  Object.assign(provider, { person: ann, changeToken: null, changeAnswer: null })
})

const doors = [
  ['a server', () => server.app.httpUrl],
  ['a gateway in front of it', () => gatewayUrl],
] as const

describe.each(doors)('through %s', (_name, urlOf) => {
  test('P335: a person signs in, is a key of the account that the rules name, and signs out', async () => {
    const url = urlOf()
    const { browser, end, status, token } = await signIn(url, createBrowser(), '/docs#/operation/getJob')
    expect([end, status]).toEqual([`${url}/docs#/operation/getJob`, 200])
    const { host } = new URL(provider.issuer)
    expect((await read(browser, `${url}/sign-in/state`)).body).toEqual({
      provider: host,
      person: 'Ann@example.com',
      session_id: expect.stringMatching(/^sess_/),
    })
    const { body } = await read(browser, `${url}/v1/account`)
    expect(body.account_id).toBe(team)
    expect(body.key).toMatchObject({ name: 'Ann@example.com', prefix: 'mgs_' })
    expect(body.key.permissions.toSorted()).toEqual(['generate', 'jobs:read', 'models:read', 'wallet:read'])
    const again = await signIn(url)
    expect((await read(again.browser, `${url}/v1/account`)).body.key.key_id).toBe(body.key.key_id)

    const origin = { headers: { origin: url }, method: 'POST' }
    expect((await read(browser, `${url}/sign-out`, origin)).status).toBe(204)
    expect(browser.jar.get(new URL(url).host)?.has('mediagen-session')).toBe(false)
    expect((await read(browser, `${url}/v1/account`)).body.code).toBe('authentication_required')
    expect((await read(browser, `${url}/sign-in/state`)).body.person).toBeNull()
    const asKey = { headers: { authorization: `Bearer ${token}` } }
    await awaitStatus(401, () => read(createBrowser(), `${url}/v1/account`, asKey))
    expect((await read(browser, `${url}/sign-out`, origin)).status).toBe(204)
    expect((await read(again.browser, `${url}/v1/account`)).status).toBe(200)
  })

  test('P339: a revoked session stops within a second, and a revoked key keeps the person out until readmitted', async () => {
    const url = urlOf()
    provider.person = { subject: `eve-${url}`, claims: { email: 'eve@example.com', email_verified: true } }
    const first = await signIn(url)
    const second = await signIn(url)
    const account = (one: typeof first) => read(one.browser, `${url}/v1/account`)
    const keyId = (await account(first)).body.key.key_id
    const { sessions } = await server.admin.listSessions({ accountId: team })
    const [newest, older] = sessions.filter((session) => session.keyId === keyId)
    expect(newest).toMatchObject({ name: 'eve@example.com' })
    await server.admin.revokeSession({ sessionId: older?.sessionId ?? '' })
    await awaitStatus(401, () => account(first))
    expect((await account(second)).status).toBe(200)
    await server.admin.revokeKey({ keyId })
    await awaitStatus(401, () => account(second))
    const refused = await signIn(url)
    expect(refused).toMatchObject({ status: 403, token: null })
    expect(refused.text).toContain('has revoked your access')
    await server.admin.readmitPerson({ keyId })
    const back = await signIn(url)
    expect((await account(back)).body.key.key_id).not.toBe(keyId)
    await expect(server.admin.readmitPerson({ keyId })).rejects.toThrow('kept out')
    await expect(server.admin.revokeSession({ sessionId: 'sess_none' })).rejects.toThrow('session_not_found')
  })

  test('P338: a callback without its cookie, with that of another browser, or a second time makes no session', async () => {
    const url = urlOf()
    const browser = createBrowser()
    const callback = await browser.follow(`${url}/sign-in`, (to) => to.startsWith(`${url}/sign-in/callback`))
    const { host } = new URL(url)
    const jar = browser.jar.get(host) as Map<string, string>
    const sealed = jar.get('mediagen-sign-in') ?? ''
    const before = provider.tokenRequests()
    const bare = await read(createBrowser(), callback.url)
    expect(bare.status).toBe(403)
    expect(bare.body).toContain('Sign in again')
    const attempt = (cookie: string, query = new URL(callback.url).search) =>
      read(createBrowser(), `${url}/sign-in/callback${query}`, { headers: { cookie: `mediagen-sign-in=${cookie}` } })
    const other = createBrowser()
    await other.fetch(`${url}/sign-in`)
    for (const cookie of [
      other.jar.get(host)?.get('mediagen-sign-in') ?? '',
      'x'.repeat(9000),
      sealed.slice(0, -2),
      `${sealed.slice(0, 40)}${sealed[40] === 'A' ? 'B' : 'A'}${sealed.slice(41)}`,
      '',
    ]) {
      const { status, body } = await attempt(cookie)
      expect([cookie.slice(0, 20), status]).toEqual([cookie.slice(0, 20), 403])
      expect(body).toContain('Begin again')
    }
    expect((await attempt(sealed, '?state=other&code=x')).status).toBe(403)
    expect(provider.tokenRequests()).toBe(before)
    expect((await read(browser, callback.url)).status).toBe(302)
    const replayed = await attempt(sealed)
    expect(replayed.status).toBe(403)
    expect((await read(browser, `${url}/v1/account`)).status).toBe(200)
  })

  test.each([
    ['a form of another site', 'POST', { origin: 'https://evil.example', 'content-type': 'text/plain' }],
    ['a script of another site', 'POST', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', 'POST', { origin: 'http://other.localhost', 'sec-fetch-site': 'same-site' }],
    ['a page without an origin', 'POST', { origin: 'null' }],
    ['a request that says nothing', 'POST', {}],
    ['a website that MEDIAGEN_CORS_ORIGINS names', 'GET', { origin: 'https://app.example' }],
    ['a picture on another site', 'GET', { 'sec-fetch-site': 'cross-site' }],
  ])('P337: the cookie does not work for %s', async (_who, method, headers) => {
    const url = urlOf()
    const { browser, token } = await signIn(url)
    const paths =
      method === 'GET' ? ['/v1/wallet', '/v1/jobs'] : ['/v1/quotes', '/v1/files', '/mcp', '/v1/jobs/x/cancel']
    for (const path of paths) {
      const { status, body } = await read(browser, url + path, { method, headers })
      expect([path, status, body.code]).toEqual([path, 403, 'origin_not_allowed'])
    }
    if (method === 'POST') expect((await read(browser, `${url}/sign-out`, { method, headers })).status).toBe(403)
    else expect((await read(browser, `${url}/sign-in/state`, { headers })).body.person).toBeNull()
    // A key in the request is what it is without a cookie.
    const own = { ...headers, authorization: `Bearer ${base.account.key}` }
    expect((await read(browser, `${url}/v1/wallet`, { headers: own })).status).toBe(200)
    expect((await read(browser, `${url}/v1/wallet`)).status).toBe(200)
    expect(token).not.toBeNull()
  })

  test('P375: a person sees the browsers in which they are signed in, and ends one of them', async () => {
    const url = urlOf()
    provider.person = { subject: `fay-${url}`, claims: { email: 'fay@example.com', email_verified: true } }
    const here = await signIn(url)
    const there = await signIn(url, createBrowser('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0'))
    const list = async () => (await read(here.browser, `${url}/sign-in/sessions`)).body.sessions
    const own = (await read(here.browser, `${url}/sign-in/state`)).body.session_id
    const sessions = await list()
    expect(sessions).toHaveLength(2)
    expect(sessions[0]).toEqual({
      session_id: expect.stringMatching(/^sess_/),
      created_at: expect.stringMatching(/Z$/),
      expires_at: expect.stringMatching(/Z$/),
      last_seen_at: null,
      address: '127.0.0.1',
      browser: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0',
    })
    expect(sessions[1].session_id).toBe(own)
    const end = (sessionId: string, headers: Record<string, string> = { origin: url }) =>
      read(here.browser, `${url}/sign-in/sessions/${sessionId}`, { method: 'DELETE', headers })
    expect((await end(sessions[0].session_id, { origin: 'https://evil.example' })).body.code).toBe('origin_not_allowed')
    // Not those of others, who may be of the same account.
    provider.person = ann
    await signIn(url)
    const { sessions: all } = await server.admin.listSessions({ accountId: team, working: true })
    const ofAnn = all.find(({ name }) => name === 'Ann@example.com')?.sessionId ?? ''
    expect((await end(ofAnn)).body.code).toBe('session_not_found')
    expect((await server.admin.listSessions({ working: true })).sessions.map(({ sessionId }) => sessionId)).toContain(
      ofAnn,
    )
    expect((await end(sessions[0].session_id)).status).toBe(204)
    await awaitStatus(401, () => read(there.browser, `${url}/v1/account`))
    expect((await list()).map((one: { session_id: string }) => one.session_id)).toEqual([own])
    expect((await read(createBrowser(), `${url}/sign-in/sessions`)).body.code).toBe('authentication_required')
    // A session that has ended sees nothing.
    const gone = await read(there.browser, `${url}/sign-in/sessions`)
    expect([gone.status, gone.body.code]).toEqual([401, 'invalid_api_key'])
  })

  test.each([
    ['its pages', { 'sec-fetch-site': 'same-origin' }],
    ['its pages without TLS', null],
  ])('P337: the cookie works for %s', async (_who, headers) => {
    const url = urlOf()
    const { browser } = await signIn(url)
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(headers ?? { origin: url }) },
      body: JSON.stringify({ model: 'test/instant/text-to-image', input: { prompt: 'x' } }),
    }
    expect((await read(browser, `${url}/v1/quotes`, init)).status).toBe(200)
    expect((await read(browser, `${url}/v1/wallet`, { headers: { 'sec-fetch-site': 'none' } })).status).toBe(200)
  })

  test('P341: whatever path a sign-in is to return to, it returns to this server', async () => {
    const url = urlOf()
    for (const to of [
      '//evil.example',
      '/\\evil.example',
      '/.//evil.example',
      'https://evil.example/',
      'evil',
      '/\t/evil.example',
      `/${'x'.repeat(600)}`,
    ])
      expect([to, (await signIn(url, createBrowser(), to)).end]).toEqual([to, `${url}/`])
    expect((await signIn(url, createBrowser(), '/problems?x=1#a')).end).toBe(`${url}/problems?x=1#a`)
  })

  test('P340: who the rules do not name is refused in words, and nothing is made', async () => {
    const url = urlOf()
    const { total } = await server.admin.listSessions({})
    for (const [claims, words] of [
      [{ email: 'ann@other.example', email_verified: true }, 'ann@other.example, whom this server does not admit'],
      [{ email: 'ann@sub.example.com', email_verified: true }, 'does not admit'],
      [{ email: 'ann@example.com', email_verified: false }, 'without an e-mail address that it has verified'],
      [{ email: 'ann@example.com' }, 'without an e-mail address that it has verified'],
      [{ email: 'x@evil.example, ann@example.com', email_verified: true }, 'without an e-mail address'],
      [{}, 'without an e-mail address that it has verified'],
      [{ groups: ['opsx', 'op'], email: 7, email_verified: true }, 'does not admit'],
    ] as const) {
      provider.person = { subject: 'bob-1', claims }
      const { status, text, token } = await signIn(url)
      expect([status, token]).toEqual([403, null])
      expect(text).toContain(words)
    }
    provider.person = null
    const refused = await signIn(url)
    expect(refused.status).toBe(403)
    expect(refused.text).toContain('it answered access_denied')
    expect((await server.admin.listSessions({})).total).toBe(total)
  })
})

test('P336: a person of a group has what the rule of the group gives, without an address too', async () => {
  provider.person = { subject: 'op-1', claims: { groups: ['staff', 'ops'] } }
  const { browser } = await signIn(server.app.httpUrl)
  const { body } = await read(browser, `${server.app.httpUrl}/v1/account`)
  expect(body).toMatchObject({ account_id: ops, key: { name: 'op-1', permissions: ['admin'] } })
  const call = (headers: Record<string, string>) =>
    read(browser, `${server.app.httpUrl}/mediagen.v1.AdminService/ListAccounts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{}',
    })
  expect((await call({ origin: server.app.httpUrl })).status).toBe(200)
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, {}] as const)
    expect((await call(headers)).body.code).toBe('origin_not_allowed')
})

test('P336: other rules end the sessions of those before, and the next sign-in gets what they give', async () => {
  const { browser, token } = await signIn(server.app.httpUrl)
  const keyId = (await read(browser, `${server.app.httpUrl}/v1/account`)).body.key.key_id
  await using narrower = await startServer(
    `email:ann@example.com=${team}:models:read; domain:example.com=${team}:admin`,
  )
  const { httpUrl } = narrower.app
  const init = { headers: { authorization: `Bearer ${token}` } }
  expect((await read(createBrowser(), `${httpUrl}/v1/account`, init)).body.code).toBe('invalid_api_key')
  const again = await signIn(httpUrl)
  const { body } = await read(again.browser, `${httpUrl}/v1/account`)
  expect(body.key).toMatchObject({ key_id: keyId, permissions: ['models:read'] })
  expect((await read(again.browser, `${httpUrl}/v1/wallet`)).body.code).toBe('missing_permission')
  // Without sign-in no session works.
  const asBefore = await base.send('/v1/account', { key: again.token })
  expect(asBefore.body.code).toBe('invalid_api_key')
  await signIn(server.app.httpUrl)
})

test('P339: a session ends when its time is over, and a sign-in that took longer than ten minutes', async () => {
  const clock = { ms: Date.now(), nowMs: () => clock.ms }
  await using app = await startServer(
    `domain:example.com=${team}:models:read`,
    { MEDIAGEN_SESSION_HOURS: '2' },
    { clock },
  )
  const { httpUrl } = app.app
  const { browser } = await signIn(httpUrl)
  const late = createBrowser()
  const callback = await late.follow(`${httpUrl}/sign-in`, (to) => to.startsWith(`${httpUrl}/sign-in/callback`))
  clock.ms += 601_000
  expect((await read(late, callback.url)).status).toBe(403)
  clock.ms += 2 * 3_600_000 - 602_000
  await setTimeout(600)
  expect((await read(browser, `${httpUrl}/v1/account`)).status).toBe(200)
  clock.ms += 2000
  expect((await read(browser, `${httpUrl}/v1/account`)).body.detail).toContain('The session is unknown, has ended')
  expect((await read(browser, `${httpUrl}/sign-in/state`)).body.person).toBeNull()
})

describe('P340: an answer of the provider that is not right makes no session', () => {
  const now = (): number => Math.floor(Date.now() / 1000)
  test.each<[string, (claims: Record<string, any>) => void, string]>([
    ['another audience', (claims) => (claims['aud'] = 'another client'), 'for another client'],
    ['another issuer', (claims) => (claims['iss'] = 'https://evil.example'), 'for another client, issuer'],
    ['the nonce of another sign-in', (claims) => (claims['nonce'] = 'seen before'), 'or sign-in'],
    ['a token that has long expired', (claims) => (claims['exp'] = now() - 90), 'by the clock of this server'],
    ['another person at the UserInfo endpoint', (claims) => (claims['sub'] = 'bob'), 'different issuers or persons'],
  ])('%s', async (_what, change, words) => {
    provider.changeToken = change
    const { status, text, token } = await signIn(server.app.httpUrl)
    expect([status, token]).toEqual([403, null])
    expect(text).toContain(words)
  })

  test('a token that another key has signed', async () => {
    provider.changeAnswer = (path, body) => {
      if (path === '/token') body['id_token'] = String(body['id_token']).replace(/.{8}$/, 'AAAAAAAA')
    }
    expect((await signIn(server.app.httpUrl)).status).toBe(403)
  })

  test('an address of which only another was verified', async () => {
    const url = server.app.httpUrl
    provider.changeToken = (claims) => Object.assign(claims, { email: 'mallory@evil.example', email_verified: true })
    provider.changeAnswer = (path, body) => {
      if (path === '/me') delete body['email_verified']
    }
    const { status, text } = await signIn(url)
    expect(status).toBe(403)
    expect(text).toContain('without an e-mail address that it has verified')
    // Where the two are the same, either may say so.
    provider.changeToken = (claims) => Object.assign(claims, { email: ann.claims['email'], email_verified: true })
    expect((await signIn(url)).status).toBe(200)
  })

  test('clocks may be a minute apart', async () => {
    provider.changeToken = (claims) => (claims['exp'] = now() - 30)
    expect((await signIn(server.app.httpUrl)).status).toBe(200)
  })

  test('a provider that names another issuer is not used, nor one that fails', async () => {
    await using app = await startServer(`domain:example.com=${team}:models:read`)
    provider.changeAnswer = (path, body) => {
      if (path.startsWith('/.well-known')) body['issuer'] = 'https://evil.example'
    }
    const lying = await signIn(app.app.httpUrl)
    expect(lying.status).toBe(503)
    expect(lying.text).toContain('name different issuers')
    provider.changeAnswer = (path) => (path === '/token' ? 500 : undefined)
    // That it lied is remembered for a few seconds.
    await expect.poll(async () => (await signIn(app.app.httpUrl)).text).not.toContain('name different issuers')
    const failing = await signIn(app.app.httpUrl)
    expect(failing.status).toBe(503)
    provider.changeAnswer = null
    expect((await signIn(app.app.httpUrl)).status).toBe(200)
  })
})

test('P337: behind TLS the cookies are secure ones, which no other host of the domain can set', async () => {
  const settings = { MEDIAGEN_PUBLIC_URL: 'https://media.example' }
  await using app = await startServer(`domain:example.com=${team}:models:read`, settings)
  const response = await fetch(`${app.app.httpUrl}/sign-in`, { redirect: 'manual' })
  const location = new URL(response.headers.get('location') ?? '')
  expect(location.origin).toBe(provider.issuer)
  expect(location.searchParams.get('redirect_uri')).toBe('https://media.example/sign-in/callback')
  expect(location.searchParams.get('code_challenge_method')).toBe('S256')
  expect(response.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-mediagen-sign-in=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/),
  ])
  const { token } = await signIn(server.app.httpUrl)
  const plain = { headers: { cookie: `mediagen-session=${token}` } }
  expect((await read(createBrowser(), `${app.app.httpUrl}/v1/account`, plain)).body.code).toBe(
    'authentication_required',
  )
})

test('P343: where no provider is set, nobody signs in, and a cookie is nothing', async () => {
  const { token } = await signIn(server.app.httpUrl)
  expect((await base.send('/sign-in/state', { key: null })).body).toEqual({
    provider: null,
    person: null,
    session_id: null,
  })
  const answer = await base.send('/sign-in', { key: null })
  expect(answer.status).toBe(404)
  expect(answer.body).toContain('it works with API keys')
  const cookie = `mediagen-session=${token}`
  expect((await base.send('/v1/account', { key: null, headers: { cookie } })).body.code).toBe('invalid_api_key')
  const garbage = { cookie: `mediagen-session=mgs_x; other=${'x'.repeat(8000)}` }
  expect((await base.send('/v1/account', { key: null, headers: garbage })).body.code).toBe('authentication_required')
})

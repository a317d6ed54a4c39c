// What a session and the keys that a person made may still do after it was revoked, after other rules, and while the provider is away.
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { createProvider } from '../../src/sign-in/provider.ts'
import type { TestApp } from '../test-app.ts'
import { awaitStatus, read, signIn, type SignInSite, startSite } from './people.ts'
import { createBrowser, startProvider, type TestProvider } from './provider.ts'

const ann = { subject: 'ann-1', claims: { email: 'ann@example.com', email_verified: true } }
const stack = new AsyncDisposableStack()
let site: SignInSite
let startServer: SignInSite['startServer']
let provider: TestProvider
/** Nobody can sign in here; its accounts are those of the others. */
let base: TestApp
let server: TestApp
let team: string
let ops: string

beforeAll(async () => {
  site = stack.use(await startSite())
  ;({ provider, base, startServer } = site)
  team = base.account.accountId
  ops = (await base.createAccount(0)).accountId
  server = stack.use(await startServer(`domain:example.com=${team}:generate,models:read,jobs:read,wallet:read`))
})
afterAll(() => stack.disposeAsync())
beforeEach(() => {
  Object.assign(provider, { person: ann, changeToken: null, changeAnswer: null })
})

test('P374: a session that is revoked gets nothing more over a stream that is open', async () => {
  const { httpUrl } = server.app
  const { browser, token } = await signIn(httpUrl)
  const gate = server.gate()
  const { body: job } = await server.generate('test/gate/text-to-image', gate.input, {
    wait: false,
    account: { accountId: team, key: base.account.key },
  })
  await gate.begun()
  const events = await browser.fetch(`${httpUrl}/v1/jobs/${job.job_id}/events`)
  const ended = events.text()
  const asPerson = { headers: { authorization: `Bearer ${token}` } }
  const grpc = createClient(GenerationService, createGrpcTransport({ baseUrl: server.app.grpcUrl ?? '' }))
  const watch = grpc.watchJob({ jobId: job.job_id }, asPerson)[Symbol.asyncIterator]()
  await watch.next()
  const watched = (async () => {
    while (!(await watch.next()).done);
  })()
  const own = (await read(browser, `${httpUrl}/sign-in/state`)).body.session_id
  await server.admin.revokeSession({ sessionId: own })
  expect(await ended).not.toContain('"succeeded"')
  await expect(watched).rejects.toThrow('invalid_api_key: The session is unknown, has ended or was revoked.')
  gate.open()
})

test('P376: keys that a person made do what the rules of now give that person, at once', async () => {
  const rulesOf = (permissions: string) =>
    `group:makers=${team}:${permissions}; email:ann@example.com=${team}:jobs:read; domain:example.com=${ops}:admin`
  provider.person = {
    subject: 'gil',
    claims: { email: 'gil@example.com', email_verified: true, groups: ['makers', 'all'] },
  }
  await using before = await startServer(rulesOf('keys:write,models:read,wallet:read'))
  const { browser } = await signIn(before.app.httpUrl)
  const { body: made } = await read(browser, `${before.app.httpUrl}/v1/keys`, {
    method: 'POST',
    headers: { origin: before.app.httpUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ permissions: ['models:read', 'wallet:read'], name: 'script' }),
  })
  const use = (app: TestApp, path: string) => app.send(path, { key: made.key })
  expect((await use(before, '/v1/wallet')).status).toBe(200)

  await using narrower = await startServer(rulesOf('keys:write,models:read'))
  expect((await use(narrower, '/v1/models')).status).toBe(200)
  expect((await use(narrower, '/v1/wallet')).body.code).toBe('missing_permission')
  expect((await use(narrower, '/v1/key')).body.permissions).toEqual(['models:read'])
  // More than the key was made with it never may.
  await using wider = await startServer(rulesOf('admin,generate,keys:write,models:read,wallet:read'))
  expect((await use(wider, '/v1/key')).body.permissions.toSorted()).toEqual(['models:read', 'wallet:read'])
  // Another account, nobody, another provider, no provider: it does nothing.
  await using elsewhere = await startServer(`domain:example.com=${ops}:models:read,wallet:read`)
  await using nobody = await startServer(`email:ann@example.com=${team}:models:read`)
  await using others = await startServer(rulesOf('models:read'), { MEDIAGEN_OIDC_ISSUER: 'https://login.example' })
  for (const app of [elsewhere, nobody, others, base]) {
    const { status, body } = await use(app, '/v1/models')
    expect([status, body.code]).toEqual([401, 'invalid_api_key'])
    expect(body.detail).toContain('not admitted by the rules of sign-in as they are now')
  }
  // The operator's keys have no person.
  expect((await nobody.send('/v1/account')).status).toBe(200)
  // The provider says another thing at the next sign-in: the key follows within a second.
  provider.person = { subject: 'gil', claims: { email: 'gil@else.example', email_verified: true, groups: [] } }
  expect((await signIn(before.app.httpUrl)).status).toBe(403)
  expect((await use(before, '/v1/wallet')).status).toBe(200)
  const { keyId = '' } = (await before.admin.listSessions({ accountId: team })).sessions[0] ?? {}
  await before.admin.endSessions({ keyId, withKeys: true })
  await awaitStatus(401, () => use(before, '/v1/wallet'))
  expect((await read(browser, `${before.app.httpUrl}/v1/account`)).status).toBe(401)
})

test('P378: a provider that failed is not asked again for each visitor, but after five seconds', async () => {
  let asked = 0
  const causes: unknown[] = []
  const clock = { ms: 0 }
  const { issuer } = provider
  const settings = { issuer, clientId: 'mediagen', clientSecret: 'a secret of the client', scopes: 'openid' }
  const asking = createProvider(
    settings,
    (error) => causes.push(error),
    () => clock.ms,
  )
  const begin = () => asking.begin(`${server.app.httpUrl}/sign-in/callback`)
  provider.changeAnswer = (path) => {
    if (!path.startsWith('/.well-known')) return undefined
    asked += 1
    return 503
  }
  for (const ms of [0, 1, 4999]) {
    clock.ms = ms
    const refusals = await Promise.allSettled([begin(), begin()])
    for (const refusal of refusals)
      expect(refusal).toMatchObject({
        reason: {
          code: 'sign_in_unavailable',
          message: expect.stringContaining('Try again in a few seconds'),
          details: { retryAfterSeconds: 5 },
        },
      })
  }
  expect([asked, causes.length]).toEqual([1, 1])
  clock.ms = 5000
  await expect(begin()).rejects.toThrow('does not work now')
  expect(asked).toBe(2)
  provider.changeAnswer = null
  clock.ms = 9999
  await expect(begin()).rejects.toThrow('does not work now')
  clock.ms = 10_000
  expect((await begin()).url).toMatch(`${issuer}/`)
})

test('P342: a provider that is away keeps nobody from starting a server, and sessions and keys work on', async () => {
  const { browser, token } = await signIn(server.app.httpUrl)
  const away = await startProvider(() => site.redirectUris)
  await away.stop()
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  await using app = await startServer(`domain:example.com=${team}:models:read`, away.settings, { log })
  const { status, text } = await signIn(app.app.httpUrl)
  expect(status).toBe(503)
  expect(text).toContain('does not answer')
  expect((await app.send('/v1/account')).status).toBe(200)
  expect((await read(browser, `${server.app.httpUrl}/v1/account`)).status).toBe(200)
  expect(lines.join('')).toContain('a sign-in failed')
  expect(lines.join('')).not.toContain(token)
})

test('P340: a client that tries many callbacks is slowed down before the provider hears of it', async () => {
  const settings = { MEDIAGEN_FAILED_KEYS_PER_MINUTE: '2' }
  await using app = await startServer(`domain:example.com=${team}:models:read`, settings)
  const { httpUrl } = app.app
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) {
    const browser = createBrowser()
    const begun = await browser.fetch(`${httpUrl}/sign-in`)
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
    statuses.push((await read(browser, `${httpUrl}/sign-in/callback?code=guess&state=${state}`)).status)
  }
  expect(statuses).toEqual([403, 403, 429])
  await using other = await startServer(`domain:example.com=${team}:models:read`, settings)
  for (let i = 0; i < 4; i++) expect((await signIn(other.app.httpUrl)).status).toBe(200)
})

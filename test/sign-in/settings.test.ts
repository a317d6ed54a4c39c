// The settings of signing in: every fault is named at the start, the secret is in no line, and nothing is loaded without them (P336, P343).
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createLogger } from '../../src/app/observe/log.ts'
import { readSignIn } from '../../src/app/sign-in.ts'
import { readConfig } from '../../src/config.ts'
import { createSessionToken } from '../../src/core/accounts/session.ts'
import { admit, parseSignInAccess } from '../../src/core/accounts/sign-in.ts'
import { StartupError } from '../../src/core/errors.ts'
import { createSecrets } from '../../src/engines/secrets.ts'
import { keepLines } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'

const whole = {
  MEDIAGEN_OIDC_ISSUER: 'https://login.example.com',
  MEDIAGEN_OIDC_CLIENT_ID: 'mediagen',
  MEDIAGEN_OIDC_CLIENT_SECRET: 'not in any line',
  MEDIAGEN_OIDC_ACCESS: 'domain:example.com=acct_1:generate',
}
const noSecrets = createSecrets({})

describe('a wrong value is refused with every fault', () => {
  test.each([
    ['MEDIAGEN_OIDC_ISSUER', 'login.example.com', ['https:']],
    ['MEDIAGEN_OIDC_ISSUER', 'http://login.example.com', ['unless the provider is on this machine']],
    ['MEDIAGEN_OIDC_ISSUER', 'https://login.example.com/?x=1', ['without a query']],
    ['MEDIAGEN_OIDC_SCOPES', 'email', ['openid']],
    ['MEDIAGEN_SESSION_HOURS', '0', ['1 to 720']],
    [
      'MEDIAGEN_OIDC_ACCESS',
      'ops=acct_1:admin; group:ops=acct_1:root,generate; domain:example=acct_1:admin; email:ann=acct_1:admin; group:x=team:admin',
      [
        '`ops=acct_1:admin` is no rule',
        '`root` is no permission',
        '`example` is no domain',
        '`ann` is no e-mail address',
        '`group:x=team:admin` is no rule',
      ],
    ],
  ])('%s=%s', (name, value, words) => {
    const read = (): unknown => readConfig({ ...whole, [name]: value })
    expect(read).toThrow(StartupError)
    for (const each of [name, ...words]) expect(read).toThrow(each)
  })

  test('http is for a provider on this machine', () => {
    for (const issuer of ['http://127.0.0.1:3000', 'http://localhost/realms/x', 'http://[::1]:1'])
      expect(readConfig({ MEDIAGEN_OIDC_ISSUER: issuer }).oidcIssuer).toBe(issuer)
  })
})

test('an issuer needs the other three, and they need an issuer; all that is missing is named', () => {
  expect(readSignIn(readConfig({}), noSecrets)).toBeNull()
  expect(readSignIn(readConfig(whole), noSecrets)).toMatchObject({
    issuer: 'https://login.example.com',
    sessionMs: 43_200_000,
  })
  const { MEDIAGEN_OIDC_ISSUER: issuer, ...others } = whole
  expect(() => readSignIn(readConfig({ MEDIAGEN_OIDC_ISSUER: issuer }), noSecrets)).toThrow(
    'needs MEDIAGEN_OIDC_CLIENT_ID, MEDIAGEN_OIDC_CLIENT_SECRET, MEDIAGEN_OIDC_ACCESS',
  )
  expect(() => readSignIn(readConfig(others), noSecrets)).toThrow('needs MEDIAGEN_OIDC_ISSUER')
})

test('a server does not start with rules for accounts that do not exist', async () => {
  const rules = 'group:a=acct_none:admin; domain:example.com=acct_nobody:generate; group:b=acct_none:generate'
  await expect(startTestApp({ ...whole, MEDIAGEN_OIDC_ACCESS: rules })).rejects.toThrow(
    'MEDIAGEN_OIDC_ACCESS names accounts that do not exist: acct_none, acct_nobody.',
  )
})

test('P336: the first rule that fits decides; names of groups count to the letter, domains and addresses do not', () => {
  const access = parseSignInAccess(
    'email:Ann@Example.com=acct_1:admin; domain:EXAMPLE.com = acct_2 : generate , jobs:read ; group:a: b=acct_3:generate,generate',
  )
  if (access === null) throw new Error('there are rules')
  const of = (email: string | null, ...groups: string[]) => admit(access, { email, groups })
  expect(of('ann@EXAMPLE.COM', 'a: b')).toEqual({ accountId: 'acct_1', permissions: ['admin'] })
  expect(of('bob@example.com')).toEqual({ accountId: 'acct_2', permissions: ['generate', 'jobs:read'] })
  expect(of(null, 'a: b')).toEqual({ accountId: 'acct_3', permissions: ['generate'] })
  for (const email of ['bob@notexample.com', 'bob@example.com.evil', '"x@example.com"@evil', null])
    expect(of(email, 'A: B')).toBeNull()
  expect(parseSignInAccess(' ; ')).toBeNull()
})

test('the log has neither the secret nor the text of a session', () => {
  const { lines, sink } = keepLines()
  const secrets = createSecrets(whole)
  readSignIn(readConfig(whole), secrets)
  const token = createSessionToken()
  createLogger('info', sink, secrets).info({ answer: `${whole.MEDIAGEN_OIDC_CLIENT_SECRET} ${token}` }, 'answered')
  expect(lines[0].answer).toBe('[MEDIAGEN_OIDC_CLIENT_SECRET] mgs_[redacted]')
})

test('P343: openid-client is loaded by the first sign-in and by nothing else', () => {
  const root = join(import.meta.dirname, '../..')
  const uses = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^.*'openid-client'.*$/gm)].map(([line]) => line.trim()),
  )
  expect(uses.length).toBeGreaterThan(1)
  for (const line of uses) expect(line).toMatch(/^import type |await import\(/)
})

test('P335: operators sign in at their own port', async () => {
  const { startProvider, createBrowser } = await import('./provider.ts')
  const redirectUris: string[] = []
  await using provider = await startProvider(() => redirectUris)
  provider.person = { subject: 'op', claims: { groups: ['ops'] } }
  await using base = await startTestApp()
  await using app = await startTestApp(
    {
      ...provider.settings,
      MEDIAGEN_OIDC_ACCESS: `group:ops=${base.account.accountId}:admin`,
      MEDIAGEN_DATA_DIR: base.config.dataDir,
      MEDIAGEN_ADMIN_PORT: '0',
    },
    { log: pino({ level: 'silent' }) },
  )
  const { adminUrl } = app.app
  redirectUris.push(`${adminUrl}/sign-in/callback`)
  const browser = createBrowser()
  const { url } = await browser.follow(`${adminUrl}/sign-in`)
  expect(url).toBe(`${adminUrl}/admin`)
  const list = (headers: Record<string, string>) =>
    browser.fetch(`${adminUrl}/mediagen.v1.AdminService/ListSessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{}',
    })
  const { sessions } = (await (await list({ origin: adminUrl ?? '' })).json()) as { sessions: { name: string }[] }
  expect(sessions.map(({ name }) => name)).toEqual(['op'])
  expect((await list({ origin: app.app.httpUrl })).status).toBe(403)
  expect(
    (await browser.fetch(`${adminUrl}/sign-out`, { method: 'POST', headers: { origin: adminUrl ?? '' } })).status,
  ).toBe(204)
  expect((await list({ origin: adminUrl ?? '' })).status).toBe(401)
})

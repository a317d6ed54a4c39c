// What operators do with the sessions of people on the command line (P339).
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { noLimits } from '../../src/core/accounts/limits.ts'
import { openStoreOf } from '../test-store.ts'
import { openCommandLine } from './command-line.ts'

test('sessions are listed and revoked, and the person of a revoked key is readmitted', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'team'])
  await using store = await openStoreOf(line.dataDir)
  const signIn = () =>
    store.signIn({
      issuer: 'https://login.example',
      subject: 'ann',
      name: 'ann@example.com',
      facts: { email: 'ann@example.com', groups: [] },
      accountId: account_id,
      permissions: ['generate'],
      terms: 'terms',
      tokenHash: new Uint8Array(randomBytes(32)),
      stateHash: new Uint8Array(randomBytes(32)),
      keyHash: new Uint8Array(randomBytes(32)),
      lastsMs: 3_600_000,
      address: '192.0.2.7',
      browser: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    })
  await signIn()
  const [session] = await line.json(['admin', 'sessions', 'list', '--account', account_id])
  expect(session).toMatchObject({ account_id, name: 'ann@example.com', revoked_at: null })
  const revoked = await line.json(['admin', 'sessions', 'revoke', session.session_id])
  expect(revoked).toEqual({ ...session, revoked_at: expect.stringMatching(/Z$/) })
  expect((await line.run(['admin', 'sessions', 'revoke', 'sess_none'])).stderr).toMatch(
    /\nmediagen: There is no session "sess_none"\.\n$/,
  )
  expect((await line.json(['admin', 'keys', 'list']))[0]).toMatchObject({ key_id: session.key_id, prefix: 'mgs_' })
  expect((await line.run(['admin', 'sessions', 'readmit', session.key_id])).stderr).toContain('No person is kept out')
  await line.json(['admin', 'keys', 'revoke', session.key_id])
  expect((await signIn()).outcome).toBe('revoked')
  expect((await line.json(['admin', 'sessions', 'readmit', session.key_id])).key_id).toBe(session.key_id)
  expect((await signIn()).outcome).toBe('done')
  expect((await line.json(['admin', 'sessions', 'list'])).length).toBe(2)

  // All of a person at once, by name; the key that is revoked is another one.
  await signIn()
  const working = () => line.json(['admin', 'sessions', 'list', '--working'])
  const [newest] = await working()
  expect(newest).toMatchObject({
    address: '192.0.2.7',
    browser: expect.stringContaining('Firefox'),
    last_seen_at: null,
  })
  const made = await store.createKey({
    accountId: account_id,
    name: 'script',
    prefix: 'mgk_abcd',
    permissions: ['generate'],
    expiresAtMs: null,
    limits: noLimits,
    makerId: newest.key_id,
    secretHash: randomBytes(32),
  })
  expect((await line.run(['admin', 'sessions', 'end', 'bob@example.com'])).stderr).toContain('Nobody called "bob@')
  const ended = await line.run(['admin', 'sessions', 'end', 'ann@example.com'])
  expect(ended.stdout).toBe('Ended 2 sessions of ann@example.com: they stop working within one second.\n')
  expect(await working()).toEqual([])
  expect((await store.getKey(made?.keyId ?? ''))?.revokedAtMs).toBeNull()
  expect(await line.json(['admin', 'sessions', 'end', newest.key_id, '--with-keys'])).toEqual({
    key_id: newest.key_id,
    sessions: 0,
    keys: 1,
  })
  expect((await store.getKey(made?.keyId ?? ''))?.revokedAtMs).not.toBeNull()
})

// The part of the store contract about people and their sessions (P335, P336, P339).
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKeySecret, hashKeySecret } from '../../src/core/accounts/key.ts'
import {
  createSessionToken,
  keepSessionsMs,
  mostSessions,
  type Session,
  type SignInCommand,
} from '../../src/core/accounts/session.ts'
import { createHeldClock, digestOf, firstPage, keyOf, type OpenTestStore, type TestStore } from './fixture.ts'

const hour = 3_600_000

interface Given extends Partial<SignInCommand> {
  readonly token?: string
}

function signInOf(accountId: string, { token = createSessionToken(), ...fields }: Given = {}): SignInCommand {
  return {
    issuer: 'https://login.example',
    subject: 'ann',
    name: 'ann@example.com',
    facts: { email: 'ann@example.com', groups: ['staff'] },
    accountId,
    permissions: ['generate'],
    terms: 'terms',
    tokenHash: new Uint8Array(hashKeySecret(token)),
    stateHash: new Uint8Array(randomBytes(32)),
    keyHash: new Uint8Array(randomBytes(32)),
    lastsMs: hour,
    address: '192.0.2.7',
    browser: 'Firefox',
    ...fields,
  }
}

async function signIn(store: TestStore, accountId: string, given: Given = {}): Promise<Session> {
  const outcome = await store.signIn(signInOf(accountId, given))
  if (outcome.outcome !== 'done') throw new Error(`the sign-in was ${outcome.outcome}`)
  return outcome.session
}

export function sessionTests(openStore: OpenTestStore): void {
  test('a person is one key, which follows the name and the permissions of each sign-in', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('team', 0)
    const token = createSessionToken()
    const first = await signIn(store, accountId, { token })
    expect(first).toMatchObject({
      accountId,
      name: 'ann@example.com',
      createdAtMs: clock.ms,
      revokedAtMs: null,
      terms: 'terms',
    })
    expect(first).toMatchObject({ address: '192.0.2.7', browser: 'Firefox', lastSeenAtMs: null })
    expect(first.sessionId).toMatch(/^sess_/)
    expect(first.expiresAtMs).toBe(clock.ms + hour)
    const found = await store.findSession(token)
    expect(found).toMatchObject({ session: first })
    expect(found?.key).toMatchObject({ name: 'ann@example.com', prefix: 'mgs_', permissions: ['generate'] })
    expect(await store.findSession(createSessionToken())).toBeNull()

    const second = await signIn(store, accountId, { name: 'ann@new.example', permissions: ['models:read'] })
    expect(second.keyId).toBe(first.keyId)
    expect(await store.getKey(first.keyId)).toMatchObject({ name: 'ann@new.example', permissions: ['models:read'] })
    expect((await store.findSession(token))?.key.permissions).toEqual(['models:read'])
    const other = await signIn(store, accountId, { subject: 'bob' })
    expect(other.keyId).not.toBe(first.keyId)
    const elsewhere = await signIn(store, accountId, { issuer: 'https://other.example' })
    expect(elsewhere.keyId).not.toBe(first.keyId)
    expect((await store.listAuditEntries(accountId, firstPage)).items.map(({ act }) => act).toReversed()).toEqual([
      'account.created',
      'key.created',
      'key.signed_in',
      'key.signed_in',
      'key.created',
      'key.signed_in',
      'key.created',
      'key.signed_in',
    ])
  })

  test('a sign-in makes one session, also when its answer arrives twice at once', async () => {
    await using store = await openStore()
    await using other = await store.another()
    const { accountId } = await store.createAccount('team', 0)
    const stateHash = new Uint8Array(digestOf('state'))
    const outcomes = await Promise.all(
      [store, other, store].map((one) => one.signIn(signInOf(accountId, { stateHash }))),
    )
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['done', 'replayed', 'replayed'])
    expect((await store.listSessions({ accountId: null }, firstPage)).total).toBe(1)
    expect((await store.listKeys(accountId, firstPage)).total).toBe(1)
  })

  test('a key that a person made may do no more than the person may now', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('team', 0)
    const { keyId } = await signIn(store, accountId, { permissions: ['generate', 'jobs:read', 'keys:write'] })
    const made = await store.createKey(
      keyOf(accountId, digestOf('made'), { makerId: keyId, permissions: ['generate', 'jobs:read'] }),
    )
    await signIn(store, accountId, { permissions: ['jobs:read'] })
    expect((await store.getKey(made?.keyId ?? ''))?.permissions).toEqual(['jobs:read'])
    await signIn(store, accountId, { permissions: ['generate', 'jobs:read'] })
    expect((await store.getKey(made?.keyId ?? ''))?.permissions).toEqual(['generate', 'jobs:read'])
  })

  test('in another account a person becomes another key, and the one before is revoked with those it made', async () => {
    await using store = await openStore()
    const [before, after] = [await store.createAccount('a', 0), await store.createAccount('b', 0)]
    const token = createSessionToken()
    const { keyId } = await signIn(store, before.accountId, { token })
    const made = await store.createKey(keyOf(before.accountId, digestOf('made'), { makerId: keyId }))
    const moved = await signIn(store, after.accountId)
    expect(moved.keyId).not.toBe(keyId)
    expect((await store.getKey(keyId))?.revokedAtMs).not.toBeNull()
    expect((await store.getKey(made?.keyId ?? ''))?.revokedAtMs).not.toBeNull()
    expect((await store.findSession(token))?.session.revokedAtMs).not.toBeNull()
    expect(await store.signIn(signInOf('acct_nobody', { subject: 'carl' }))).toEqual({ outcome: 'no_account' })
    expect((await store.signIn(signInOf('acct_nobody'))).outcome).toBe('no_account')
    expect((await store.getKey(moved.keyId))?.revokedAtMs).toBeNull()
  })

  test('a revoked key ends its sessions and keeps the person out, until an operator readmits them', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('team', 0)
    const token = createSessionToken()
    const { keyId } = await signIn(store, accountId, { token })
    expect(await store.readmitPerson(keyId)).toBeNull()
    await store.revokeKey(keyId)
    expect((await store.findSession(token))?.session.revokedAtMs).not.toBeNull()
    expect((await store.listSessions({ accountId }, firstPage)).items[0]?.revokedAtMs).not.toBeNull()
    expect(await store.signIn(signInOf(accountId))).toEqual({ outcome: 'revoked', keyId })
    expect(await store.readmitPerson(keyId)).toMatchObject({ keyId })
    expect(await store.readmitPerson(keyId)).toBeNull()
    expect(await store.readmitPerson('key_nobody')).toBeNull()
    expect((await signIn(store, accountId)).keyId).not.toBe(keyId)
    expect((await store.findSession(token))?.session.revokedAtMs).not.toBeNull()
    const { items } = await store.listAuditEntries(accountId, firstPage)
    expect(items.find(({ act }) => act === 'key.readmitted')?.subject).toBe(keyId)
  })

  test('one session is revoked and the others stay; the first time counts', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('team', 0)
    const tokens = [createSessionToken(), createSessionToken()]
    const [first, second] = [
      await signIn(store, accountId, { token: tokens[0] as string }),
      await signIn(store, accountId, { token: tokens[1] as string }),
    ]
    expect(await store.findSession(tokens[0] as string)).toMatchObject({ session: { revokedAtMs: null } })
    const revoked = await store.revokeSession(first.sessionId)
    expect(revoked).toEqual({ ...first, revokedAtMs: clock.ms })
    expect((await store.findSession(tokens[0] as string))?.session.revokedAtMs).toBe(clock.ms)
    expect((await store.findSession(tokens[1] as string))?.session.revokedAtMs).toBeNull()
    clock.ms += 1000
    expect(await store.revokeSession(first.sessionId)).toEqual(revoked)
    expect(await store.revokeSession('sess_nobody')).toBeNull()
    const { items } = await store.listSessions({ accountId }, firstPage)
    expect(items.map(({ sessionId }) => sessionId)).toEqual([second.sessionId, first.sessionId])
    expect((await store.listSessions({ accountId: 'acct_nobody' }, firstPage)).total).toBe(0)
  })

  test('a person has so many live sessions, and the records of old ones go away', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('team', 0)
    const oldest = await signIn(store, accountId)
    for (let i = 0; i < mostSessions; i++) await signIn(store, accountId)
    const live = (await store.listSessions({ accountId }, firstPage)).items.filter(
      ({ revokedAtMs }) => revokedAtMs === null,
    )
    expect(live.length).toBe(mostSessions)
    expect(live.map(({ sessionId }) => sessionId)).not.toContain(oldest.sessionId)
    clock.ms += keepSessionsMs + hour + 1
    await signIn(store, accountId)
    expect((await store.listSessions({ accountId }, firstPage)).total).toBe(1)
  })

  test('P376: what the provider said last of the person comes with the keys that they made', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('team', 0)
    const { keyId } = await signIn(store, accountId, { permissions: ['generate', 'keys:write'] })
    const secret = createKeySecret()
    await store.createKey(keyOf(accountId, hashKeySecret(secret), { makerId: keyId }))
    const issuer = 'https://login.example'
    expect((await store.getKey(keyId))?.makerPerson).toBeNull()
    const facts = { email: 'ann@example.com', groups: ['staff'] }
    expect((await store.findKey(secret))?.makerPerson).toEqual({ issuer, ...facts })
    await signIn(store, accountId, { facts: { email: null, groups: [] } })
    expect((await store.findKey(secret))?.makerPerson).toEqual({ issuer, email: null, groups: [] })
  })

  test('P377: all sessions of a person end, and the keys that they made if wanted; each is on record', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('team', 0)
    const token = createSessionToken()
    const { keyId } = await signIn(store, accountId, { token })
    await signIn(store, accountId)
    const other = createSessionToken()
    await signIn(store, accountId, { subject: 'bob', token: other })
    const make = () => store.createKey(keyOf(accountId, randomBytes(32), { makerId: keyId }))
    const made = await make()
    const working = { accountId, working: { terms: null } }
    expect((await store.listSessions({ ...working, keyId }, firstPage)).total).toBe(2)
    expect((await store.listSessions({ accountId, working: { terms: 'others' } }, firstPage)).total).toBe(0)
    const by = { kind: 'command_line', osUser: 'ops' } as const
    expect(await store.endSessions(keyId, false, by)).toEqual({ sessions: 2, keys: 0 })
    expect((await store.findSession(token))?.session.revokedAtMs).toBe(clock.ms)
    expect((await store.findSession(other))?.session.revokedAtMs).toBeNull()
    expect((await store.listSessions(working, firstPage)).total).toBe(1)
    // A session that has ended makes no key, however late its call arrives; those that were made go on.
    expect(await make()).toBeNull()
    expect((await store.getKey(made?.keyId ?? ''))?.revokedAtMs).toBeNull()
    expect(await store.endSessions(keyId, true, by)).toEqual({ sessions: 0, keys: 1 })
    expect((await store.getKey(made?.keyId ?? ''))?.revokedAtMs).toBe(clock.ms)
    expect(await store.endSessions(made?.keyId ?? '', true, by)).toBeNull()
    expect(await store.endSessions('key_nobody', true, by)).toBeNull()
    const { items } = await store.listAuditEntries(accountId, firstPage)
    expect(items.slice(0, 3).map(({ act, actor }) => [act, actor])).toEqual([
      ['key.revoked', by],
      ['session.revoked', by],
      ['session.revoked', by],
    ])
    // They may sign in again, as before.
    expect((await signIn(store, accountId)).keyId).toBe(keyId)
    expect(await make()).not.toBeNull()
    clock.ms += hour
    expect(await make()).toBeNull()
    expect((await store.listSessions(working, firstPage)).total).toBe(0)
  })

  test('the last use of a session is recorded once a minute, with that of its key', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('team', 0)
    const token = createSessionToken()
    const { keyId, sessionId } = await signIn(store, accountId, { token })
    for (const aheadMs of [1000, 60_999, 61_000])
      await store.recordKeyUses([{ keyId, sessionId, atMs: clock.ms + aheadMs }])
    const [listed] = (await store.listSessions({ accountId }, firstPage)).items
    expect(listed?.lastSeenAtMs).toBe(clock.ms + 61_000)
    expect((await store.getKey(keyId))?.lastUsedAtMs).toBe(clock.ms + 61_000)
  })
}

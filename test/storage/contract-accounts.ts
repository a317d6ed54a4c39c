// The part of the store contract about accounts, the ledger, API keys and signing keys (P3, P47, P51, P62, P288).
import { expect, test } from 'vitest'
import { systemActor } from '../../src/core/accounts/audit.ts'
import { createKeySecret, hashKeySecret } from '../../src/core/accounts/key.ts'
import { maxCredits } from '../../src/core/credits/ledger.ts'
import { balanceOf, digestOf, keyOf, entriesOf, firstPage, startJob, type OpenTestStore } from './fixture.ts'

export function accountTests(openStore: OpenTestStore): void {
  test('an account is made with its credits, and with nothing', async () => {
    await using store = await openStore()
    const rich = await store.createAccount('rich', 100)
    const poor = await store.createAccount('poor', 0)
    expect(rich).toMatchObject({ name: 'rich', available: 100, held: 0 })
    expect(rich.accountId).toMatch(/^acct_/)
    expect(await store.getAccount(rich.accountId)).toEqual(rich)
    expect(await entriesOf(store, rich.accountId)).toEqual(['grant 100'])
    expect(await entriesOf(store, poor.accountId)).toEqual([])
    expect(await store.getAccount('acct_nobody')).toBeNull()
    await expect(store.createAccount('wrong', -1)).rejects.toThrow('credits')
  })

  test('accounts are listed newest first, in pages', async () => {
    await using store = await openStore()
    const made = []
    for (let i = 0; i < 5; i++) made.push((await store.createAccount(`account ${i}`, 0)).accountId)
    const ids = async (offset: number) =>
      (await store.listAccounts({ limit: 2, offset })).items.map((account) => account.accountId)
    expect([...(await ids(0)), ...(await ids(2)), ...(await ids(4))]).toEqual(made.toReversed())
    expect((await store.listAccounts({ limit: 2, offset: 4 })).total).toBe(5)
  })

  test('grants and adjustments move the balance, each by one entry', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 10)
    expect(await store.grantCredits(accountId, 5, 'welcome')).toMatchObject({
      outcome: 'done',
      account: { available: 15, held: 0 },
    })
    expect(await store.adjustCredits(accountId, -15, 'correction')).toMatchObject({
      outcome: 'done',
      account: { available: 0 },
    })
    expect(await store.adjustCredits(accountId, -1, 'too far')).toEqual({ outcome: 'out_of_range', available: 0 })
    expect(await store.grantCredits('acct_nobody', 1, null)).toEqual({ outcome: 'no_account' })
    expect(await store.adjustCredits('acct_nobody', 1, 'x')).toEqual({ outcome: 'no_account' })
    const { items, total } = await store.listEntries(accountId, { limit: 2, offset: 0 })
    expect(total).toBe(3)
    expect(items).toMatchObject([
      { kind: 'adjust', credits: -15, availableAfter: 0, heldAfter: 0, note: 'correction', jobId: null, accountId },
      { kind: 'grant', credits: 5, availableAfter: 15, heldAfter: 0, note: 'welcome' },
    ])
    expect((await store.listEntries(accountId, { limit: 2, offset: 2 })).items).toMatchObject([
      { kind: 'grant', credits: 10, note: null },
    ])
    await expect(store.grantCredits(accountId, 0, null)).rejects.toThrow('credits')
    await expect(store.adjustCredits(accountId, 0, 'nothing')).rejects.toThrow('credits')
  })

  test('a grant with a reference is made once', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const first = await store.grantCredits(accountId, 5, 'paid', systemActor, 'pay_1')
    expect(first).toMatchObject({
      outcome: 'done',
      replayed: false,
      account: { available: 5 },
      entry: { accountId, kind: 'grant', credits: 5, availableAfter: 5, note: 'paid', reference: 'pay_1' },
    })
    const entry = first.outcome === 'done' ? first.entry : null
    await store.adjustCredits(accountId, -2, 'mistake')
    const acts = (await store.listAuditEntries(null, firstPage)).total
    expect(await store.grantCredits(accountId, 5, 'again', systemActor, 'pay_1')).toEqual({
      outcome: 'done',
      replayed: true,
      account: await store.getAccount(accountId),
      entry,
    })
    expect((await store.listAuditEntries(null, firstPage)).total).toBe(acts)
    expect((await store.listEntries(accountId, firstPage)).items.at(-1)).toEqual(entry)
    // Others, with and without one, are grants of their own.
    await store.grantCredits(accountId, 5, null, systemActor, 'pay_2')
    const unnamed = { replayed: false, entry: { reference: null } }
    expect(await store.grantCredits(accountId, 5, null)).toMatchObject(unnamed)
    expect(await store.grantCredits(accountId, 5, null)).toMatchObject(unnamed)
    expect(await entriesOf(store, accountId)).toEqual(['grant 5', 'adjust -2', 'grant 5', 'grant 5', 'grant 5'])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a reference is refused for other credits and for another account, and nothing changes', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const other = await store.createAccount('b', 1)
    const full = await store.createAccount('full', maxCredits)
    await store.grantCredits(accountId, 5, null, systemActor, 'pay_1')
    const reused = { outcome: 'reference_reused', entry: { accountId, credits: 5, reference: 'pay_1' } }
    const acts = (await store.listAuditEntries(null, firstPage)).total
    for (const [id, credits] of [
      [accountId, 6],
      [other.accountId, 5],
      [full.accountId, 5],
    ] as const)
      expect(await store.grantCredits(id, credits, null, systemActor, 'pay_1')).toMatchObject(reused)
    // A refused grant leaves its reference free.
    expect(await store.grantCredits(full.accountId, 1, null, systemActor, 'pay_2')).toMatchObject({
      outcome: 'out_of_range',
    })
    expect(await balanceOf(store, accountId)).toEqual([5, 0])
    expect(await store.getAccount(other.accountId)).toEqual(other)
    expect((await store.listAuditEntries(null, firstPage)).total).toBe(acts)
    expect(await store.grantCredits(accountId, 7, null, systemActor, 'pay_2')).toMatchObject({ replayed: false })
  })

  test('of concurrent grants with one reference one is made, whatever process has them', async () => {
    await using one = await openStore()
    await using two = await one.another('two')
    const ids = [await one.createAccount('a', 0), await one.createAccount('b', 0)].map(({ accountId }) => accountId)
    for (let round = 0; round < 10; round += 1) {
      const grants = [one, two, one, two, one, two].map((store, index) =>
        store.grantCredits(ids[index % 3 === 0 ? 1 : 0] ?? '', 1, null, systemActor, `pay_${round}`),
      )
      const outcomes = (await Promise.all(grants)).map((granted) =>
        granted.outcome === 'done' ? `${granted.outcome} ${granted.replayed}` : granted.outcome,
      )
      expect(outcomes.filter((outcome) => outcome === 'done false')).toHaveLength(1)
      expect(outcomes).not.toContain('out_of_range')
    }
    const [a = 0, b = 0] = await Promise.all(ids.map(async (id) => (await one.getAccount(id))?.available))
    expect(a + b).toBe(10)
    expect((await one.verifyLedger()).problems).toEqual([])
  })

  test('a balance stays within what JSON numbers carry exactly', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('full', maxCredits)
    expect(await store.grantCredits(accountId, 1, null)).toEqual({ outcome: 'out_of_range', available: maxCredits })
    await startJob(store, accountId, { credits: maxCredits })
    expect(await balanceOf(store, accountId)).toEqual([0, maxCredits])
    expect(await store.adjustCredits(accountId, 1, 'x')).toEqual({ outcome: 'out_of_range', available: 0 })
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('the check of the ledger counts what it saw', async () => {
    await using store = await openStore()
    expect(await store.verifyLedger()).toMatchObject({ accounts: 0, entries: 0, jobs: 0, problems: [], repairs: [] })
    const { accountId } = await store.createAccount('a', 10)
    await startJob(store, accountId)
    const root = expect.stringMatching(/^[0-9a-f]{64}$/)
    const report = await store.verifyLedger()
    expect(report).toEqual({ accounts: 1, entries: 2, jobs: 1, root, problems: [], repairs: [] })
    expect(await store.readLedgerRoot()).toEqual({ root: report.root, accounts: 1 })
  })

  test('P290: the hash of a note is that of the note as it is read', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    // PostgreSQL has no character 0, and no database has half of a surrogate pair.
    await store.grantCredits(accountId, 1, 'a\0b \uD83D c')
    await store.adjustCredits(accountId, -1, '')
    expect((await store.verifyLedger()).problems).toEqual([])
  })
}

export function keyTests(openStore: OpenTestStore): void {
  test('a key is found by its text, of which only the hash is stored, and revoked once', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const [one, two] = [createKeySecret(), createKeySecret()]
    const key = await store.createKey(
      keyOf(accountId, hashKeySecret(one), {
        name: 'press',
        prefix: one.slice(0, 8),
        permissions: ['generate', 'models:read'],
        expiresAtMs: 5_000_000_000_000,
      }),
    )
    expect(key).toMatchObject({
      accountId,
      name: 'press',
      prefix: one.slice(0, 8),
      permissions: ['generate', 'models:read'],
      expiresAtMs: 5_000_000_000_000,
      revokedAtMs: null,
      lastUsedAtMs: null,
    })
    expect(key?.keyId).toMatch(/^key_/)
    expect(await store.findKey(one)).toEqual(key)
    expect(await store.findKey(two)).toBeNull()
    expect(await store.findKey(hashKeySecret(one).toString('hex'))).toBeNull()
    const revoked = await store.revokeKey(key?.keyId ?? '')
    expect(revoked?.revokedAtMs).toBeTypeOf('number')
    expect(await store.revokeKey(key?.keyId ?? '')).toEqual(revoked)
    expect(await store.findKey(one)).toEqual(revoked)
    expect(await store.revokeKey('key_nobody')).toBeNull()
    expect(await store.createKey(keyOf('acct_nobody', digestOf('three')))).toBeNull()
    await expect(store.createKey(keyOf(accountId, hashKeySecret(one)))).rejects.toThrow()
  })

  test('the last use of a key is recorded once a minute at most, and never goes back', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const [used, unused] = [
      await store.createKey(keyOf(accountId, digestOf('used'))),
      await store.createKey(keyOf(accountId, digestOf('unused'))),
    ]
    const keyId = used?.keyId ?? ''
    const lastUses = async () => (await store.listKeys(accountId, firstPage)).items.map((key) => key.lastUsedAtMs)
    const firstMs = 1_800_000_000_000
    for (const [atMs, recorded] of [
      [firstMs, firstMs],
      [firstMs + 59_999, firstMs],
      [firstMs + 60_000, firstMs + 60_000],
      [firstMs, firstMs + 60_000],
    ] as const) {
      await store.recordKeyUses([{ keyId, atMs }])
      expect(await lastUses()).toEqual([null, recorded])
    }
    await store.recordKeyUses([
      { keyId: 'key_none', atMs: firstMs },
      { keyId: unused?.keyId ?? '', atMs: firstMs },
    ])
    expect(await lastUses()).toEqual([firstMs, firstMs + 60_000])
  })

  test('keys are listed newest first, of one account or of all', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 0)
    const b = await store.createAccount('b', 0)
    const made = []
    for (const [index, { accountId }] of [a, b, a].entries())
      made.push(await store.createKey(keyOf(accountId, digestOf(`key ${index}`))))
    expect(await store.listKeys(null, firstPage)).toEqual({ items: made.toReversed(), total: 3 })
    expect(await store.listKeys(a.accountId, firstPage)).toEqual({ items: [made[2], made[0]], total: 2 })
    expect(await store.listKeys(a.accountId, { limit: 1, offset: 1 })).toEqual({ items: [made[0]], total: 2 })
  })

  test('signing keys: the first is made once, a rotation keeps the old ones', async () => {
    await using store = await openStore()
    const answers = await Promise.all(Array.from({ length: 10 }, () => store.signingKeys('quote')))
    const [first] = answers
    expect(first).toHaveLength(1)
    expect(first?.[0]?.number).toBe(1)
    expect(first?.[0]?.secret).toBeInstanceOf(Buffer)
    expect(first?.[0]?.secret).toHaveLength(32)
    for (const answer of answers) expect(answer).toEqual(first)
    const second = await store.rotateSigningKey('quote')
    expect(second.number).toBe(2)
    expect(await store.signingKeys('quote')).toEqual([first?.[0], second])
    expect((await store.rotateSigningKey('asset')).number).toBe(1)
    expect(await store.signingKeys('asset')).toHaveLength(1)
  })

  test('signing keys: a rotation that revokes leaves the new one alone, and those of other purposes', async () => {
    await using store = await openStore()
    const quoteKeys = await store.signingKeys('quote')
    await store.rotateSigningKey('asset')
    await store.rotateSigningKey('asset')
    const newest = await store.rotateSigningKey('asset', undefined, true)
    expect(newest.number).toBe(3)
    expect(await store.signingKeys('asset')).toEqual([newest])
    expect(await store.signingKeys('quote')).toEqual(quoteKeys)
    expect((await store.rotateSigningKey('asset')).number).toBe(4)
  })
}

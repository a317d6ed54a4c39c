// The part of the store contract about administrative acts: each is on record, with who did it and what it changed.
import { expect, test } from 'vitest'
import type { Actor, AuditEntry } from '../../src/core/accounts/audit.ts'
import {
  claimPaid,
  createHeldClock,
  digestOf,
  keyOf,
  firstPage,
  type OpenTestStore,
  startJob,
  type TestStore,
} from './fixture.ts'

const operator: Actor = { kind: 'command_line', osUser: 'ada' }

async function newest(store: TestStore): Promise<AuditEntry | undefined> {
  return (await store.listAuditEntries(null, { limit: 1, offset: 0 })).items[0]
}

export function auditTests(openStore: OpenTestStore): void {
  test('accounts, credits and keys: who, what, before and after', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('Ada', 10, operator)
    const of = { accountId, actor: operator, createdAtMs: clock.ms }
    expect(await newest(store)).toEqual({
      ...of,
      entryId: expect.stringMatching(/^audit_/),
      act: 'account.created',
      subject: accountId,
      before: null,
      after: { name: 'Ada', available: 10 },
    })
    await store.grantCredits(accountId, 5, 'paid', operator)
    expect(await newest(store)).toMatchObject({
      ...of,
      act: 'credits.granted',
      subject: accountId,
      before: { available: 10, held: 0 },
      after: { available: 15, held: 0, credits: 5, note: 'paid' },
    })
    await store.adjustCredits(accountId, -3, 'mistake', operator)
    expect(await newest(store)).toMatchObject({
      ...of,
      act: 'credits.adjusted',
      before: { available: 15, held: 0 },
      after: { available: 12, held: 0, credits: -3, note: 'mistake' },
    })
    const key = await store.createKey(
      keyOf(accountId, digestOf('secret'), {
        name: 'press',
        permissions: ['generate', 'admin'],
        expiresAtMs: clock.ms + 1000,
      }),
      operator,
    )
    const keyId = key?.keyId ?? ''
    expect(await newest(store)).toMatchObject({
      ...of,
      act: 'key.created',
      subject: keyId,
      before: null,
      after: { name: 'press', permissions: ['generate', 'admin'], expires_at: '2026-11-20T10:00:01.000Z' },
    })
    const actor: Actor = { kind: 'key', keyId, accountId }
    for (const before of [null, '2026-11-20T10:00:00.000Z']) {
      await store.revokeKey(keyId, actor)
      expect(await newest(store)).toMatchObject({
        ...of,
        actor,
        act: 'key.revoked',
        subject: keyId,
        before: { revoked_at: before },
        after: { revoked_at: '2026-11-20T10:00:00.000Z' },
      })
    }
    expect(JSON.stringify(await store.listAuditEntries(null, firstPage))).not.toContain(
      digestOf('secret').toString('hex'),
    )
  })

  test('signing keys, reviews, deliveries and what lies outside the store', async () => {
    await using store = await openStore()
    const { number } = await store.rotateSigningKey('quote', operator)
    expect(await newest(store)).toMatchObject({ act: 'signing_key.rotated', subject: 'quote', accountId: null })
    await store.rotateSigningKey('quote', operator)
    expect(await newest(store)).toMatchObject({ before: { number }, after: { number: number + 1 } })
    await store.rotateSigningKey('quote', operator, true)
    expect(await newest(store)).toMatchObject({ after: { number: number + 2, revoked: 2 } })

    const { accountId } = await store.createAccount('a', 100)
    await store.createWebhook(
      { accountId, url: 'https://example.com/', description: null, includeInput: false, secret: Buffer.alloc(32) },
      1,
    )
    const { jobId } = await startJob(store, accountId)
    const { token } = await claimPaid(store)
    await store.finishJob(jobId, token, { status: 'queued' })
    await store.resolveReview(jobId, 4, operator)
    expect(await newest(store)).toMatchObject({
      act: 'job.resolved',
      actor: operator,
      subject: jobId,
      accountId,
      before: { status: 'needs_review', held: 10 },
      after: { status: 'succeeded', charged: 4, released: 6 },
    })
    const filter = { accountId, webhookId: null, jobId: null, status: null, ...firstPage }
    const [delivery] = (await store.listDeliveries(filter)).items
    await store.redeliver(delivery?.deliveryId ?? '', operator)
    expect(await newest(store)).toMatchObject({
      act: 'delivery.renewed',
      actor: operator,
      subject: delivery?.deliveryId,
      accountId,
      before: { status: 'pending' },
      after: { status: 'pending' },
    })
    const draft = { act: 'files.swept', subject: 'files', accountId: null, before: { files: 2 }, after: null } as const
    const recorded = await store.recordAct(draft, operator)
    expect(recorded).toMatchObject({ ...draft, actor: operator })
    expect(await newest(store)).toEqual(recorded)
  })

  test('refused acts are not recorded, and acts without an actor are recorded for the server', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    expect((await newest(store))?.actor).toEqual({ kind: 'system' })
    await store.grantCredits('acct_none', 1, null, operator)
    await store.adjustCredits(accountId, -1, 'too much', operator)
    await store.createKey(keyOf('acct_none', digestOf('x')), operator)
    await store.revokeKey('key_none', operator)
    await store.resolveReview('job_none', 0, operator)
    await store.redeliver('dlv_none', operator)
    await expect(store.createAccount('a', -1, operator)).rejects.toThrow('credits')
    expect((await store.listAuditEntries(null, firstPage)).total).toBe(1)
  })

  test('acts are listed newest first, in pages, of all accounts or of one', async () => {
    await using store = await openStore()
    const one = await store.createAccount('one', 0, operator)
    const two = await store.createAccount('two', 0, operator)
    await store.grantCredits(one.accountId, 1, null, operator)
    await store.rotateSigningKey('quote', operator)
    const acts = async (accountId: string | null, page = firstPage) => {
      const { items, total } = await store.listAuditEntries(accountId, page)
      return [total, ...items.map(({ act }) => act)]
    }
    expect(await acts(null)).toEqual([
      4,
      'signing_key.rotated',
      'credits.granted',
      'account.created',
      'account.created',
    ])
    expect(await acts(null, { limit: 1, offset: 1 })).toEqual([4, 'credits.granted'])
    expect(await acts(one.accountId)).toEqual([2, 'credits.granted', 'account.created'])
    expect(await acts(two.accountId)).toEqual([1, 'account.created'])
    expect(await acts('acct_none')).toEqual([0])
  })

  test('listeners hear of each act once it is durable, until they stop listening', async () => {
    await using store = await openStore()
    const acts: AuditEntry[] = []
    const stop = store.onAct((entry) => acts.push(entry))
    await Promise.all([store.createAccount('one', 0, operator), store.createAccount('two', 0, operator)])
    await store.revokeKey('key_none', operator)
    const { items } = await store.listAuditEntries(null, firstPage)
    expect(acts.toReversed()).toEqual(items)
    expect(acts).toHaveLength(2)
    stop()
    await store.createAccount('three', 0)
    expect(acts).toHaveLength(2)
  })
}

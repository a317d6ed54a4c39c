// The part of the store contract about accounts that are renamed, frozen and closed, and about jobs that an operator cancels
// (P312, P313, P314, P315, P318, P321).
import { expect, test } from 'vitest'
import type { Actor } from '../../src/core/accounts/audit.ts'
import type { Store } from '../../src/core/store.ts'
import {
  balanceOf,
  claimOne,
  claimPaid,
  createHeldClock,
  digestOf,
  entriesOf,
  firstPage,
  keyOf,
  type OpenTestStore,
  startJob,
  startOf,
  testError,
} from './fixture.ts'

const operator: Actor = { kind: 'command_line', osUser: 'ada' }
const freeze = { status: 'frozen', statusReason: 'unpaid' } as const
const close = { status: 'closed', statusReason: 'gone' } as const
const unfreeze = { status: 'active', statusReason: null } as const

async function actsOf(store: Store, accountId: string): Promise<string[]> {
  return (await store.listAuditEntries(accountId, firstPage)).items.map(({ act }) => act)
}

export function accountChangeTests(openStore: OpenTestStore): void {
  test('a frozen account starts nothing and gets no keys; its jobs go on, and so do grants, cancels and reads', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 100)
    const key = await store.createKey(keyOf(accountId, digestOf('one')))
    const started = startOf(accountId, { idempotencyKey: 'before' })
    const first = await store.startGeneration(started)
    await startJob(store, accountId)
    expect(await store.changeAccount(accountId, freeze, operator)).toMatchObject({
      outcome: 'done',
      account: { accountId, ...freeze, statusChangedAtMs: clock.ms, available: 80, held: 20 },
      revokedKeys: 0,
    })
    expect(await store.getAccount(accountId)).toMatchObject({ ...freeze, statusChangedAtMs: clock.ms })
    const [entry] = (await store.listAuditEntries(null, firstPage)).items
    expect(entry).toMatchObject({
      act: 'account.frozen',
      subject: accountId,
      accountId,
      actor: operator,
      before: { status: 'active', reason: null },
      after: { status: 'frozen', reason: 'unpaid' },
    })
    expect(await store.startGeneration(startOf(accountId))).toEqual({ outcome: 'account_not_active', ...freeze })
    expect(await store.startGeneration(startOf(accountId, { credits: 0 }))).toMatchObject({
      outcome: 'account_not_active',
    })
    expect(await store.createKey(keyOf(accountId, digestOf('two')))).toBeNull()
    // A repeated start is an answer, not a start.
    const jobId = 'job' in first ? first.job.jobId : ''
    expect(await store.startGeneration(started)).toMatchObject({ outcome: 'replayed', job: { jobId } })
    expect(await store.getKey(key?.keyId ?? '')).toMatchObject({ revokedAtMs: null, accountStatus: 'frozen' })
    const { token } = await claimOne(store)
    expect(await store.finishJob(jobId, token, { status: 'succeeded', outputs: [], creditsActual: 4 })).toMatchObject({
      status: 'succeeded',
    })
    expect(await store.grantCredits(accountId, 5, null)).toMatchObject({ outcome: 'done' })
    expect(await store.changeAccount(accountId, unfreeze, operator)).toMatchObject({
      account: { status: 'active', statusReason: null },
    })
    await startJob(store, accountId)
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('starts of other accounts are not held up by those of a frozen one', async () => {
    await using store = await openStore()
    const accounts = []
    for (let i = 0; i < 6; i++) accounts.push((await store.createAccount('a', 100)).accountId)
    for (const accountId of accounts.slice(0, 3)) await store.changeAccount(accountId, freeze)
    const outcomes = await Promise.all(accounts.map((accountId) => store.startGeneration(startOf(accountId))))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      ...Array<string>(3).fill('account_not_active'),
      ...Array<string>(3).fill('created'),
    ])
  })

  test('an account is closed when its jobs have ended: its keys are revoked, and its balance stays', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    const other = await store.createAccount('b', 100)
    const maker = await store.createKey(keyOf(accountId, digestOf('maker')))
    await store.createKey(keyOf(accountId, digestOf('made'), { makerId: maker?.keyId ?? null }))
    const old = await store.createKey(keyOf(accountId, digestOf('old')))
    await store.revokeKey(old?.keyId ?? '')
    const kept = await store.createKey(keyOf(other.accountId, digestOf('kept')))
    const running = await startJob(store, accountId, { credits: 0 })
    const { token } = await claimOne(store)
    const review = await startJob(store, accountId)
    const paid = await claimPaid(store)
    await store.finishJob(review.jobId, paid.token, { status: 'needs_review' })
    const acts = await actsOf(store, accountId)
    expect(await store.changeAccount(accountId, close)).toEqual({ outcome: 'busy', openJobs: 2 })
    await store.finishJob(running.jobId, token, { status: 'failed', error: testError })
    expect(await store.changeAccount(accountId, close)).toEqual({ outcome: 'busy', openJobs: 1 })
    expect(await actsOf(store, accountId)).toEqual(acts)
    expect(await store.getKey(maker?.keyId ?? '')).toMatchObject({ revokedAtMs: null })
    await store.resolveReview(review.jobId, 3)

    const entries = await entriesOf(store, accountId)
    expect(await store.changeAccount(accountId, close, operator)).toMatchObject({
      outcome: 'done',
      account: { ...close, available: 97, held: 0 },
      revokedKeys: 2,
    })
    expect((await actsOf(store, accountId)).slice(0, 3).toSorted()).toEqual([
      'account.closed',
      'key.revoked',
      'key.revoked',
    ])
    const [closed] = (await store.listAuditEntries(null, firstPage, { act: 'account.closed' })).items
    expect(closed?.after).toEqual({ status: 'closed', reason: 'gone', available: 97 })
    const keys = (await store.listKeys(accountId, firstPage)).items
    expect(keys.filter(({ revokedAtMs }) => revokedAtMs === null)).toEqual([])
    expect(await store.getKey(kept?.keyId ?? '')).toMatchObject({ revokedAtMs: null })
    expect(await entriesOf(store, accountId)).toEqual(entries)

    // Terminal: only a correction still moves the balance.
    const after = await actsOf(store, accountId)
    for (const change of [freeze, unfreeze, { name: 'x' }])
      expect(await store.changeAccount(accountId, change)).toEqual({ outcome: 'closed' })
    expect(await store.changeAccount(accountId, { ...close, statusReason: 'again' })).toMatchObject({
      outcome: 'done',
      account: close,
      revokedKeys: 0,
    })
    expect(await store.grantCredits(accountId, 1, null)).toEqual({ outcome: 'closed' })
    expect(await store.createKey(keyOf(accountId, digestOf('new')))).toBeNull()
    expect(await store.startGeneration(startOf(accountId))).toMatchObject({
      outcome: 'account_not_active',
      status: 'closed',
    })
    expect(await actsOf(store, accountId)).toEqual(after)
    expect(await store.adjustCredits(accountId, -97, 'paid back')).toMatchObject({ outcome: 'done' })
    expect(await balanceOf(store, accountId)).toEqual([0, 0])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('what is so already is not recorded; another reason is', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    await store.changeAccount(accountId, { name: 'a' })
    await store.changeAccount(accountId, { status: 'active', statusReason: 'why not' })
    expect(await actsOf(store, accountId)).toEqual(['account.created'])
    await store.changeAccount(accountId, { name: 'b' }, operator)
    const [renamed] = (await store.listAuditEntries(null, firstPage)).items
    expect(renamed).toMatchObject({ act: 'account.renamed', before: { name: 'a' }, after: { name: 'b' } })
    await store.changeAccount(accountId, freeze)
    await store.changeAccount(accountId, freeze)
    await store.changeAccount(accountId, { ...freeze, statusReason: 'fraud' })
    expect(await store.getAccount(accountId)).toMatchObject({ name: 'b', statusReason: 'fraud' })
    expect(await actsOf(store, accountId)).toEqual([
      'account.frozen',
      'account.frozen',
      'account.renamed',
      'account.created',
    ])
    expect(await store.changeAccount('acct_nobody', freeze)).toEqual({ outcome: 'no_account' })
  })

  test('accounts are found by their exact name, the oldest first', async () => {
    await using store = await openStore()
    const ids = []
    for (const name of ['x', 'X', 'x', 'x y', 'x']) ids.push((await store.createAccount(name, 0)).accountId)
    const find = async (name: string, limit = 10) =>
      (await store.findAccounts(name, limit)).map(({ accountId }) => accountId)
    expect(await find('x')).toEqual([ids[0], ids[2], ids[4]])
    expect(await find('x', 2)).toEqual([ids[0], ids[2]])
    expect(await find('%')).toEqual([])
  })

  test('of a start and a closing at the same time one happens, whatever process has them', async () => {
    await using one = await openStore()
    await using two = await one.another('two')
    for (let round = 0; round < 10; round += 1) {
      const { accountId } = await one.createAccount('a', 100)
      const [started, key, closed] = await Promise.all([
        one.startGeneration(startOf(accountId)),
        one.createKey(keyOf(accountId, digestOf(`key ${round}`))),
        two.changeAccount(accountId, close),
      ])
      const account = await one.getAccount(accountId)
      if (closed.outcome === 'done') {
        expect(started.outcome).toBe('account_not_active')
        expect(account).toMatchObject({ status: 'closed', held: 0 })
        if (key) expect(await one.getKey(key.keyId)).not.toMatchObject({ revokedAtMs: null })
      } else {
        expect([started.outcome, closed]).toEqual(['created', { outcome: 'busy', openJobs: 1 }])
        expect(account).toMatchObject({ status: 'active', held: 10 })
      }
    }
  })

  test('an operator cancels a job of any account: on record if it changed anything', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    const running = await startJob(store, accountId)
    const { token } = await claimOne(store)
    const queued = await startJob(store, accountId)
    expect(await store.cancelAnyJob(queued.jobId, 'stuck', operator)).toMatchObject({
      status: 'canceled',
      creditsReleased: 10,
    })
    expect((await store.listAuditEntries(null, firstPage)).items[0]).toMatchObject({
      act: 'job.canceled',
      subject: queued.jobId,
      accountId,
      actor: operator,
      before: { status: 'queued' },
      after: { status: 'canceled', cancel_requested: false, reason: 'stuck' },
    })
    expect(await store.cancelAnyJob(running.jobId, null, operator)).toMatchObject({
      status: 'running',
      cancelRequested: true,
    })
    expect((await store.listAuditEntries(null, firstPage)).items[0]).toMatchObject({
      subject: running.jobId,
      before: { status: 'running' },
      after: { status: 'running', cancel_requested: true },
    })
    const acts = await actsOf(store, accountId)
    expect(await store.cancelAnyJob(running.jobId, 'again', operator)).toMatchObject({ cancelRequested: true })
    expect(await store.cancelAnyJob(queued.jobId, 'again', operator)).toMatchObject({ status: 'canceled' })
    expect(await store.cancelAnyJob('job_none', null, operator)).toBeNull()
    expect(await actsOf(store, accountId)).toEqual(acts)
    await store.finishJob(running.jobId, token, { status: 'failed', error: testError })
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
  })

  test('acts are listed by actor, kind, object and time', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0, operator)
    const key = await store.createKey(keyOf(accountId, digestOf('key')), operator)
    const keyId = key?.keyId ?? ''
    clock.ms += 1000
    await store.grantCredits(accountId, 1, null, { kind: 'key', keyId, accountId })
    clock.ms += 1000
    await store.changeAccount(accountId, freeze)
    const list = async (filter: Parameters<Store['listAuditEntries']>[2], of: string | null = null) => {
      const { items, total } = await store.listAuditEntries(of, firstPage, filter)
      expect(total).toBe(items.length)
      return items.map(({ act }) => act)
    }
    expect(await list({ actor: 'ada' })).toEqual(['key.created', 'account.created'])
    expect(await list({ actor: keyId })).toEqual(['credits.granted'])
    expect(await list({ actor: 'server' })).toEqual(['account.frozen'])
    expect(await list({ act: 'account' })).toEqual(['account.frozen', 'account.created'])
    expect(await list({ act: 'account.frozen' })).toEqual(['account.frozen'])
    expect(await list({ act: 'acc' })).toEqual([])
    expect(await list({ subject: keyId })).toEqual(['key.created'])
    expect(await list({ sinceMs: clock.ms - 1000 })).toEqual(['account.frozen', 'credits.granted'])
    expect(await list({ sinceMs: clock.ms - 1000, untilMs: clock.ms })).toEqual(['credits.granted'])
    expect(await list({ actor: 'ada', act: 'key', subject: keyId, untilMs: clock.ms }, accountId)).toEqual([
      'key.created',
    ])
    expect(await list({ actor: 'ada' }, 'acct_nobody')).toEqual([])
  })
}

// The part of the store contract about limits of keys and accounts (P226, P227, P232, P233, P235, P237).
import { expect, test } from 'vitest'
import type { ApiKey } from '../../src/core/accounts/key.ts'
import { type Limits, noLimits, type WindowLimit } from '../../src/core/accounts/limits.ts'
import { calendarOf } from '../../src/core/calendar.ts'
import type { StartOutcome, Store } from '../../src/core/store.ts'
import {
  balanceOf,
  claimOne,
  createHeldClock,
  digestOf,
  filterOf,
  firstPage,
  keyOf,
  type OpenTestStore,
  startJob,
  startOf,
  testError,
} from './fixture.ts'

const dayMs = 86_400_000
let keys = 0

async function makeKey(
  store: Store,
  accountId: string,
  limits: Partial<Limits>,
  makerId: string | null = null,
): Promise<ApiKey> {
  const draft = { limits: { ...noLimits, ...limits }, makerId, name: `key ${(keys += 1)}` }
  const key = await store.createKey(keyOf(accountId, digestOf(`secret ${keys}`), draft))
  if (key === null) throw new Error('no account')
  return key
}

/** What was spent on a day, or on all days, by a key or an account with a limit. */
async function spentOf(store: Store, key: ApiKey, day: string, of = 'key') {
  const budgets = await store.readBudgets(key)
  const found = budgets.find((budget) => budget.of === of)?.spent.find((one) => one.day === day)
  return found && [found.held, found.charged]
}

const startWith = (store: Store, { accountId, keyId, name }: ApiKey, credits: number): Promise<StartOutcome> =>
  store.startGeneration(startOf(accountId, { keyId, keyName: name, credits }))

export function limitTests(openStore: OpenTestStore): void {
  test.each<WindowLimit>(['daily', 'weekly', 'monthly', 'total'])('a %s limit counts what is held', async (limit) => {
    await using store = await openStore(createHeldClock())
    const { accountId } = await store.createAccount('a', 1000)
    const key = await makeKey(store, accountId, { [limit]: 25 })
    expect(await startWith(store, key, 10)).toMatchObject({ outcome: 'created' })
    expect(await startWith(store, key, 16)).toMatchObject({
      outcome: 'over_limit',
      exceeded: { of: 'key', limit, credits: 25, held: 10, charged: 0, left: 15 },
    })
    expect(await balanceOf(store, accountId)).toEqual([990, 10])
    expect(await startWith(store, key, 15)).toMatchObject({ outcome: 'created' })
    expect(await startWith(store, key, 1)).toMatchObject({ outcome: 'over_limit', exceeded: { left: 0 } })
    // Another key of the account has its own.
    expect(await startWith(store, await makeKey(store, accountId, {}), 500)).toMatchObject({ outcome: 'created' })
  })

  test('a refusal leaves the idempotency key free, and an earlier start with it is replayed over every limit', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const { keyId } = await makeKey(store, accountId, { perStart: 10 })
    const order = startOf(accountId, { keyId, credits: 11 })
    expect(await store.startGeneration(order)).toMatchObject({ outcome: 'over_limit' })
    const cheaper = { ...order, credits: 10 }
    expect(await store.startGeneration(cheaper)).toMatchObject({ outcome: 'created' })
    await store.changeKeyLimits(keyId, { perStart: 0 })
    expect(await store.startGeneration(cheaper)).toMatchObject({ outcome: 'replayed' })
  })

  test('a release gives back to the window of the start, a charge stays there', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const key = await makeKey(store, accountId, { daily: 20, total: 100 })
    const [first, second] = ['2026-11-20', '2026-11-21']
    await startJob(store, accountId, { keyId: key.keyId, credits: 10 })
    await startJob(store, accountId, { keyId: key.keyId, credits: 10 })
    const ends = [await claimOne(store, undefined, 3 * dayMs), await claimOne(store, undefined, 3 * dayMs)]
    clock.ms += dayMs
    await startJob(store, accountId, { keyId: key.keyId, credits: 20 })
    expect([await spentOf(store, key, first), await spentOf(store, key, second)]).toEqual([
      [20, 0],
      [20, 0],
    ])
    const [failed, succeeded] = ends
    if (!failed || !succeeded) throw new Error('nothing was claimed')
    await store.finishJob(failed.job.jobId, failed.token, { status: 'failed', error: testError })
    await store.finishJob(succeeded.job.jobId, succeeded.token, { status: 'succeeded', outputs: [], creditsActual: 4 })
    expect([
      await spentOf(store, key, first),
      await spentOf(store, key, second),
      await spentOf(store, key, ''),
    ]).toEqual([
      [0, 4],
      [20, 0],
      [20, 4],
    ])
    expect(await startWith(store, key, 1)).toMatchObject({ outcome: 'over_limit', exceeded: { limit: 'daily' } })
  })

  test('what a key spends counts against the key that made it and against the account', async () => {
    await using store = await openStore(createHeldClock())
    const { accountId } = await store.createAccount('a', 1000)
    const maker = await makeKey(store, accountId, { daily: 30 })
    const [one, two] = [
      await makeKey(store, accountId, {}, maker.keyId),
      await makeKey(store, accountId, {}, maker.keyId),
    ]
    expect(await startWith(store, one, 20)).toMatchObject({ outcome: 'created' })
    expect(await startWith(store, two, 11)).toMatchObject({
      outcome: 'over_limit',
      exceeded: { of: 'maker', left: 10 },
    })
    expect(await startWith(store, maker, 11)).toMatchObject({
      outcome: 'over_limit',
      exceeded: { of: 'key', left: 10 },
    })
    await store.changeAccountLimits(accountId, { monthly: 25 })
    expect(await startWith(store, two, 6)).toMatchObject({
      outcome: 'over_limit',
      exceeded: { of: 'account', left: 5 },
    })
    expect(await startWith(store, two, 5)).toMatchObject({ outcome: 'created' })
  })

  test('a new limit counts what was spent before it, and applies to the next start', async () => {
    await using store = await openStore(createHeldClock())
    const { accountId } = await store.createAccount('a', 1000)
    const key = await makeKey(store, accountId, {})
    expect(await startWith(store, key, 40)).toMatchObject({ outcome: 'created' })
    expect(await store.changeKeyLimits(key.keyId, { daily: 50, models: ['x'] })).toMatchObject({
      limits: { ...noLimits, daily: 50, models: ['x'] },
    })
    expect(await startWith(store, key, 11)).toMatchObject({ outcome: 'over_limit', exceeded: { held: 40, left: 10 } })
    await store.changeKeyLimits(key.keyId, { daily: null })
    expect(await store.getKey(key.keyId)).toMatchObject({ limits: { ...noLimits, models: ['x'] } })
    expect(await startWith(store, key, 11)).toMatchObject({ outcome: 'created' })
    expect(await store.changeKeyLimits('key_nobody', { daily: 1 })).toBeNull()
    expect(await store.changeAccountLimits('acct_nobody', { daily: 1 })).toBeNull()
    const acts = (await store.listAuditEntries(accountId, firstPage)).items.map(({ act, after }) => [act, after])
    expect(acts.slice(0, 2)).toEqual([
      ['key.limited', { limits: { models: ['x'] } }],
      ['key.limited', { limits: { daily: 50, models: ['x'] } }],
    ])
  })

  test('a key is found with its limits, those of its maker and those of the account', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const maker = await makeKey(store, accountId, { perStart: 5 })
    const made = await makeKey(store, accountId, { total: 3 }, maker.keyId)
    await store.changeAccountLimits(accountId, { weekly: 9 })
    expect(await store.getKey(made.keyId)).toMatchObject({
      limits: { total: 3 },
      makerId: maker.keyId,
      makerLimits: { perStart: 5 },
      accountLimits: { weekly: 9 },
    })
    expect(await store.getAccount(accountId)).toMatchObject({ limits: { ...noLimits, weekly: 9 } })
  })

  test('keys that one key made share its limits at the same time, and give back to it', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const maker = await makeKey(store, accountId, { daily: 25 })
    const [one, two] = [
      await makeKey(store, accountId, {}, maker.keyId),
      await makeKey(store, accountId, {}, maker.keyId),
    ]
    const outcomes = await Promise.all([one, two, one, two, maker].map((key) => startWith(store, key, 10)))
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual([
      'created',
      'created',
      'over_limit',
      'over_limit',
      'over_limit',
    ])
    for (const creditsActual of [4, 0]) {
      const { job, token } = await claimOne(store)
      await store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual })
    }
    for (const day of ['2026-11-20', '']) expect(await spentOf(store, one, day, 'maker')).toEqual([0, 4])
  })

  test('the last moment of a long month counts its first, wherever the day began', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    for (const timeZone of ['UTC', 'Pacific/Kiritimati', 'Pacific/Niue']) {
      const { accountId } = await store.createAccount('a', 1000)
      const { keyId } = await makeKey(store, accountId, { monthly: 10 })
      const start = () => store.startGeneration(startOf(accountId, { keyId, credits: 10, timeZone }))
      const { startsAtMs, renewsAtMs } = calendarOf(timeZone).windowsAt(Date.parse('2026-12-15')).monthly
      clock.ms = startsAtMs
      expect(await start()).toMatchObject({ outcome: 'created' })
      clock.ms = renewsAtMs - 1
      expect(await start()).toMatchObject({ outcome: 'over_limit', exceeded: { limit: 'monthly' } })
      clock.ms += 1
      expect(await start()).toMatchObject({ outcome: 'created' })
    }
  })

  test('a key is revoked with those that it made', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const maker = await makeKey(store, accountId, {})
    const made = await makeKey(store, accountId, {}, maker.keyId)
    const other = await makeKey(store, accountId, {})
    await store.revokeKey(maker.keyId)
    const revoked = async ({ keyId }: ApiKey) => (await store.getKey(keyId))?.revokedAtMs !== null
    expect([await revoked(maker), await revoked(made), await revoked(other)]).toEqual([true, true, false])
  })

  test('a key that is revoked makes none, not even in the same moment', async () => {
    await using store = await openStore()
    await using other = await store.another('other')
    const { accountId } = await store.createAccount('a', 0)
    const make = async (makerId: string) => {
      const secret = digestOf(`secret ${(keys += 1)}`)
      return other.createKey(keyOf(accountId, secret, { makerId }))
    }
    const { keyId } = await makeKey(store, accountId, {})
    await store.revokeKey(keyId)
    expect(await make(keyId)).toBeNull()
    for (let round = 0; round < 10; round += 1) {
      const maker = await makeKey(store, accountId, {})
      const [, made] = await Promise.all([store.revokeKey(maker.keyId), make(maker.keyId)])
      if (made !== null) expect((await store.getKey(made.keyId))?.revokedAtMs).not.toBeNull()
    }
  })

  test('a job and its entries name the key, also when it is revoked', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    const key = await makeKey(store, accountId, {})
    const started = await startWith(store, key, 10)
    if (started.outcome !== 'created') throw new Error('not started')
    const named = { keyId: key.keyId, keyName: key.name }
    expect(started.job).toMatchObject(named)
    await store.revokeKey(key.keyId)
    expect(await store.getJob(accountId, started.job.jobId)).toMatchObject(named)
    expect((await store.listJobs(filterOf(accountId))).items).toMatchObject([named])
    const { items } = await store.listEntries(accountId, firstPage)
    expect(items).toMatchObject([
      { kind: 'hold', ...named },
      { kind: 'grant', keyId: null, keyName: null },
    ])
  })

  test('a thousand starts at once over ten keys and four processes: not one credit more, and the last whole start fits', async () => {
    await using store = await openStore(createHeldClock())
    await using second = await store.another('second')
    await using third = await store.another('third')
    await using fourth = await store.another('fourth')
    const processes = [store, second, third, fourth]
    const { accountId } = await store.createAccount('a', 1_000_000)
    const limits = { daily: 100, total: 1000 }
    const made = await Promise.all(Array.from({ length: 10 }, () => makeKey(store, accountId, limits)))
    const race = (credits: number) =>
      Promise.all(
        Array.from({ length: 1000 }, (_, index) => {
          const [process, key] = [processes[index % 4], made[index % 10]]
          if (!process || !key) throw new Error('no such process')
          return startWith(process, key, credits)
        }),
      )
    const created = (outcomes: readonly StartOutcome[]) =>
      outcomes.filter(({ outcome }) => outcome === 'created').length
    expect(created(await race(7))).toBe(10 * 14)
    for (const key of made) expect(await spentOf(store, key, '')).toEqual([98, 0])
    // The limit of the account, over all of them.
    await store.changeAccountLimits(accountId, { monthly: 983 })
    expect(created(await race(1))).toBe(3)
    expect(await balanceOf(store, accountId)).toEqual([1_000_000 - 983, 983])
    expect((await store.verifyLedger()).problems).toEqual([])
  })
}

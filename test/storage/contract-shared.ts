// The part of the store contract about what several processes share: two stores on the same data, both used at the same time.
import { expect, test } from 'vitest'
import type { Store } from '../../src/core/store.ts'
import { claim, endJob, list, makeWebhook, wanted } from './contract-webhooks.ts'
import {
  balanceOf,
  claimOne,
  createHeldClock,
  firstPage,
  type OpenTestStore,
  startJob,
  startOf,
  sweepOf,
  testError,
} from './fixture.ts'

const leaseMs = 15_000

export function sharedTests(openStore: OpenTestStore): void {
  async function openTwo() {
    const clock = createHeldClock()
    const one = await openStore(clock)
    const two = await one.another()
    async function dispose(): Promise<void> {
      await two.close()
      await one[Symbol.asyncDispose]()
    }
    /** Does as many things at once, in turns by the two stores. */
    const inTurns = <Result>(count: number, act: (store: Store, index: number) => Promise<Result>) =>
      Promise.all(Array.from({ length: count }, (_, index) => act(index % 2 === 0 ? one : two, index)))
    return { one, two, clock, inTurns, [Symbol.asyncDispose]: dispose }
  }

  test('100 parallel starts with one key make one job', async () => {
    await using shared = await openTwo()
    const { accountId } = await shared.one.createAccount('a', 1000)
    const command = startOf(accountId)
    const started = await shared.inTurns(100, (store) => store.startGeneration(command))
    expect(started.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(started.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(99)
    expect(new Set(started.map((result) => 'job' in result && result.job.jobId)).size).toBe(1)
    expect(await balanceOf(shared.two, accountId)).toEqual([990, 10])
  })

  test('P290: entries that two processes write at once are one chain, for each account', async () => {
    await using shared = await openTwo()
    const { one, inTurns } = shared
    const accounts = [await one.createAccount('a', 1000), await one.createAccount('b', 1000)]
    await inTurns(40, (store, index) =>
      store.startGeneration(startOf(accounts[index % 3 === 0 ? 0 : 1]?.accountId ?? '')),
    )
    await inTurns(20, async (store) => {
      for (const { job, token } of await store.claimJobs({ worker: 'w', room: { 'test/image': 9 }, limit: 2, leaseMs }))
        await store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: 4 })
    })
    for (const { accountId } of accounts) {
      const { items, total } = await one.listEntries(accountId, { limit: 500, offset: 0 })
      expect(total).toBeGreaterThan(20)
      const hashes = items.map(({ hash }) => hash)
      expect(items.map(({ previousHash }) => previousHash)).toEqual([...hashes.slice(1), null])
      expect(new Set(hashes).size).toBe(total)
    }
    expect(await one.verifyLedger()).toMatchObject({ entries: 122, problems: [] })
  })

  test('parallel spending never overdraws, and no more jobs are queued than may', async () => {
    await using shared = await openTwo()
    const { one, two, inTurns } = shared
    const poor = await one.createAccount('a', 95)
    const busy = await two.createAccount('b', 1000)
    const outcomes = async (accountId: string, maxQueuedJobs: number) => {
      const started = await inTurns(40, (store) => store.startGeneration(startOf(accountId, { maxQueuedJobs })))
      const counts: Record<string, number> = {}
      for (const { outcome } of started) counts[outcome] = (counts[outcome] ?? 0) + 1
      return counts
    }
    expect(await outcomes(poor.accountId, 100)).toEqual({ created: 9, no_credits: 31 })
    expect(await outcomes(busy.accountId, 7)).toEqual({ created: 7, too_many_jobs: 33 })
    expect(await balanceOf(one, poor.accountId)).toEqual([5, 90])
    expect(await balanceOf(two, busy.accountId)).toEqual([930, 70])
    expect((await one.verifyLedger()).problems).toEqual([])
  })

  test('claimers never share a job, and all jobs are claimed', async () => {
    await using shared = await openTwo()
    const { accountId } = await shared.one.createAccount('a', 1000)
    await shared.inTurns(60, (store) => startJob(store, accountId))
    const claims = await shared.inTurns(20, (store, index) =>
      store.claimJobs({ worker: `worker-${index}`, room: { 'test/image': 4 }, limit: 4, leaseMs }),
    )
    const ids = claims.flat().map(({ job }) => job.jobId)
    expect([ids.length, new Set(ids).size]).toEqual([60, 60])
  })

  test('a run that lost its claim to another process ends nothing there either', async () => {
    await using shared = await openTwo()
    const { one, two, clock } = shared
    const { accountId } = await one.createAccount('a', 100)
    const { jobId } = await startJob(one, accountId)
    const stale = await claimOne(one, 'test/image', leaseMs)
    clock.ms += leaseMs
    expect(await two.sweep(sweepOf())).toMatchObject({ requeued: 1 })
    clock.ms += 60_000
    await two.sweep(sweepOf())
    const current = await claimOne(two, 'test/image', leaseMs)
    expect(current.token).toBeGreaterThan(stale.token)
    expect((await one.heartbeat([{ jobId, token: stale.token, progress: 0.9 }], leaseMs)).lost).toEqual([jobId])
    expect(await one.finishJob(jobId, stale.token, { status: 'failed', error: testError })).toBeNull()
    const done = { status: 'succeeded', outputs: [], creditsActual: 4 } as const
    const ends = await shared.inTurns(10, (store) => store.finishJob(jobId, current.token, done))
    expect(ends.filter((job) => job !== null)).toHaveLength(1)
    expect(await balanceOf(one, accountId)).toEqual([96, 0])
  })

  test('one of them leads until it closes, is declared dead, or does not renew its lease', async () => {
    await using shared = await openTwo()
    const { one, two, clock } = shared
    const three = await one.another('three')
    const lead = () => shared.inTurns(2, (store) => store.lead(5000))
    // The one that asks first; of two that ask at once, either may be.
    expect([await one.lead(5000), await two.lead(5000)]).toEqual([true, false])
    clock.ms += 4999
    expect(await lead(), 'renewed in time').toEqual([true, false])
    clock.ms += 4999
    expect(await lead()).toEqual([true, false])
    clock.ms += 5000
    expect([await three.lead(5000), ...(await lead())]).toEqual([true, false, false])
    await two.endLeases(['three'])
    expect([await two.lead(5000), await one.lead(5000)]).toEqual([true, false])
    // A lease from before the clock went back binds nobody.
    clock.ms -= 3_600_000
    expect([await three.lead(5000), await two.lead(5000)]).toEqual([true, false])
    await three.close()
    expect(await two.lead(5000)).toBe(true)
  })

  test('changes by another process are reported', async () => {
    await using shared = await openTwo()
    const { accountId } = await shared.one.createAccount('a', 1000)
    const { promise: notified, resolve } = Promise.withResolvers<string>()
    const { jobId } = await startJob(shared.one, accountId)
    shared.one.onNotification((jobs) => resolve(jobs === null ? 'something' : jobs.map((job) => job.jobId).join()))
    await shared.two.requestCancel(accountId, jobId)
    expect(['something', jobId]).toContain(await notified)
    expect(await shared.one.getJob(accountId, jobId)).toMatchObject({ status: 'canceled' })
  })

  test('a key for signing is made once, and deliveries are claimed once', async () => {
    await using shared = await openTwo()
    const { one, inTurns } = shared
    const keys = await inTurns(10, (store) => store.signingKeys('asset'))
    expect(new Set(keys.map(([key]) => key?.secret.toString('hex'))).size).toBe(1)
    const { accountId } = await one.createAccount('a', 0)
    const made = await inTurns(10, (store) => makeWebhook(store, accountId, 3).catch(() => null))
    expect(made.filter((webhookId) => webhookId !== null)).toHaveLength(3)
    await inTurns(10, (store) => endJob(store, accountId))
    const room = { perWebhook: 10, perAccount: 30, unproven: { inAll: 30, perWebhook: 10, perAccount: 30 } }
    const claimed = await inTurns(10, (store) => claim(store, { ...room, limit: 5 }))
    const ids = claimed.flat().map(({ deliveryId }) => deliveryId)
    expect([ids.length, new Set(ids).size]).toEqual([30, 30])
    expect((await list(one)).total).toBe(30)
    expect((await one.listWebhooks(accountId, firstPage)).total).toBe(3)
  })

  test('tokens come from one bucket', async () => {
    await using shared = await openTwo()
    const taken = await shared.inTurns(20, (store) => store.takeTokens('key', { perSecond: 10, burst: 20 }, 3))
    expect(taken.reduce((sum, count) => sum + count)).toBe(20)
  })

  test('the slots of an endpoint and of an account hold for both', async () => {
    await using shared = await openTwo()
    const { one, two, clock, inTurns } = shared
    const { accountId } = await one.createAccount('a', 0)
    for (let i = 0; i < 2; i++) await makeWebhook(one, accountId)
    for (let i = 0; i < 5; i++) await endJob(one, accountId)
    const caps = { perWebhook: 2, perAccount: 3 }
    const claimed = (await inTurns(6, (store) => claim(store, { ...caps, limit: 2 }))).flat()
    expect(claimed).toHaveLength(3)
    for (const store of [one, two]) {
      expect(await store.hasDueDelivery({ ...wanted, ...caps })).toBe(false)
      expect(await store.hasDueDelivery({ ...wanted, perWebhook: 2, perAccount: 4 })).toBe(true)
    }
    clock.ms += wanted.leaseMs
    expect((await inTurns(6, (store) => claim(store, { ...caps, limit: 2 }))).flat()).toHaveLength(3)
  })
}

// The part of the store contract about what nobody else sees to: lost workers, retries, reviews and deadlines.
// P32, P33, P60, P101.
import { expect, test } from 'vitest'
import { longestBackoffMs } from '../../src/core/jobs/loss.ts'
import type { StartCommand } from '../../src/core/store.ts'
import {
  balanceOf,
  claimOne,
  claimPaid,
  createHeldClock,
  entriesOf,
  type OpenTestStore,
  startJob,
  sweepOf,
  testError,
} from './fixture.ts'

const leaseMs = 15_000
const minuteMs = 60_000

/** A store with a held clock, an account of 100 credits, and one running job of 10 whose lease is 15 s. */
async function openRunning(openStore: OpenTestStore, fields: Partial<StartCommand> = {}, claim = claimOne) {
  const clock = createHeldClock()
  const store = await openStore(clock)
  const { accountId } = await store.createAccount('a', 100)
  await startJob(store, accountId, fields)
  const { job, token } = await claim(store, 'test/image', leaseMs)
  return { store, clock, accountId, jobId: job.jobId, token }
}

export function leaseTests(openStore: OpenTestStore): void {
  test('a worker that sends no heartbeat loses its job when the lease ends, not before', async () => {
    const { store, clock, accountId, jobId, token } = await openRunning(openStore)
    await using _ = store
    clock.ms += leaseMs - 1
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 0, more: false })
    await store.heartbeat([{ jobId, token, progress: 0.5 }], leaseMs)
    clock.ms += leaseMs - 1
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 0 })
    clock.ms += 1
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 1 })
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'queued', progress: 0, attempts: 1, error: null })
    expect(await store.inspectJob(jobId)).toMatchObject({ lostRuns: 1, worker: null, leaseUntilMs: null })
    expect(await balanceOf(store, accountId)).toEqual([90, 10])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a due sweep is reported when it is time, and not again after it was done', async () => {
    const { store, clock, accountId } = await openRunning(openStore, { maxAttempts: 20 })
    await using _ = store
    async function expectSweepAfter(ms: number) {
      clock.ms += ms - Math.sign(ms)
      if (ms > 0) expect(await store.needsSweep(sweepOf())).toBe(false)
      clock.ms += Math.sign(ms)
      expect(await store.needsSweep(sweepOf())).toBe(true)
      await store.sweep(sweepOf())
      expect(await store.needsSweep(sweepOf())).toBe(false)
    }
    // A lost run, the pause after it, a lost run that goes to review, and the end of that.
    await expectSweepAfter(leaseMs)
    await expectSweepAfter(500)
    await claimPaid(store, 'test/image', leaseMs)
    await expectSweepAfter(leaseMs)
    await expectSweepAfter(sweepOf().reviewMs)
    await startJob(store, accountId, { expiresInMs: 1000 })
    await expectSweepAfter(1000)
    // A lease that was taken before the clock went back.
    await startJob(store, accountId)
    await claimOne(store, 'test/image', leaseMs)
    await expectSweepAfter(-minuteMs)
  })

  test('it is tried again after a wait that grows and is spread, with its checkpoint and its position in the queue', async () => {
    const { store, clock, jobId, token } = await openRunning(openStore, { maxAttempts: 20 })
    await using _ = store
    await store.saveCheckpoint(jobId, token, { checkpoint: { step: 1 }, afterLoss: 'again' })
    for (const [losses, waitMs] of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
      clock.ms += leaseMs
      await store.sweep(sweepOf())
      expect(await store.inspectJob(jobId)).toMatchObject({ lostRuns: losses + 1, availableAtMs: clock.ms + waitMs })
      clock.ms += waitMs - 1
      expect(await store.sweep(sweepOf())).toMatchObject({ woken: 0 })
      expect(await store.claimJobs({ worker: 'w', room: { 'test/image': 1 }, limit: 1, leaseMs })).toEqual([])
      clock.ms += 1
      expect(await store.sweep(sweepOf())).toMatchObject({ woken: 1 })
      const again = await claimOne(store, 'test/image', leaseMs)
      expect(again).toMatchObject({ job: { jobId, attempts: losses + 2 }, checkpoint: { step: 1 } })
    }
  })

  test('jobs that are lost together do not come back together', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    for (let i = 0; i < 5; i++) await startJob(store, accountId)
    const claimed = await store.claimJobs({ worker: 'w', room: { 'test/image': 5 }, limit: 5, leaseMs })
    clock.ms += leaseMs
    await store.sweep(sweepOf({ random: 0.3 }))
    const seen = await Promise.all(claimed.map(({ job }) => store.inspectJob(job.jobId)))
    const waits = seen.map((job) => (job?.availableAtMs ?? 0) - clock.ms)
    expect(new Set(waits).size).toBe(5)
    for (const waitMs of waits) expect(waitMs).toSatisfy((ms: number) => ms >= 500 && ms <= 1000)
  })

  test('it fails, released, when as many runs were lost as the model allows', async () => {
    const { store, clock, accountId, jobId } = await openRunning(openStore, { maxAttempts: 2 })
    await using _ = store
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 1, failed: 0 })
    clock.ms += minuteMs
    await store.sweep(sweepOf())
    await claimOne(store, 'test/image', leaseMs)
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 0, failed: 1 })
    expect(await store.getJob(null, jobId)).toMatchObject({
      status: 'failed',
      attempts: 2,
      creditsCharged: 0,
      creditsReleased: 10,
      error: { code: 'worker_lost', retryable: true },
    })
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a worker that stops gives its job back at once, and no attempt is used up', async () => {
    const { store, jobId, token } = await openRunning(openStore, { maxAttempts: 1 })
    await using _ = store
    let last = token
    for (let i = 0; i < 3; i++) {
      expect(await store.finishJob(jobId, last, { status: 'queued' })).toMatchObject({
        status: 'queued',
        queuePosition: 1,
      })
      last = (await claimOne(store)).token
    }
    expect(await store.inspectJob(jobId)).toMatchObject({ lostRuns: 0, job: { attempts: 4 } })
  })

  test('what a stale worker says changes nothing', async () => {
    const { store, clock, accountId, jobId, token } = await openRunning(openStore)
    await using _ = store
    clock.ms += leaseMs
    await store.sweep(sweepOf())
    const before = await store.inspectJob(jobId)
    const stale = { jobId, token, progress: 0.9 }
    const success = { status: 'succeeded', outputs: [], creditsActual: 10 } as const
    expect(await store.heartbeat([stale], leaseMs)).toMatchObject({ lost: [jobId] })
    expect(await store.finishJob(jobId, token, success)).toBeNull()
    expect(await store.inspectJob(jobId)).toEqual(before)
    clock.ms += minuteMs
    await store.sweep(sweepOf())
    const second = await claimOne(store, 'test/image', leaseMs)
    expect(await store.heartbeat([stale], leaseMs)).toMatchObject({ lost: [jobId] })
    expect(await store.finishJob(jobId, token, { status: 'failed', error: testError })).toBeNull()
    expect(await store.finishJob(jobId, second.token, success)).toMatchObject({ status: 'succeeded' })
    expect(await entriesOf(store, accountId)).toEqual(['grant 100', 'hold 10', 'charge 10'])
  })

  test('a late heartbeat keeps a job that was not claimed again', async () => {
    const { store, clock, jobId, token } = await openRunning(openStore)
    await using _ = store
    clock.ms += 10 * leaseMs
    expect(await store.heartbeat([{ jobId, token, progress: 0.5 }], leaseMs)).toMatchObject({ lost: [] })
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 0 })
  })

  test('the jobs of workers that are known to be dead are lost at once, those of others are not', async () => {
    const { store, jobId } = await openRunning(openStore)
    await using _ = store
    const { accountId } = await store.createAccount('b', 100)
    await startJob(store, accountId)
    const [other] = await store.claimJobs({ worker: 'alive', room: { 'test/image': 1 }, limit: 1, leaseMs })
    expect(await store.endLeases(['worker-1', 'nobody'])).toBe(1)
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 1 })
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'queued' })
    expect(await store.getJob(null, other?.job.jobId ?? '')).toMatchObject({ status: 'running' })
  })

  test('a clock that goes back keeps no job from being lost, and none waiting', async () => {
    const { store, clock, jobId, token } = await openRunning(openStore)
    await using _ = store
    clock.ms -= 60 * minuteMs
    await store.sweep(sweepOf())
    expect(await store.heartbeat([{ jobId, token, progress: 0 }], leaseMs)).toMatchObject({ lost: [] })
    clock.ms -= 60 * minuteMs
    await store.sweep(sweepOf())
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 1 })
    clock.ms -= 60 * minuteMs + longestBackoffMs
    expect(await store.sweep(sweepOf())).toMatchObject({ woken: 1 })
    expect((await claimOne(store)).job.jobId).toBe(jobId)
  })

  test('a sweep does a limited amount and reports that there is more; repeating it does nothing twice', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    for (let i = 0; i < 5; i++) await startJob(store, accountId)
    await store.claimJobs({ worker: 'w', room: { 'test/image': 5 }, limit: 5, leaseMs })
    clock.ms += leaseMs
    const done = []
    for (let i = 0; i < 4; i++) {
      const { requeued, more } = await store.sweep(sweepOf({ limit: 2 }))
      done.push([requeued, more])
    }
    expect(done).toEqual([
      [2, true],
      [2, true],
      [1, false],
      [0, false],
    ])
    const sweeps = await Promise.all(Array.from({ length: 5 }, () => store.sweep(sweepOf())))
    expect(sweeps.every(({ requeued, failed }) => requeued + failed === 0)).toBe(true)
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('listeners hear of what a sweep changed', async () => {
    const { store, clock, jobId } = await openRunning(openStore)
    await using _ = store
    const received: string[] = []
    store.onNotification((jobs) => received.push(...(jobs ?? []).map(({ jobId: changed }) => changed)))
    clock.ms += leaseMs
    await store.sweep(sweepOf())
    clock.ms += minuteMs
    await store.sweep(sweepOf())
    expect(received).toEqual([jobId, jobId])
  })
}

export function reviewTests(openStore: OpenTestStore): void {
  test('a job that may have cost elsewhere is never run again: it goes to review, with its hold and the reason', async () => {
    const { store, clock, accountId, jobId, token } = await openRunning(openStore, {}, claimPaid)
    await using _ = store
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 0, reviewed: 1 })
    expect(await store.getJob(null, jobId)).toMatchObject({
      status: 'needs_review',
      finishedAtMs: clock.ms,
      error: { code: 'outcome_unknown', retryable: false },
      creditsReleased: 0,
    })
    expect(await balanceOf(store, accountId)).toEqual([90, 10])
    expect(await store.finishJob(jobId, token, { status: 'succeeded', outputs: [], creditsActual: 10 })).toBeNull()
    expect((await store.verifyLedger()).problems).toEqual([])
    const inReview = {
      accountId: null,
      status: 'needs_review',
      model: null,
      idempotencyKey: null,
      search: null,
      withDeleted: true,
    } as const
    expect(await store.listJobs({ ...inReview, limit: 10, offset: 0 })).toMatchObject({ items: [{ jobId }], total: 1 })
  })

  test('it goes there too when its worker stops', async () => {
    const { store, jobId, token } = await openRunning(openStore, {}, claimPaid)
    await using _ = store
    expect(await store.finishJob(jobId, token, { status: 'queued' })).toMatchObject({ status: 'needs_review' })
    expect(await store.inspectJob(jobId)).toMatchObject({ lostRuns: 0 })
  })

  test('an operator ends the review, or the time for it does, in favour of the customer; never both', async () => {
    const { store, clock, accountId, jobId } = await openRunning(openStore, {}, claimPaid)
    await using _ = store
    await startJob(store, accountId)
    const { job: other } = await claimPaid(store, 'test/image', leaseMs)
    clock.ms += leaseMs
    await store.sweep(sweepOf())
    expect(await store.resolveReview(jobId, 4)).toMatchObject({ outcome: 'done', job: { creditsCharged: 4 } })
    clock.ms += 72 * 60 * minuteMs - 1
    expect(await store.sweep(sweepOf())).toMatchObject({ released: 0 })
    clock.ms += 1
    expect(await store.sweep(sweepOf())).toMatchObject({ released: 1 })
    expect(await store.getJob(null, other.jobId)).toMatchObject({
      status: 'failed',
      creditsReleased: 10,
      error: { code: 'outcome_unknown', retryable: true },
    })
    expect(await store.resolveReview(other.jobId, 1)).toEqual({ outcome: 'not_in_review', status: 'failed' })
    expect(await balanceOf(store, accountId)).toEqual([96, 0])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test.each([claimOne, claimPaid])('a wish to cancel is fulfilled when the worker is lost (%o)', async (claim) => {
    const { store, clock, accountId, jobId } = await openRunning(openStore, {}, claim)
    await using _ = store
    await store.requestCancel(accountId, jobId)
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ expired: 1, requeued: 0, reviewed: 0 })
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'canceled', creditsReleased: 10 })
  })
}

export function deadlineTests(openStore: OpenTestStore): void {
  test('a job that could not begin before its deadline expires, free; it is not claimed meanwhile', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 100)
    const { jobId } = await startJob(store, accountId, { expiresInMs: 1000 })
    clock.ms += 999
    expect(await store.sweep(sweepOf())).toMatchObject({ expired: 0 })
    clock.ms += 1
    expect(await store.claimJobs({ worker: 'w', room: { 'test/image': 1 }, limit: 1, leaseMs })).toEqual([])
    expect(await store.sweep(sweepOf())).toMatchObject({ expired: 1 })
    expect(await store.getJob(null, jobId)).toMatchObject({
      status: 'expired',
      startedAtMs: null,
      error: { code: 'expired' },
      creditsReleased: 10,
    })
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a worker learns how long it has, and when the time is over', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 100)
    const { jobId } = await startJob(store, accountId, { expiresInMs: 10_000 })
    clock.ms += 4000
    const { token, msToDeadline } = await claimOne(store, 'test/image', leaseMs)
    expect(msToDeadline).toBe(6000)
    clock.ms += 5999
    expect(await store.heartbeat([{ jobId, token, progress: 0 }], leaseMs)).toMatchObject({ deadlinePassed: [] })
    clock.ms += 1
    expect(await store.heartbeat([{ jobId, token, progress: 0 }], leaseMs)).toMatchObject({ deadlinePassed: [jobId] })
  })

  test('what succeeds after its deadline is canceled: the clock of the store is the judge', async () => {
    const { store, clock, accountId, jobId, token } = await openRunning(openStore, { expiresInMs: 5000 })
    await using _ = store
    clock.ms += 5000
    expect(await store.finishJob(jobId, token, { status: 'succeeded', outputs: [], creditsActual: 10 })).toMatchObject({
      status: 'canceled',
      error: { code: 'deadline_passed' },
      creditsReleased: 10,
    })
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
  })

  test('a sweep leaves a job that runs past its deadline to its worker', async () => {
    const { store, clock, accountId, jobId, token } = await openRunning(openStore, { expiresInMs: 5000 })
    await using _ = store
    clock.ms += 5000
    expect(await store.needsSweep(sweepOf())).toBe(false)
    // What waits and is over makes the sweep look at deadlines.
    const waiting = await startJob(store, accountId, { expiresInMs: 1 })
    clock.ms += 1
    expect(await store.sweep(sweepOf())).toMatchObject({ expired: 1, requeued: 0, failed: 0 })
    expect(await store.getJob(null, waiting.jobId)).toMatchObject({ status: 'expired' })
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'running' })
    expect(await balanceOf(store, accountId)).toEqual([90, 10])
    expect(await store.finishJob(jobId, token, { status: 'failed', error: testError })).toMatchObject({
      status: 'failed',
      error: testError,
    })
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a job that was begun is canceled, not expired, also while it waits for another run', async () => {
    const { store, clock, jobId } = await openRunning(openStore, { expiresInMs: leaseMs + 100 })
    await using _ = store
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 1 })
    clock.ms += 100
    expect(await store.sweep(sweepOf())).toMatchObject({ expired: 1 })
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'canceled', error: { code: 'deadline_passed' } })
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a lost run is not tried again after the deadline', async () => {
    const { store, clock, jobId } = await openRunning(openStore, { expiresInMs: leaseMs - 1 })
    await using _ = store
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 0, expired: 1 })
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'canceled' })
  })
}

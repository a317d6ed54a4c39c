// The part of the store contract about how much waits, for operators.
import { expect, test } from 'vitest'
import type { Backlog } from '../../src/core/jobs/backlog.ts'
import { claimFirst, makeWebhook, taken } from './contract-webhooks.ts'
import { claimOne, claimPaid, createHeldClock, type OpenTestStore, startJob, sweepOf, testError } from './fixture.ts'

/** Of a store in which nothing waits. */
export const emptyBacklog: Backlog = {
  models: [],
  reviews: 0,
  oldestReviewMs: 0,
  deliveries: 0,
  overdueMs: 0,
}

export function backlogTests(openStore: OpenTestStore): void {
  test('nothing waits in a new store, nor once all jobs have ended', async () => {
    await using store = await openStore()
    expect(await store.measureBacklog()).toEqual(emptyBacklog)
    const { accountId } = await store.createAccount('a', 100)
    await startJob(store, accountId)
    const { job, token } = await claimOne(store)
    await store.finishJob(job.jobId, token, { status: 'failed', error: testError })
    expect(await store.measureBacklog()).toEqual(emptyBacklog)
  })

  test('queued jobs are counted by model, with the age of the first; an urgent later one changes no age', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    await startJob(store, accountId, { priority: -5 })
    clock.ms += 3000
    await startJob(store, accountId)
    await startJob(store, accountId, { model: 'test/film' })
    clock.ms += 2000
    const { models } = await store.measureBacklog()
    const idle = { delayed: 0, running: 0 }
    expect(models.toSorted((a, b) => a.queued - b.queued)).toEqual([
      { model: 'test/film', queued: 1, oldestMs: 2000, ...idle },
      { model: 'test/image', queued: 2, oldestMs: 5000, ...idle },
    ])
  })

  test('jobs that run, wait for a retry or wait for a person are counted, and no worker has to take them', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const idle = { model: 'test/image', queued: 0, oldestMs: 0, delayed: 0, running: 0 }
    for (const claim of [claimOne, claimPaid]) {
      await startJob(store, accountId)
      await claim(store, 'test/image', 15_000)
    }
    expect(await store.measureBacklog()).toEqual({ ...emptyBacklog, models: [{ ...idle, running: 2 }] })
    clock.ms += 15_000
    expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 1, reviewed: 1 })
    await startJob(store, accountId)
    await claimOne(store)
    clock.ms += 400
    expect(await store.measureBacklog()).toEqual({
      ...emptyBacklog,
      models: [{ ...idle, delayed: 1, running: 1 }],
      reviews: 1,
      oldestReviewMs: 400,
    })
  })

  test('deliveries are pending until they are made, and overdue from the moment at which an attempt was due', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    await makeWebhook(store, accountId)
    const { jobId } = await startJob(store, accountId)
    await store.requestCancel(accountId, jobId)
    clock.ms += 7000
    expect(await store.measureBacklog()).toEqual({ ...emptyBacklog, deliveries: 1, overdueMs: 7000 })
    const { deliveryId, token } = await claimFirst(store)
    expect(await store.measureBacklog()).toEqual({ ...emptyBacklog, deliveries: 1 })
    const report = { attempt: taken, next: { status: 'delivered' }, prompt: true, gone: false } as const
    await store.reportDelivery({ deliveryId, token, ...report })
    expect(await store.measureBacklog()).toEqual(emptyBacklog)
  })
}

// The part of the store contract about providers of media: slots, pace and pauses that all workers share, and submissions whose
// answer was lost.
import type { UpstreamVerdict } from '@mediagen/engine/engine.ts'
import type { ProviderEntry } from '@mediagen/engine/provider-share.ts'
import { expect, test } from 'vitest'
import { claimOne, createHeldClock, type OpenTestStore, startJob } from './fixture.ts'

function entryOf(jobId: string, fields: Partial<ProviderEntry> = {}): ProviderEntry {
  return { provider: 'fal', jobId, concurrency: null, perMinute: null, longestMs: 60_000, ...fields }
}

export function providerTests(openStore: OpenTestStore): void {
  test('no more runs at a time than a provider takes, until one leaves or its time is over', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const enter = (jobId: string, provider = 'fal') => store.enterProvider(entryOf(jobId, { provider, concurrency: 2 }))
    expect([await enter('a'), await enter('b'), await enter('c')]).toEqual([0, 0, 1000])
    const waits = await Promise.all(['a', 'b', 'c', 'd'].map((jobId) => enter(jobId, 'busy')))
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(2)
    expect(await enter('a')).toBe(0)
    expect(await enter('c', 'other')).toBe(0)
    await store.leaveProvider('fal', 'b')
    expect(await enter('c')).toBe(0)
    expect(await enter('d')).toBe(1000)
    clock.ms += 60_000
    expect(await enter('d')).toBe(0)
  })

  test('submissions are spaced by their number a minute', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const enter = () => store.enterProvider(entryOf('a', { perMinute: 50 }))
    expect([await enter(), await enter()]).toEqual([0, 1200])
    clock.ms += 1200
    expect(await enter()).toBe(0)
  })

  test('a pause holds for all, and a shorter one does not end it', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    await store.pauseProvider('fal', 30_000)
    await store.pauseProvider('fal', 1000)
    expect(await store.enterProvider(entryOf('a'))).toBe(30_000)
    expect(await store.enterProvider(entryOf('a', { provider: 'other' }))).toBe(0)
    clock.ms += 30_000
    expect(await store.enterProvider(entryOf('a'))).toBe(0)
  })

  test('a pause ends after an hour, whatever the provider asks for', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    await store.pauseProvider('fal', 3e12)
    expect(await store.enterProvider(entryOf('a'))).toBe(3_600_000)
  })

  test('a submission that was found belongs to one job', async () => {
    await using store = await openStore()
    const find = (jobId: string, n: number, upstreamId: string) =>
      store.findSubmission({ jobId, n, provider: 'fal', upstreamId })
    // Of two at once either may be the first.
    expect((await Promise.all([find('c', 1, 'z'), find('d', 1, 'z')])).toSorted()).toEqual([false, true])
    expect([await find('a', 1, 'x'), await find('b', 1, 'x')]).toEqual([true, false])
    expect([await find('a', 1, 'x'), await find('a', 1, 'y'), await find('b', 2, 'y')]).toEqual([true, false, true])
    expect(await store.foundSubmission('a', 1)).toBe('x')
    expect(await store.foundSubmission('b', 1)).toBeNull()
    expect(await store.isUpstreamTaken('fal', 'x', 'b')).toBe(true)
    expect(await store.isUpstreamTaken('fal', 'x', 'a')).toBe(false)
    expect(await store.isUpstreamTaken('other', 'x', 'b')).toBe(false)
  })

  test('a submission on the record of a job is not found for another', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    await startJob(store, accountId)
    const { job, token } = await claimOne(store)
    const upstream = { n: 1, provider: 'fal', upstreamId: 'x', verdict: 'accepted', cost: null } as const
    await store.saveCheckpoint(job.jobId, token, { checkpoint: {}, afterLoss: 'continue', upstream })
    expect(await store.isUpstreamTaken('fal', 'x', 'job_other')).toBe(true)
    expect(await store.findSubmission({ jobId: 'job_other', n: 1, provider: 'fal', upstreamId: 'x' })).toBe(false)
    expect(await store.findSubmission({ jobId: job.jobId, n: 1, provider: 'fal', upstreamId: 'x' })).toBe(true)
  })

  test('an id that was looked up is nobody’s while another job awaits the answer to its submission', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 100)
    await startJob(store, accountId)
    const { job, token } = await claimOne(store)
    const save = (verdict: UpstreamVerdict, upstreamId: string | null) =>
      store.saveCheckpoint(job.jobId, token, {
        checkpoint: {},
        afterLoss: 'continue',
        upstream: { n: 1, provider: 'fal', upstreamId, verdict, cost: null },
      })
    const adopt = (upstreamId: string) =>
      store.adoptSubmission({ jobId: 'job_other', n: 1, provider: 'fal', upstreamId })
    await save('submitting', null)
    expect(await adopt('x')).toBe(false)
    expect(await store.adoptSubmission({ jobId: 'job_third', n: 1, provider: 'other', upstreamId: 'z' })).toBe(true)
    expect(await store.adoptSubmission({ jobId: job.jobId, n: 1, provider: 'fal', upstreamId: 'x' })).toBe(true)
    await save('accepted', 'x')
    expect(await adopt('x')).toBe(false)
    expect(await adopt('y')).toBe(true)
  })

  test('an answer is awaited for two minutes, and no longer than its job does', async () => {
    for (const give of ['time', 'up'] as const) {
      const clock = createHeldClock()
      await using store = await openStore(clock)
      const { accountId } = await store.createAccount('a', 100)
      await startJob(store, accountId)
      const { job, token } = await claimOne(store)
      const upstream = { n: 1, provider: 'fal', upstreamId: null, verdict: 'submitting', cost: null } as const
      const checkpoint = { checkpoint: {}, afterLoss: 'continue' } as const
      await store.saveCheckpoint(job.jobId, token, { ...checkpoint, upstream })
      const found = { jobId: 'job_other', n: 1, provider: 'fal', upstreamId: 'x' }
      expect(await store.adoptSubmission(found)).toBe(false)
      if (give === 'time') clock.ms += 120_000
      else
        await store.saveCheckpoint(job.jobId, token, { ...checkpoint, upstream: { ...upstream, verdict: 'unknown' } })
      expect(await store.adoptSubmission(found)).toBe(true)
    }
  })
}

// The part of the store contract about workers and about how jobs end (P21, P25, P29, P32, P58, P59, P63).
import { expect, test } from 'vitest'
import { claimFirst, makeWebhook } from './contract-webhooks.ts'
import {
  balanceOf,
  claimOne,
  entriesOf,
  startJob,
  startOf,
  testAsset,
  testError,
  type OpenTestStore,
  type TestStore,
} from './fixture.ts'

export function claimTests(openStore: OpenTestStore): void {
  test('where a start is in a trace goes with its job to the worker and to the sender, and a repeated start changes nothing', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    await makeWebhook(store, accountId)
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01 vendor=x`
    await store.startGeneration(startOf(accountId, { idempotencyKey: 'k', trace }))
    await store.startGeneration(startOf(accountId, { idempotencyKey: 'k', trace: 'another' }))
    const claimed = await claimOne(store)
    expect(claimed).toMatchObject({ trace })
    await store.finishJob(claimed.job.jobId, claimed.token, { status: 'failed', error: testError })
    expect(await claimFirst(store)).toMatchObject({ trace })
    await startJob(store, accountId)
    expect(await claimOne(store)).toMatchObject({ trace: null })
  })

  test('the oldest jobs are claimed first, over the models with room', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const made: string[] = []
    for (const model of ['x', 'y', 'x', 'z', 'y', 'x']) made.push((await startJob(store, accountId, { model })).jobId)
    const claim = async (room: Record<string, number>, limit: number) =>
      (await store.claimJobs({ worker: 'w', room, limit, leaseMs: 1000 })).map(({ job }) => made.indexOf(job.jobId))
    expect(await claim({ x: 0 }, 10)).toEqual([])
    expect(await claim({ x: 2, y: 1 }, 0)).toEqual([])
    expect(await claim({ x: 2, y: 5 }, 2)).toEqual([0, 1])
    expect(await claim({ x: 1, y: 5 }, 10)).toEqual([2, 4])
    expect(await claim({ x: 5, y: 5 }, 10)).toEqual([5])
    expect(await claim({ unknown: 5 }, 10)).toEqual([])
  })

  test('jobs of accounts that are left out stay in the queue, and those of others keep their order', async () => {
    await using store = await openStore()
    const [a, b, c] = [
      await store.createAccount('a', 100),
      await store.createAccount('b', 100),
      await store.createAccount('c', 100),
    ]
    const made: string[] = []
    for (const { accountId } of [a, a, b, a, c, b]) made.push((await startJob(store, accountId)).jobId)
    const claim = async (limit: number, ...except: string[]) =>
      (await store.claimJobs({ worker: 'w', room: { 'test/image': 9 }, limit, leaseMs: 1000, except })).map(({ job }) =>
        made.indexOf(job.jobId),
      )
    expect(await claim(1, a.accountId)).toEqual([2])
    expect(await claim(9, a.accountId, b.accountId)).toEqual([4])
    expect(await claim(9, a.accountId, 'acct_none')).toEqual([5])
    expect(await claim(9, a.accountId)).toEqual([])
    expect(await claim(9)).toEqual([0, 1, 3])
  })

  test('an account that holds its share of slots is claimed for after those that do not, or not at all', async () => {
    await using store = await openStore()
    const [a, b] = [await store.createAccount('a', 10_000), await store.createAccount('b', 10_000)]
    const made: string[] = []
    const queue = async (name: string, model = 'test/image', credits = 10): Promise<void> => {
      const { accountId } = name === 'a' ? a : b
      made.push((await startJob(store, accountId, { model, credits })).jobId)
    }
    const claim = async (limit: number, held: Record<string, number>, most: number, strict = false) => {
      const room = { 'test/image': 9, 'test/film': 9 }
      const share = { held, most, strict }
      const claims = await store.claimJobs({ worker: 'w', room, limit, leaseMs: 1000, share })
      return claims.map(({ job }) => made.indexOf(job.jobId))
    }
    // Those of b are so dear that in the order of the queue two more of a would come before its second.
    for (const name of ['a', 'a', 'a', 'a']) await queue(name)
    for (const model of ['test/image', 'test/film', 'test/image']) await queue('b', model, 900)
    expect(await claim(1, { [a.accountId]: 1 }, 1, true)).toEqual([4])
    expect(await claim(4, { [b.accountId]: 1 }, 2)).toEqual([0, 5, 1, 2])
    expect(await claim(9, { [a.accountId]: 2, [b.accountId]: 2 }, 2, true)).toEqual([])
    expect(await claim(9, { [a.accountId]: 2 }, 2)).toEqual([6, 3])
    // An account alone may have all.
    for (const name of ['a', 'a', 'a']) await queue(name)
    expect(await claim(2, { [a.accountId]: 5 }, 1)).toEqual([7, 8])
    expect(await claim(2, { [a.accountId]: 5 }, 1, true)).toEqual([])
    expect(await claim(2, {}, 1)).toEqual([9])
  })

  test('the models that wait are those with queued jobs that may be claimed', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    expect(await store.listWaitingModels()).toEqual([])
    for (const model of ['z', 'x', 'x', 'y']) await startJob(store, accountId, { model })
    expect(await store.listWaitingModels()).toEqual(['x', 'y', 'z'])
    await store.claimJobs({ worker: 'w', room: { x: 1, y: 1 }, limit: 2, leaseMs: 1000 })
    expect(await store.listWaitingModels()).toEqual(['x', 'z'])
  })

  test('a claimed job runs, one attempt more', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const queued = await startJob(store, accountId, { input: { prompt: 'x' } })
    const { job, input, checkpoint, token } = await claimOne(store)
    expect(job).toMatchObject({ jobId: queued.jobId, status: 'running', attempts: 1, sequence: 2, finishedAtMs: null })
    expect(job.startedAtMs).toBeGreaterThanOrEqual(queued.createdAtMs)
    expect([input, checkpoint, token]).toEqual([{ prompt: 'x' }, null, 1])
    expect(await store.getJob(null, job.jobId)).toEqual(job)
  })

  test('many claimers never share a job', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    await Promise.all(Array.from({ length: 60 }, () => startJob(store, accountId)))
    const claims = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        store.claimJobs({ worker: `w${index}`, room: { 'test/image': 5 }, limit: 5, leaseMs: 1000 }),
      ),
    )
    const ids = claims.flat().map(({ job }) => job.jobId)
    expect(ids).toHaveLength(60)
    expect(new Set(ids).size).toBe(60)
  })

  test('progress never goes back and stays below 1 while running, and only a change increases the sequence number', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    await startJob(store, accountId)
    const { job, token } = await claimOne(store)
    const beat = async (progress: number) => {
      expect(await store.heartbeat([{ jobId: job.jobId, token, progress }], 1000)).toEqual({
        lost: [],
        cancelRequested: [],
        deadlinePassed: [],
      })
      const now = await store.getJob(null, job.jobId)
      return [now?.progress, now?.sequence]
    }
    expect(await beat(0)).toEqual([0, 2])
    expect(await beat(0.5)).toEqual([0.5, 3])
    expect(await beat(0.25)).toEqual([0.5, 3])
    expect(await beat(Number.NaN)).toEqual([0.5, 3])
    const [progress, sequence] = await beat(1)
    expect(progress).toBeGreaterThan(0.5)
    expect(progress).toBeLessThan(1)
    expect(sequence).toBe(4)
    expect(await beat(2)).toEqual([progress, 4])
  })

  test('checkpoints are kept for the next attempt', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    await startJob(store, accountId)
    const first = await claimOne(store)
    expect(
      await store.saveCheckpoint(first.job.jobId, first.token, {
        checkpoint: { step: [1, 'two'] },
        afterLoss: 'again',
      }),
    ).toBe(true)
    await store.heartbeat([{ jobId: first.job.jobId, token: first.token, progress: 0.6 }], 1000)
    expect(await store.finishJob(first.job.jobId, first.token, { status: 'queued' })).toMatchObject({
      status: 'queued',
      progress: 0,
      attempts: 1,
    })
    const second = await claimOne(store)
    expect(second.checkpoint).toEqual({ step: [1, 'two'] })
    expect(second.token).toBeGreaterThan(first.token)
    expect(second.job).toMatchObject({ attempts: 2, progress: 0, startedAtMs: first.job.startedAtMs })
    expect(await balanceOf(store, accountId)).toEqual([990, 10])
  })

  test('a run that was hindered is tried a while later, longer each time, and uses up no attempt', async () => {
    const clock = { ms: Date.parse('2026-11-22T12:00:00Z'), nowMs: () => clock.ms }
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const { jobId } = await startJob(store, accountId)
    const sweep = () => store.sweep({ leaseMs: 1000, reviewMs: 1000, limit: 10, random: 0 })
    for (const waitMs of [1000, 2000, 4000, 8000]) {
      const { token } = await claimOne(store)
      expect(await store.finishJob(jobId, token, { status: 'queued', hindered: true })).toMatchObject({
        status: 'queued',
      })
      expect(await store.inspectJob(jobId)).toMatchObject({ lostRuns: 0, availableAtMs: clock.ms + waitMs })
      clock.ms += waitMs - 1
      expect((await sweep()).woken).toBe(0)
      clock.ms += 1
      expect((await sweep()).woken).toBe(1)
    }
    expect(await balanceOf(store, accountId)).toEqual([990, 10])
  })

  test('a heartbeat with a stale token, of an ended or unknown job is lost and changes nothing', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    for (let i = 0; i < 3; i++) await startJob(store, accountId)
    const [stale, ended, running] = [await claimOne(store), await claimOne(store), await claimOne(store)]
    await store.finishJob(stale.job.jobId, stale.token, { status: 'queued' })
    await claimOne(store)
    await store.finishJob(ended.job.jobId, ended.token, { status: 'failed', error: testError })
    const beats = [stale, ended, running].map(({ job, token }) => ({ jobId: job.jobId, token, progress: 0.5 }))
    const answer = await store.heartbeat([...beats, { jobId: 'job_nobody', token: 1, progress: 0.5 }], 1000)
    expect(answer).toMatchObject({ lost: [stale.job.jobId, ended.job.jobId, 'job_nobody'], cancelRequested: [] })
    expect(await store.getJob(null, stale.job.jobId)).toMatchObject({ progress: 0 })
    expect(await store.getJob(null, running.job.jobId)).toMatchObject({ progress: 0.5 })
  })
}

/** An account of 100 credits with one running job of 10. */
async function openRunning(store: TestStore) {
  const { accountId } = await store.createAccount('a', 100)
  await startJob(store, accountId)
  const { job, token } = await claimOne(store)
  return { accountId, jobId: job.jobId, token }
}

export function endTests(openStore: OpenTestStore): void {
  test.each([
    { actual: 10, charged: 10, released: 0, entries: ['charge 10'] },
    { actual: 4, charged: 4, released: 6, entries: ['charge 4', 'release 6'] },
    { actual: 0, charged: 0, released: 10, entries: ['release 10'] },
    { actual: 999, charged: 10, released: 0, entries: ['charge 10'] },
  ])('success that cost $actual of a hold of 10', async ({ actual, charged, released, entries }) => {
    await using store = await openStore()
    const { accountId, jobId, token } = await openRunning(store)
    const job = await store.finishJob(jobId, token, {
      status: 'succeeded',
      outputs: [testAsset],
      creditsActual: actual,
    })
    expect(job).toMatchObject({
      status: 'succeeded',
      progress: 1,
      outputs: [testAsset],
      error: null,
      creditsHeld: 10,
      creditsCharged: charged,
      creditsReleased: released,
      sequence: 3,
    })
    expect(job?.finishedAtMs).toBeTypeOf('number')
    expect(await store.getJob(accountId, jobId)).toEqual(job)
    expect(await balanceOf(store, accountId)).toEqual([100 - charged, 0])
    expect(await entriesOf(store, accountId)).toEqual(['grant 100', 'hold 10', ...entries])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test.each(['failed', 'canceled'] as const)('a %s run releases everything', async (status) => {
    await using store = await openStore()
    const { accountId, jobId, token } = await openRunning(store)
    const job = await store.finishJob(jobId, token, { status, error: testError })
    expect(job).toMatchObject({ status, error: testError, outputs: [], creditsCharged: 0, creditsReleased: 10 })
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a stale or second report changes nothing', async () => {
    await using store = await openStore()
    const { accountId, jobId, token } = await openRunning(store)
    expect(await store.finishJob(jobId, token + 1, { status: 'failed', error: testError })).toBeNull()
    expect(await store.finishJob('job_nobody', 1, { status: 'queued' })).toBeNull()
    await store.finishJob(jobId, token, { status: 'queued' })
    expect(await store.finishJob(jobId, token, { status: 'succeeded', outputs: [], creditsActual: 10 })).toBeNull()
    const { token: second } = await claimOne(store)
    expect(await store.finishJob(jobId, token, { status: 'succeeded', outputs: [], creditsActual: 10 })).toBeNull()
    const ended = await store.finishJob(jobId, second, { status: 'failed', error: testError })
    expect(await store.finishJob(jobId, second, { status: 'succeeded', outputs: [], creditsActual: 10 })).toBeNull()
    expect(await store.getJob(null, jobId)).toEqual(ended)
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
  })

  test('many reports of one run: one of them counts', async () => {
    await using store = await openStore()
    const { accountId, jobId, token } = await openRunning(store)
    const reports = Array.from({ length: 20 }, (_, index) =>
      store.finishJob(
        jobId,
        token,
        index % 2 === 0
          ? { status: 'succeeded', outputs: [], creditsActual: index }
          : { status: 'failed', error: testError },
      ),
    )
    expect((await Promise.all(reports)).filter((job) => job !== null)).toHaveLength(1)
    expect(await entriesOf(store, accountId)).toHaveLength(3)
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a queued job is canceled at once', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    const { jobId } = await startJob(store, accountId)
    const job = await store.requestCancel(accountId, jobId)
    expect(job).toMatchObject({
      status: 'canceled',
      creditsCharged: 0,
      creditsReleased: 10,
      startedAtMs: null,
      error: { code: 'canceled' },
    })
    expect(await store.requestCancel(accountId, jobId)).toEqual(job)
    expect(await store.claimJobs({ worker: 'w', room: { 'test/image': 9 }, limit: 9, leaseMs: 1000 })).toEqual([])
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
    expect(await store.requestCancel(accountId, 'job_nobody')).toBeNull()
  })

  test('the wish to cancel a running job is noted once and passed to its worker', async () => {
    await using store = await openStore()
    const { accountId, jobId, token } = await openRunning(store)
    const job = await store.requestCancel(accountId, jobId)
    expect(job).toMatchObject({ status: 'running', cancelRequested: true, sequence: 3, creditsReleased: 0 })
    expect(await store.requestCancel(accountId, jobId)).toEqual(job)
    expect(await store.heartbeat([{ jobId, token, progress: 0.1 }], 1000)).toEqual({
      lost: [],
      cancelRequested: [jobId],
      deadlinePassed: [],
    })
    expect(await store.finishJob(jobId, token, { status: 'canceled', error: testError })).toMatchObject({
      status: 'canceled',
      creditsReleased: 10,
    })
  })

  test('a success that races a wish to cancel wins, and is not canceled afterwards', async () => {
    await using store = await openStore()
    const { accountId, jobId, token } = await openRunning(store)
    await store.requestCancel(accountId, jobId)
    const job = await store.finishJob(jobId, token, { status: 'succeeded', outputs: [testAsset], creditsActual: 10 })
    expect(job).toMatchObject({ status: 'succeeded', creditsCharged: 10 })
    expect(await store.requestCancel(accountId, jobId)).toEqual(job)
  })

  test('a job that is given back after a wish to cancel is canceled, not run again', async () => {
    await using store = await openStore()
    const { accountId, jobId, token } = await openRunning(store)
    await store.requestCancel(accountId, jobId)
    expect(await store.finishJob(jobId, token, { status: 'queued' })).toMatchObject({
      status: 'canceled',
      creditsReleased: 10,
      error: { code: 'canceled' },
    })
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
  })

  test('a job that is not under review is not resolved', async () => {
    await using store = await openStore()
    const { jobId } = await openRunning(store)
    expect(await store.resolveReview(jobId, 1)).toEqual({ outcome: 'not_in_review', status: 'running' })
    expect(await store.resolveReview('job_nobody', 1)).toEqual({ outcome: 'no_job' })
    await expect(store.resolveReview(jobId, -1)).rejects.toThrow('charge')
  })
}

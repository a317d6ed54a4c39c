// The part of the store contract about who is next, and what a queued job says of its position (P22, P102).
import { expect, test } from 'vitest'
import { lastQueuePosition } from '../../src/core/jobs/fair-queue.ts'
import type { Job } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/core/store.ts'
import { createHeldClock, filterOf, type OpenTestStore, startJob, startOf, sweepOf, testError } from './fixture.ts'

const claim = async (store: Store, limit: number, models: readonly string[] = ['test/image']) =>
  store.claimJobs({
    worker: 'w',
    room: Object.fromEntries(models.map((model) => [model, limit])),
    limit,
    leaseMs: 1000,
  })

export function fairnessTests(openStore: OpenTestStore): void {
  test('ten thousand queued jobs of one account do not delay the first one of another', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 10_000_000)
    const b = await store.createAccount('b', 1_000_000)
    for (let i = 0; i < 100; i++)
      await Promise.all(
        Array.from({ length: 100 }, () => store.startGeneration(startOf(a.accountId, { maxQueuedJobs: 1e6 }))),
      )
    await claim(store, 1)
    const { jobId, queuePosition } = await startJob(store, b.accountId, { credits: 500 })
    expect(queuePosition).toBe(1)
    expect((await claim(store, 1)).map(({ job }) => job.jobId)).toEqual([jobId])
  })

  test('accounts share in proportion to the credits of their jobs, and each keeps its own order', async () => {
    await using store = await openStore()
    const names = new Map<string, string>()
    for (const [name, credits] of [
      ['a', 1],
      ['b', 3],
    ] as const) {
      const { accountId } = await store.createAccount(name, 1000)
      for (let i = 0; i < 12; i++) names.set((await startJob(store, accountId, { credits })).jobId, name + i)
    }
    const order = []
    for (let i = 0; i < 12; i++) order.push(names.get((await claim(store, 1))[0]?.job.jobId ?? ''))
    expect(order).toEqual(['a0', 'b0', 'a1', 'a2', 'a3', 'b1', 'a4', 'a5', 'a6', 'b2', 'a7', 'a8'])
  })

  test('an account that comes later begins where the queue is, not where it began', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 1000)
    const b = await store.createAccount('b', 1000)
    for (let i = 0; i < 20; i++) await startJob(store, a.accountId)
    await claim(store, 10)
    const mine: string[] = []
    for (let i = 0; i < 4; i++) mine.push((await startJob(store, b.accountId)).jobId)
    const taken = (await claim(store, 6)).map(({ job }) => (mine.includes(job.jobId) ? 'b' : 'a'))
    expect(taken.join('')).toBe('bababa')
  })

  test('over several models, a backlog of one does not delay another', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 1000)
    const b = await store.createAccount('b', 1000)
    for (let i = 0; i < 20; i++) await startJob(store, a.accountId, { model: 'x' })
    await claim(store, 2, ['x', 'y'])
    const { jobId } = await startJob(store, b.accountId, { model: 'y' })
    expect((await claim(store, 1, ['x', 'y'])).map(({ job }) => job.jobId)).toEqual([jobId])
  })

  test('a job that was canceled before it ran does not count against its account', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 1000)
    const b = await store.createAccount('b', 1000)
    for (let i = 0; i < 30; i++) {
      const { jobId } = await startJob(store, a.accountId)
      await store.requestCancel(a.accountId, jobId)
    }
    const first = await startJob(store, a.accountId)
    await startJob(store, b.accountId)
    expect((await claim(store, 1)).map(({ job }) => job.jobId)).toEqual([first.jobId])
  })

  test('a lower priority yields to the jobs of all accounts', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 1000)
    const b = await store.createAccount('b', 1000)
    const low = await startJob(store, a.accountId, { priority: -1 })
    const lowest = await startJob(store, b.accountId, { priority: -10 })
    const usual = [await startJob(store, a.accountId), await startJob(store, a.accountId)]
    expect((await claim(store, 4)).map(({ job }) => job.jobId)).toEqual(
      [...usual, low, lowest].map(({ jobId }) => jobId),
    )
  })

  test('free jobs take turns too', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 0)
    const b = await store.createAccount('b', 0)
    for (let i = 0; i < 3; i++) await startJob(store, a.accountId, { credits: 0 })
    const { jobId } = await startJob(store, b.accountId, { credits: 0 })
    expect((await claim(store, 2)).map(({ job }) => job.jobId)[1]).toBe(jobId)
  })
}

export function positionTests(openStore: OpenTestStore): void {
  test('every record of a queued job says its position, and of no other', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const jobs = []
    for (let i = 0; i < 4; i++) jobs.push(await startJob(store, accountId, { idempotencyKey: `k${i}` }))
    await startJob(store, accountId, { model: 'other', idempotencyKey: 'other' })
    expect(jobs.map(({ queuePosition }) => queuePosition)).toEqual([1, 2, 3, 4])
    const [running] = await claim(store, 1)
    await store.requestCancel(accountId, jobs[1]?.jobId ?? '')
    expect(running?.job.queuePosition).toBeNull()
    const { items } = await store.listJobs(filterOf(accountId))
    expect(items.map(({ queuePosition }) => queuePosition)).toEqual([1, 2, 1, null, null])
    expect((await store.getJob(null, jobs[3]?.jobId ?? ''))?.queuePosition).toBe(2)
    expect((await store.findStartedJob(accountId, 'k3'))?.job.queuePosition).toBe(2)
    expect(await store.startGeneration(startOf(accountId, { idempotencyKey: 'k3' }))).toMatchObject({
      outcome: 'replayed',
      job: { queuePosition: 2 },
    })
    const token = running?.token ?? 0
    const back = await store.finishJob(running?.job.jobId ?? '', token, { status: 'queued' })
    expect(back?.queuePosition).toBe(1)
    const ended = await claim(store, 1)
    const job = await store.finishJob(ended[0]?.job.jobId ?? '', ended[0]?.token ?? 0, {
      status: 'failed',
      error: testError,
    })
    expect(job?.queuePosition).toBeNull()
  })

  test('positions are in the order in which jobs are claimed', async () => {
    await using store = await openStore()
    const owners = [await store.createAccount('a', 1000), await store.createAccount('b', 1000)]
    for (let i = 0; i < 12; i++)
      await startJob(store, owners[i % 2]?.accountId ?? '', { credits: (i * 7) % 5, priority: i % 3 === 0 ? -1 : 0 })
    const all = {
      accountId: null,
      status: 'queued',
      model: null,
      idempotencyKey: null,
      search: null,
      withDeleted: true,
      limit: 100,
      offset: 0,
    } as const
    const { items } = await store.listJobs(all)
    const byPosition = items.toSorted((a, b) => (a.queuePosition ?? 0) - (b.queuePosition ?? 0))
    expect(byPosition.map(({ queuePosition }) => queuePosition)).toEqual(items.map((_, index) => index + 1))
    const claimed = []
    for (let i = 0; i < 12; i++) claimed.push((await claim(store, 1))[0]?.job.jobId)
    expect(claimed).toEqual(byPosition.map(({ jobId }) => jobId))
  })

  test('a job that waits for another run has the position that it will have', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const first = await startJob(store, accountId)
    const second = await startJob(store, accountId)
    await claim(store, 1)
    clock.ms += 15_000
    await store.sweep(sweepOf())
    expect((await store.getJob(null, first.jobId))?.queuePosition).toBe(1)
    // Nobody need wait for one that is not ready.
    expect((await store.getJob(null, second.jobId))?.queuePosition).toBe(1)
  })

  test('counting ends somewhere', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1e9)
    const started: Job[] = []
    for (let i = 0; i < 11; i++)
      started.push(
        ...(await Promise.all(
          Array.from({ length: 100 }, () =>
            startJob(store, accountId, { maxQueuedJobs: 1e6, priority: i < 2 ? 0 : -1 }),
          ),
        )),
      )
    const positionOf = async (index: number) => (await store.getJob(null, started[index]?.jobId ?? ''))?.queuePosition
    expect(await positionOf(lastQueuePosition - 2)).toBe(lastQueuePosition - 1)
    expect(await positionOf(lastQueuePosition - 1)).toBe(lastQueuePosition)
    expect(await positionOf(1099)).toBe(lastQueuePosition)
  })
}

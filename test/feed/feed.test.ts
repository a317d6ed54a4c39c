// The feed: who waits is woken by the job's end, who watches gets the latest state, who leaves costs nothing. Architecture, runner/feed.ts.
// P111, P178.
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/core/store.ts'
import { startFeed } from '../../src/feed/feed.ts'
import { claimOne, startJob, testError, type TestStore } from '../storage/fixture.ts'
import { openTestStore } from '../test-store.ts'

const stays = new AbortController().signal

async function openQueued(): Promise<{ store: TestStore; accountId: string; jobId: string }> {
  const store = await openTestStore()
  const { accountId } = await store.createAccount('test', 1000)
  const { jobId } = await startJob(store, accountId)
  return { store, accountId, jobId }
}

/** Ends the oldest queued job as failed. */
async function endOne(store: Store): Promise<void> {
  const { job, token } = await claimOne(store)
  await store.finishJob(job.jobId, token, { status: 'failed', error: testError })
}

test('all who wait for a job are woken by its end', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  const feed = startFeed(store)
  const waiting = Promise.all(Array.from({ length: 100 }, () => feed.awaitEnd(accountId, jobId, 60_000, stays)))
  await endOne(store)
  for (const job of await waiting) expect(job).toMatchObject({ jobId, status: 'failed' })
  feed.stop()
})

test('a wait ends with the record as it is: when its time is over, when its caller leaves, when the server stops', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  const feed = startFeed(store)
  expect(await feed.awaitEnd(accountId, jobId, 20, stays)).toMatchObject({ status: 'queued' })
  const leaves = new AbortController()
  const left = feed.awaitEnd(accountId, jobId, 60_000, leaves.signal)
  leaves.abort()
  expect(await left).toMatchObject({ status: 'queued' })
  const stopped = feed.awaitEnd(accountId, jobId, 60_000, stays)
  feed.stop()
  expect(await stopped).toMatchObject({ status: 'queued' })
  expect(await feed.awaitEnd(accountId, jobId, 60_000, stays), 'later waits are answered at once').toMatchObject({
    status: 'queued',
  })
})

test('a wait for a job of another account ends at once', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  const feed = startFeed(store)
  expect(await feed.awaitEnd('acct_other', jobId, 60_000, stays)).toBeNull()
  expect(await feed.watch('acct_other', jobId, stays)).toBeNull()
  expect(await feed.watch(accountId, 'job_none', stays)).toBeNull()
  feed.stop()
})

test('1000 waits and 1000 watches on one signal leave no listener behind, and no warning', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  const warnings: Error[] = []
  const onWarning = (warning: Error): number => warnings.push(warning)
  process.on('warning', onWarning)
  let reads = 0
  const feed = startFeed({
    ...store,
    getJob(account, id) {
      reads += 1
      return store.getJob(account, id)
    },
  })
  const { signal } = new AbortController()
  const waits: Promise<unknown>[] = []
  const watches: Awaited<ReturnType<typeof feed.watch>>[] = []
  // By hundreds: on a busy machine a store does not answer two thousand reads in the time that one has.
  for (let i = 0; i < 10; i++) {
    const hundred = Array.from({ length: 100 })
    waits.push(...hundred.map(() => feed.awaitEnd(accountId, jobId, 60_000, signal)))
    watches.push(...(await Promise.all(hundred.map(() => feed.watch(accountId, jobId, signal)))))
  }
  const readers = watches.map(async (watch) => {
    for await (const _ of watch ?? []);
  })
  await endOne(store)
  await Promise.all([...waits, ...readers])
  expect(getEventListeners(signal, 'abort')).toEqual([])
  const { jobId: another } = await startJob(store, accountId)
  const before = reads
  await store.requestCancel(accountId, another)
  expect(reads, 'a change that nobody watches is not read').toBe(before)
  await new Promise(setImmediate)
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
  feed.stop()
})

test('a change is read once, however many watch, and an end, told with its record, not at all', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  let reads = 0
  const feed = startFeed({
    ...store,
    getJob(account, id) {
      if (account === null) reads += 1
      return store.getJob(account, id)
    },
  })
  const waits = Array.from({ length: 50 }, () => feed.awaitEnd(accountId, jobId, 60_000, stays))
  await endOne(store)
  await Promise.all(waits)
  expect(reads, 'the claim').toBe(1)
  feed.stop()
})

test('a stop answers waits with the record that they know, although the job is given back meanwhile', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  const { token } = await claimOne(store)
  let reads = 0
  const feed = startFeed({
    ...store,
    async getJob(account, id) {
      if (reads >= 2) await store.finishJob(jobId, token, { status: 'queued' })
      const job = await store.getJob(account, id)
      reads += 1
      return job
    },
  })
  const waits: Promise<Job | null>[] = []
  for (const waiting of [1, 2]) {
    waits.push(feed.awaitEnd(accountId, jobId, 60_000, stays))
    await expect.poll(() => reads).toBe(waiting)
  }
  feed.stop()
  for (const wait of waits) expect(await wait).toMatchObject({ status: 'running' })
})

test('a slow reader gets the latest state, never a backlog', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  let latest: Job | null = null
  const feed = startFeed({ ...store, getJob: async (...args) => (latest = await store.getJob(...args)) })
  const watch = (await feed.watch(accountId, jobId, stays))?.[Symbol.asyncIterator]()
  expect((await watch?.next())?.value).toMatchObject({ status: 'queued' })
  const { token } = await claimOne(store)
  for (let step = 1; step <= 50; step++) await store.heartbeat([{ jobId, token, progress: step / 100 }], 60_000)
  await expect.poll(() => latest?.progress).toBe(0.5)
  const { value } = (await watch?.next()) ?? {}
  expect(value).toMatchObject({ status: 'running', progress: 0.5 })
  await store.finishJob(jobId, token, { status: 'failed', error: testError })
  expect((await watch?.next())?.value).toMatchObject({ status: 'failed' })
  expect((await watch?.next())?.done).toBe(true)
  feed.stop()
})

test('a watch ends quietly when its caller leaves, and says so when the server stops', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  const feed = startFeed(store)
  const leaves = new AbortController()
  const left = (await feed.watch(accountId, jobId, leaves.signal))?.[Symbol.asyncIterator]()
  const stopped = (await feed.watch(accountId, jobId, stays))?.[Symbol.asyncIterator]()
  await left?.next()
  await stopped?.next()
  const end = left?.next()
  const notifications = stopped?.next()
  leaves.abort()
  expect((await end)?.done).toBe(true)
  feed.stop()
  await expect(notifications).rejects.toMatchObject({ code: 'shutting_down' })
})

test('a change of another process is heard of', async () => {
  await using store = await openTestStore()
  await using elsewhere = await store.another()
  const { accountId } = await store.createAccount('test', 1000)
  const { jobId } = await startJob(store, accountId)
  const feed = startFeed(store)
  const waiting = feed.awaitEnd(accountId, jobId, 60_000, stays)
  await elsewhere.requestCancel(accountId, jobId)
  expect(await waiting).toMatchObject({ status: 'canceled' })
  feed.stop()
})

test('of what another process changed, only that is read', async () => {
  await using store = await openTestStore()
  await using elsewhere = await store.another()
  const { accountId } = await store.createAccount('test', 1000)
  const [changed, other] = [await startJob(store, accountId), await startJob(store, accountId)]
  const reads: string[] = []
  let begun = 0
  const feed = startFeed({
    ...store,
    async getJob(account, id) {
      const job = await store.getJob(account, id)
      if (account === null) reads.push(id)
      else begun += 1
      return job
    },
  })
  const leaves = new AbortController()
  const waiting = feed.awaitEnd(accountId, changed.jobId, 60_000, stays)
  const idle = feed.awaitEnd(accountId, other.jobId, 60_000, leaves.signal)
  await expect.poll(() => begun).toBe(2)
  await elsewhere.requestCancel(accountId, changed.jobId)
  expect(await waiting).toMatchObject({ status: 'canceled' })
  expect(reads).toEqual([changed.jobId])
  leaves.abort()
  await idle
  feed.stop()
})

test('news that are lost are made up for', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  const feed = startFeed({ ...store, onNotification: () => () => {} })
  const waiting = feed.awaitEnd(accountId, jobId, 60_000, stays)
  await store.requestCancel(accountId, jobId)
  expect(await waiting).toMatchObject({ status: 'canceled' })
  feed.stop()
})

test('a read that fails once neither ends the process nor loses the news', async () => {
  const { store, accountId, jobId } = await openQueued()
  await using _store = store
  let fails = 1
  const feed = startFeed({
    ...store,
    getJob(account, id) {
      if (account === null && fails-- > 0) return Promise.reject(new Error('the disk hiccuped'))
      return store.getJob(account, id)
    },
  })
  const waiting = feed.awaitEnd(accountId, jobId, 60_000, stays)
  await store.requestCancel(accountId, jobId)
  expect(await waiting).toMatchObject({ status: 'canceled' })
  feed.stop()
})

test('a stopped feed holds no process open', async () => {
  const { store } = await openQueued()
  await using _store = store
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const feeds = Array.from({ length: 10 }, () => startFeed(store))
  expect(timers(), 'its timer holds nothing open while it runs either').toBe(before)
  for (const feed of feeds) feed.stop()
  expect(timers()).toBe(before)
})

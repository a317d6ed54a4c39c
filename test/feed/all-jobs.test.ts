// Changes of all jobs for operators: in batches, without a backlog, and nothing is left of a watcher that goes (P322).
import { expect, test } from 'vitest'
import type { ChangedJobs } from '../../src/core/jobs/feed.ts'
import { createAllJobs } from '../../src/feed/all-jobs.ts'
import { startFeed } from '../../src/feed/feed.ts'
import { claimOne, startJob, testError } from '../storage/fixture.ts'
import { openTestStore } from '../test-store.ts'

/** Reads what comes until `enough` says so. */
async function readUntil(
  changes: AsyncIterable<ChangedJobs>,
  enough: (seen: readonly ChangedJobs[]) => boolean,
): Promise<ChangedJobs[]> {
  const seen: ChangedJobs[] = []
  for await (const change of changes) {
    seen.push(change)
    if (enough(seen)) break
  }
  return seen
}

test('jobs of all accounts come as they are now; a job that changes often comes once in a batch', async () => {
  await using store = await openTestStore()
  const feed = startFeed(store)
  const [one, two] = [await store.createAccount('a', 100), await store.createAccount('b', 100)]
  await startJob(store, one.accountId)
  const changes = feed.watchAll(new AbortController().signal)
  const { job, token } = await claimOne(store)
  await store.finishJob(job.jobId, token, { status: 'failed', error: testError })
  const other = await startJob(store, two.accountId)
  const [first, ...rest] = await readUntil(changes, (seen) => seen.flatMap(({ jobs }) => jobs).length >= 2)
  expect(rest).toEqual([])
  expect(first?.jobs.map(({ jobId, accountId, status }) => [jobId, accountId, status])).toEqual([
    [job.jobId, one.accountId, 'failed'],
    [other.jobId, two.accountId, 'queued'],
  ])
  feed.stop()
})

test('of more than a hundred jobs the others are not named, and so are those of another process', async () => {
  const all = createAllJobs({ getJob: async () => null })
  const changes = all.watch(new AbortController().signal)
  all.note(Array.from({ length: 101 }, (_, n) => ({ jobId: `job_${n}`, job: null, queued: false })))
  const [first] = await readUntil(changes, () => true)
  expect(first).toEqual({ jobs: [], more: true })
  const again = all.watch(new AbortController().signal)
  all.note(null)
  expect(await readUntil(again, () => true)).toEqual([{ jobs: [], more: true }])
})

test('a watch ends when its watcher leaves and when the server stops, also one that nobody reads', async () => {
  await using store = await openTestStore()
  const feed = startFeed(store)
  const leaving = new AbortController()
  const left = readUntil(feed.watchAll(leaving.signal), () => false)
  const unread = feed.watchAll(new AbortController().signal)
  const stopped = readUntil(feed.watchAll(new AbortController().signal), () => false)
  leaving.abort()
  expect(await left).toEqual([])
  feed.stop()
  expect(await stopped).toEqual([])
  expect(await readUntil(unread, () => false)).toEqual([])
})

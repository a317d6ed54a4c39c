// What operators see of the store and the files: what waits, how long operations take, and leases that were lost.
import { expect, onTestFinished, test, vi } from 'vitest'
import { measureBlobs, measureStore } from '../../src/app/observe/measured.ts'
import { createMetrics } from '../../src/app/observe/metrics.ts'
import type { Backlog } from '../../src/core/jobs/backlog.ts'
import { nothingSwept } from '../../src/core/jobs/sweep.ts'
import type { Store } from '../../src/core/store.ts'
import type { Blobs } from '../../src/files/blobs/blobs.ts'
import { readMetrics } from '../rpc/metrics.ts'
import { emptyBacklog } from '../storage/contract-backlog.ts'
import { startTestApp } from '../test-app.ts'

/** The lines of our metrics, without those of histograms' buckets. */
async function read(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  const { body } = await metrics.render()
  return body.split('\n').filter((line) => line.startsWith('mediagen_') && !line.includes('_bucket'))
}

/** Metrics whose backlog the test sets; what is kept for a moment is old at the next reading. */
function showBacklog(first: () => Promise<Backlog>) {
  let nowMs = 0
  let asked = 0
  let measure = first
  const metrics = createMetrics(() => nowMs)
  metrics.showBacklog(() => {
    asked += 1
    return measure()
  })
  return {
    metrics,
    asked: () => asked,
    later(next: () => Promise<Backlog>) {
      nowMs += 2000
      measure = next
      return read(metrics)
    },
  }
}

test('what waits is shown, and queues that are empty again disappear', async () => {
  const { metrics, later } = showBacklog(async () => ({
    models: [
      { model: 'test/image', queued: 3, oldestMs: 1500, delayed: 1, running: 5 },
      { model: 'test/film', queued: 0, oldestMs: 0, delayed: 3, running: 0 },
    ],
    reviews: 6,
    oldestReviewMs: 7000,
    deliveries: 8,
    overdueMs: 9000,
  }))
  expect(await read(metrics)).toEqual(
    expect.arrayContaining([
      'mediagen_store_up 1',
      'mediagen_queued_jobs{model="test/image"} 3',
      'mediagen_queued_oldest_seconds{model="test/image"} 1.5',
      'mediagen_delayed_jobs 4',
      'mediagen_running_jobs 5',
      'mediagen_reviews_waiting 6',
      'mediagen_reviews_oldest_seconds 7',
      'mediagen_webhooks_waiting 8',
      'mediagen_webhooks_overdue_seconds 9',
    ]),
  )
  const lines = await later(async () => emptyBacklog)
  expect(lines).toContain('mediagen_delayed_jobs 0')
  expect(lines.join()).not.toContain('test/image')
})

test('one reading of the store serves all who ask within two seconds', async () => {
  const { metrics, asked, later } = showBacklog(async () => emptyBacklog)
  await Promise.all([read(metrics), read(metrics)])
  await read(metrics)
  expect(asked()).toBe(1)
  await later(async () => emptyBacklog)
  expect(asked()).toBe(2)
})

test('of a store that fails or does not answer, the metrics show only that, and the others are answered', async () => {
  const { metrics, later } = showBacklog(async () => emptyBacklog)
  await read(metrics)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  for (const measure of [() => Promise.reject(new Error('the database is away')), () => new Promise<never>(() => {})]) {
    const answer = later(measure)
    await vi.advanceTimersByTimeAsync(2000)
    const lines = await answer
    expect(lines).toContain('mediagen_store_up 0')
    expect(lines).toContain('mediagen_jobs_running 0')
    expect(lines.join()).not.toMatch(/mediagen_(queued|delayed|running_jobs|reviews|webhooks_)/)
  }
  expect(await later(async () => emptyBacklog)).toContain('mediagen_running_jobs 0')
})

test('at most 100 models have gauges of their own, those with the most jobs; the others are added up', async () => {
  const models = Array.from({ length: 150 }, (_, n) => ({
    model: `model/${n}`,
    queued: n + 1,
    oldestMs: 150_000 - n * 1000,
    delayed: 0,
    running: 0,
  }))
  const { metrics } = showBacklog(async () => ({ ...emptyBacklog, models }))
  const lines = (await read(metrics)).filter((line) => line.startsWith('mediagen_queued_'))
  expect(lines).toHaveLength(200)
  expect(lines).toContain('mediagen_queued_jobs{model="model/51"} 52')
  expect(lines).toContain(`mediagen_queued_jobs{model="other"} ${(51 * 52) / 2}`)
  expect(lines).toContain('mediagen_queued_oldest_seconds{model="other"} 150')
})

test('lost leases are counted where they are noticed: by the sweep for all, and by the worker that had them', async () => {
  const metrics = createMetrics()
  const swept = { ...nothingSwept, requeued: 3, failed: 2, reviewed: 1, expired: 9 }
  const store = measureStore(
    {
      measureBacklog: async () => emptyBacklog,
      sweep: async () => swept,
      heartbeat: async () => ({ lost: ['job_a', 'job_b'], cancelRequested: ['job_c'], deadlinePassed: [] }),
    } as unknown as Store,
    metrics,
  )
  expect(await store.sweep({ leaseMs: 1, reviewMs: 1, limit: 1, random: 0 })).toBe(swept)
  await store.heartbeat([], 1)
  expect(await read(metrics)).toEqual(
    expect.arrayContaining([
      'mediagen_leases_lost_total{noticed_by="leader"} 6',
      'mediagen_leases_lost_total{noticed_by="worker"} 2',
    ]),
  )
})

test('operations of the store and of the files are timed by their name, also those that fail', async () => {
  const metrics = createMetrics()
  const store = measureStore(
    { measureBacklog: async () => emptyBacklog, getJob: async () => null } as unknown as Store,
    metrics,
  )
  const blobs = measureBlobs(
    { stat: () => Promise.reject(new Error('the store of files is away')) } as unknown as Blobs,
    metrics,
  )
  await store.getJob(null, 'job_x')
  await expect(blobs.stat('job_x/0.png')).rejects.toThrow('is away')
  const lines = await read(metrics)
  expect(lines).toContain('mediagen_store_seconds_count{operation="getJob"} 1')
  expect(lines).toContain('mediagen_files_seconds_count{operation="stat"} 1')
})

test('a server shows its queue, and the times of its database', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  await app.generate('test/instant/text-to-image', { prompt: 'x' }, { wait: false })
  const body = await readMetrics(app)
  expect(body).toMatch(/^mediagen_queued_jobs\{model="[^"]+"\} 1$/m)
  expect(body).toMatch(/^mediagen_store_seconds_count\{operation="startGeneration"\} 1$/m)
})

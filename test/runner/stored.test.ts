// Outputs that are made while the store of files is away. Those that another server made and was paid for are kept for long.
import type { EngineRun, UpstreamRun } from '@mediagen/engine/engine.ts'
import { pino } from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import type { Blobs } from '../../src/files/blobs/blobs.ts'
import { BlobsError } from '../../src/files/blobs/s3-requests.ts'
import { type BenchSettings, leavePicture, startBench } from './fixture.ts'

const minuteMs = 60_000
// Less than tests wait for the end of a job.
const limitSeconds = 20

afterEach(() => void vi.useRealTimers())

/** A run whose picture came with the answer of a provider, which was paid for it. */
async function buy(run: EngineRun) {
  const upstream = { n: 1, provider: 'p', upstreamId: null, cost: { text: '$0.04', amount: 0.04, currency: 'USD' } }
  const save = (verdict: UpstreamRun['verdict']) => run.saveCheckpoint({ verdict }, { ...upstream, verdict })
  await save('submitting')
  await save('succeeded')
  return leavePicture(run)
}

/** Files in a store that is away for so long, as long as one waits for it. */
function awayFor(awayMs: number): Required<Pick<BenchSettings, 'wrapBlobs'>> {
  const wrapBlobs = (blobs: Blobs): Blobs => ({
    ...blobs,
    async putFiles(files, options) {
      if ((options?.patienceMs ?? minuteMs) < awayMs) throw new BlobsError('The store of files cannot be reached')
      await blobs.putFiles(files, options)
    },
  })
  return { wrapBlobs }
}

test('MEDIAGEN_PAID_OUTPUT_SECONDS: a picture that was paid for waits for the store of files', async () => {
  await using bench = await startBench({ run: buy, ...awayFor(30 * minuteMs), paidOutputMs: 40 * minuteMs })
  const job = await bench.start(10, { maxAttempts: 1 })
  expect(await bench.end(job)).toMatchObject({ status: 'succeeded', attempts: 1, creditsCharged: 10 })
  expect(bench.assetsOf(job)).toContain('0.png')
})

test('it is given up after that time; the credits are back, and the cost of the operator is on record', async () => {
  await using bench = await startBench({ run: buy, ...awayFor(30 * minuteMs), paidOutputMs: 20 * minuteMs })
  const job = await bench.start(10, { maxAttempts: 1 })
  expect(await bench.end(job)).toMatchObject({ status: 'failed', error: { code: 'output_not_stored' } })
  expect(await bench.balance()).toEqual([1000, 0])
  const { upstreamRuns } = (await bench.store.inspectJob(job.jobId)) ?? {}
  expect(upstreamRuns).toMatchObject([{ verdict: 'succeeded', cost: { text: '$0.04' } }])
})

test('what can be made again for nothing does not wait so long', async () => {
  await using bench = await startBench({ run: (run) => leavePicture(run), ...awayFor(30 * minuteMs) })
  const job = await bench.start(10, { maxAttempts: 1 })
  expect(await bench.end(job)).toMatchObject({ status: 'failed', error: { code: 'output_not_stored' } })
})

test('the time limit of the model does not count while what was paid for is stored', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const wrapBlobs = (blobs: Blobs): Blobs => ({
    ...blobs,
    async putFiles(files, options) {
      vi.advanceTimersByTime(limitSeconds * 2000)
      options?.signal?.throwIfAborted()
      await blobs.putFiles(files, options)
    },
  })
  await using bench = await startBench({ run: buy, wrapBlobs, timeoutSeconds: limitSeconds })
  expect(await bench.end(await bench.start(10, { maxAttempts: 1 }))).toMatchObject({ status: 'succeeded' })
})

test('the log says after a minute what an output waits for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const lines: string[] = []
  const { promise: late, resolve: isLate } = Promise.withResolvers<void>()
  const wrapBlobs = (blobs: Blobs): Blobs => ({
    ...blobs,
    async putFiles(files, options) {
      options?.onTrouble?.(new BlobsError('The store of files answered with 403 AccessDenied'))
      vi.advanceTimersByTime(minuteMs)
      isLate()
      await blobs.putFiles(files, options)
    },
  })
  const log = pino({ base: null }, { write: (line) => lines.push(line) })
  await using bench = await startBench({ run: buy, wrapBlobs, log })
  const job = await bench.start()
  await late
  expect(await bench.end(job)).toMatchObject({ status: 'succeeded' })
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({
      level: 40,
      msg: 'an output is not stored yet',
      err: expect.objectContaining({ message: 'The store of files answered with 403 AccessDenied' }),
    }),
  )
})

test('a cancel ends the wait', async () => {
  const { promise: waits, resolve: wait } = Promise.withResolvers<void>()
  const wrapBlobs = (blobs: Blobs): Blobs => ({
    ...blobs,
    async putFiles(_files, options) {
      wait()
      await new Promise((_, reject) => options?.signal?.addEventListener('abort', reject))
    },
  })
  await using bench = await startBench({ run: buy, wrapBlobs })
  const job = await bench.start()
  await waits
  await bench.store.requestCancel(bench.accountId, job.jobId)
  expect(await bench.end(job)).toMatchObject({ status: 'canceled', creditsReleased: 10 })
})

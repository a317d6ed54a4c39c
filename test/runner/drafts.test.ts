// Draft pictures: shown in the events of the job while it runs, gone when it ends, whatever the engine leaves as a draft (P23).
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineRun } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { type Bench, leaveNothing, leavePicture, startBench, stays } from './fixture.ts'

const picture = join(import.meta.dirname, '../models/picture.png')

async function draw(run: EngineRun, name = '.draft.png'): Promise<void> {
  copyFileSync(picture, join(await run.folder(), name))
  run.preview(name)
}

/** The records that a watcher of the job gets. */
async function watch(bench: Bench, { jobId }: Job, onJob: (job: Job) => void = () => {}): Promise<Job[]> {
  const seen: Job[] = []
  for await (const job of (await bench.feed.watch(bench.accountId, jobId, stays)) ?? []) {
    seen.push(job)
    onJob(job)
  }
  return seen
}

test('a draft is an event like progress, and neither it nor its file outlives the run', async () => {
  const shown = Promise.withResolvers<void>()
  await using bench = await startBench({
    async run(run) {
      await draw(run)
      await shown.promise
      return leavePicture(run)
    },
  })
  const job = await bench.start()
  const seen = await watch(bench, job, ({ previewKey }) => previewKey !== null && shown.resolve())
  const draft = seen.find(({ previewKey }) => previewKey !== null)
  expect(draft).toMatchObject({ status: 'running', previewKey: `${job.jobId}-1-1/0.preview.webp` })
  expect(seen.map(({ sequence }) => sequence)).toEqual(seen.map(({ sequence }) => sequence).toSorted((a, b) => a - b))
  expect(seen.at(-1)).toMatchObject({ status: 'succeeded', previewKey: null, creditsCharged: 10 })
  expect(seen.at(-1)?.outputs).toHaveLength(1)
  await bench.runner.stop(0)
  expect(bench.assetsOf({ ...job, jobId: `${job.jobId}-1-1` })).toEqual([])
})

test('a draft that is no picture, is not there or lies elsewhere harms nothing', async () => {
  await using bench = await startBench({
    async run(run) {
      writeFileSync(join(await run.folder(), '.bad.png'), 'no picture')
      for (const name of ['.bad.png', '.missing.png', '../../x', '/etc/passwd']) run.preview(name)
      return leaveNothing()
    },
  })
  expect(await bench.end(await bench.start())).toMatchObject({ status: 'succeeded', previewKey: null })
})

test('a job that is canceled while it shows a draft has none', async () => {
  await using bench = await startBench({
    async run(run) {
      await draw(run)
      return new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(new Error('canceled'))))
    },
  })
  const job = await bench.start()
  const seen = await watch(bench, job, ({ previewKey }) => {
    if (previewKey !== null) void bench.store.requestCancel(bench.accountId, job.jobId)
  })
  expect(seen.at(-1)).toMatchObject({ status: 'canceled', previewKey: null, creditsReleased: 10 })
})

// Runs that find no file descriptor or no database, or whose end the database refuses.
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobOutcome } from '@mediagen/core/job.ts'
import type { Store } from '@mediagen/core/store.ts'
import type { EngineRun } from '@mediagen/engine/engine.ts'
import type * as HeldFolders from '@mediagen/engine/held-folder.ts'
import { expect, test, vi } from 'vitest'
import type { Attempt } from '../../src/runner/attempt.ts'
import { closeOutputFolder, openOutputFolder } from '../../src/runner/outputs.ts'
import { leavePicture, startBench, untilAborted } from './fixture.ts'

const descriptors = vi.hoisted(() => ({ lacking: 0 }))
vi.mock('@mediagen/engine/held-folder.ts', async (load) => {
  const real = await load<typeof HeldFolders>()
  return {
    holdFolder: async (path: string) => {
      if (descriptors.lacking-- > 0) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
      return real.holdFolder(path)
    },
  }
})

test.each(['continue', 'never'] as const)('a run whose loss means “%s” waits for a descriptor', async (afterLoss) => {
  await using base = await mkdtempDisposable(join(tmpdir(), 'mediagen-outputs-'))
  const attempt = {
    folder: base.path,
    outputs: null,
    afterLoss,
    watched: { signal: new AbortController().signal },
  } as Partial<Attempt> as Attempt
  descriptors.lacking = 1
  expect(await (await openOutputFolder(attempt)).isInPlace()).toBe(true)
  await closeOutputFolder(attempt)
})

test('a run that finds no database is given back, and does not count as a crash', async () => {
  const lose = (): never => {
    throw Object.assign(new Error('the connection was lost'), { code: 'DATABASE_LOST' })
  }
  await using bench = await startBench({ run: lose })
  const { jobId } = await bench.start(10, { maxAttempts: 1 })
  await expect.poll(() => bench.ended).toEqual(['queued'])
  expect(await bench.store.getJob(null, jobId)).toMatchObject({ status: 'queued', error: null })
})

/** A store that refuses what breaks a rule of the database, each time. */
function refusing(command: 'finishJob' | 'saveCheckpoint', isRefused: (...call: never[]) => boolean) {
  let refused = 0
  const wrapStore = (store: Store): Store => ({
    ...store,
    [command]: async (...call: never[]) => {
      if (!isRefused(...call)) return (store[command] as (...call: never[]) => unknown)(...call)
      refused += 1
      throw Object.assign(new Error('CHECK constraint failed'), { code: 'SQLITE_CONSTRAINT_CHECK' })
    },
  })
  return { wrapStore, refused: () => refused }
}

test('a success that the database refuses for good ends as a failure, and everything comes back', async () => {
  const { wrapStore, refused } = refusing('finishJob', (_id, _token, { status }: JobOutcome) => status === 'succeeded')
  await using bench = await startBench({ run: leavePicture, wrapStore })
  const job = await bench.end(await bench.start())
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'output_not_stored' },
    creditsReleased: 10,
    attempts: 1,
  })
  await expect.poll(bench.runFolders).toEqual([])
  expect([refused(), bench.assetsOf(job)]).toEqual([1, []])
})

test('a checkpoint that the database refuses for good ends the run', async () => {
  const { wrapStore, refused } = refusing('saveCheckpoint', () => true)
  const run = (run: EngineRun): Promise<never> => run.saveCheckpoint({ at: 1 }).then(() => untilAborted(run))
  await using bench = await startBench({ run, wrapStore })
  const job = await bench.end(await bench.start(10, { maxAttempts: 1 }))
  expect([job.status, job.error?.code, refused()]).toEqual(['failed', 'engine_crashed', 1])
})

// Runs that find no file descriptor or a database in trouble, or whose end the database refuses.
import { mkdtempDisposable, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineResult, EngineRun } from '@mediagen/engine/engine.ts'
import type * as HeldFolders from '@mediagen/engine/held-folder.ts'
import type { ProviderEntry } from '@mediagen/engine/provider-share.ts'
import { expect, test, vi } from 'vitest'
import type { JobOutcome } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/core/store.ts'
import { createThrottle } from '../../src/engines/remote/throttle.ts'
import type { Attempt } from '../../src/runner/attempt.ts'
import { closeOutputFolder, openOutputFolder } from '../../src/runner/media/outputs.ts'
import { type Bench, leaveNothing, leavePicture, startBench, untilAborted } from './fixture.ts'

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

const toAttempt = (folder: string, afterLoss: Attempt['afterLoss']): Attempt =>
  ({
    folder,
    outputs: null,
    afterLoss,
    watched: { signal: new AbortController().signal },
  }) as Partial<Attempt> as Attempt

test.each(['continue', 'never'] as const)('a run whose loss means “%s” waits for a descriptor', async (afterLoss) => {
  await using base = await mkdtempDisposable(join(tmpdir(), 'mediagen-outputs-'))
  const attempt = toAttempt(base.path, afterLoss)
  descriptors.lacking = 1
  expect(await (await openOutputFolder(attempt)).isInPlace()).toBe(true)
  await closeOutputFolder(attempt)
})

test('a folder that could not be made is made for who asks again', async () => {
  await using base = await mkdtempDisposable(join(tmpdir(), 'mediagen-outputs-'))
  const folder = join(base.path, 'run')
  await writeFile(folder, 'in its place')
  const attempt = toAttempt(folder, 'again')
  await expect(openOutputFolder(attempt)).rejects.toThrow('ENOTDIR')
  await rm(folder)
  expect(await (await openOutputFolder(attempt)).isInPlace()).toBe(true)
  await closeOutputFolder(attempt)
})

/** A store whose database is in trouble when a run enters a provider for the first time, and an engine that enters one. */
function createTroubledEntry(code: string) {
  const trouble = Object.assign(new Error('the database is in trouble'), { code })
  let entries = 0
  const run = async (run: EngineRun, store: Store): Promise<EngineResult> => {
    const enterProvider = async (entry: ProviderEntry): Promise<number> => {
      if ((entries += 1) === 1) throw trouble
      return store.enterProvider(entry)
    }
    const throttle = createThrottle({ ...store, enterProvider }, () => untilAborted(run))
    await run.waiting(throttle.enter({ name: 'p', kind: 'told', concurrency: 1 }, run.jobId, 60_000, run.signal))
    await throttle.leave('p', run.jobId)
    return leaveNothing()
  }
  return run
}

// The connection was lost; the disk is full, of SQLite or of PostgreSQL; the disk fails.
test.each(['DATABASE_LOST', 'SQLITE_FULL', '53100', 'SQLITE_IOERR_WRITE'])(
  'a run that enters a provider while the database is in trouble (%s) is given back, and does not count as a crash',
  async (code) => {
    const enter = createTroubledEntry(code)
    await using bench: Bench = await startBench({ run: (run) => enter(run, bench.store) })
    // A single crash or loss would end it.
    const job = await bench.start(10, { maxAttempts: 1 })
    await expect.poll(() => bench.ended).toEqual(['queued'])
    const given = { status: 'queued', error: null, attempts: 1 }
    expect(await bench.store.inspectJob(job.jobId)).toMatchObject({ job: given, lostRuns: 0 })
    expect(await bench.balance()).toEqual([990, 10])
  },
)

test('such a run is tried again when the database works, and is charged once', async () => {
  const enter = createTroubledEntry('SQLITE_FULL')
  await using bench: Bench = await startBench({ run: (run) => enter(run, bench.store) })
  const job = await bench.start(10, { maxAttempts: 1 })
  expect(await bench.end(job)).toMatchObject({ status: 'succeeded', attempts: 2, creditsCharged: 10 })
  expect(await bench.balance()).toEqual([990, 0])
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

test('an end is told as written when the answer is lost after the claim', async () => {
  const { promise: claimLost, resolve: loseClaim } = Promise.withResolvers<void>()
  let answers = 0
  await using bench = await startBench({
    run(run) {
      run.signal.addEventListener('abort', () => loseClaim(), { once: true })
      return leavePicture(run)
    },
    wrapStore: (store) => ({
      ...store,
      async finishJob(...end) {
        const ended = await store.finishJob(...end)
        if (answers++ > 0) return ended
        await claimLost
        throw new Error('the connection was cut')
      },
    }),
  })
  const job = await bench.end(await bench.start())
  await expect.poll(() => bench.ended).toEqual(['succeeded'])
  expect(answers).toBe(2)
  expect(bench.assetsOf(job)).toContain('0.png')
})

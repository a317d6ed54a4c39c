// How runs end: what the job says, what is charged, what is left on the disk (P58, P59, P64, P65, P66).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError, type EngineRun } from '@mediagen/engine/engine.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { anyJob, leaveNothing, leavePicture, startBench, stays, untilAborted } from './fixture.ts'

test('a run that succeeds leaves its outputs and is charged what was held', async () => {
  await using bench = await startBench({ run: leavePicture })
  const job = await bench.end(await bench.start())
  expect(job).toMatchObject({
    status: 'succeeded',
    progress: 1,
    attempts: 1,
    creditsCharged: 10,
    creditsReleased: 0,
    error: null,
  })
  expect(job.outputs).toMatchObject([{ key: `${job.jobId}/0.png`, contentType: 'image/png' }])
  expect(bench.assetsOf(job)).toEqual(['0.png', '0.preview.webp'])
  expect(await bench.balance()).toEqual([990, 0])
  expect(await bench.entries()).toEqual(['grant 1000', 'hold 10', 'charge 10'])
})

test('several outputs keep their order', async () => {
  const run = async (run: EngineRun) => {
    for (const name of ['b.png', 'a.png', 'c.png']) await leavePicture(run, name)
    return { files: ['b.png', 'a.png', 'c.png'], usage: {} }
  }
  await using bench = await startBench({ run })
  const job = await bench.end(await bench.start())
  expect(job.outputs.map(({ key }) => key)).toEqual([0, 1, 2].map((index) => `${job.jobId}/${index}.png`))
})

test('the folder of a run is empty when it begins and gone when it has ended', async () => {
  const seen: string[] = []
  await using bench = await startBench({
    async run(run) {
      const folder = await run.folder()
      expect(readdirSync(folder)).toEqual([])
      writeFileSync(join(folder, 'draft.png'), '')
      seen.push(folder)
      return leaveNothing()
    },
  })
  await bench.end(await bench.start())
  await bench.end(await bench.start())
  expect(new Set(seen).size).toBe(2)
  await expect.poll(bench.runFolders).toEqual([])
})

test('a failure is told in the words of the engine, and everything comes back', async () => {
  const fail = (): never => {
    throw new EngineError('engine_failed', 'the paint ran out', true)
  }
  await using bench = await startBench({ run: fail })
  const job = await bench.end(await bench.start(10, { maxAttempts: 1 }))
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'engine_failed', message: 'the paint ran out', retryable: true },
    creditsCharged: 0,
    creditsReleased: 10,
    outputs: [],
  })
  expect(await bench.entries()).toEqual(['grant 1000', 'hold 10', 'release 10'])
})

test('an engine that crashes is told without its words', async () => {
  const crash = (): never => {
    throw new Error('secret path /root/x')
  }
  await using bench = await startBench({ run: crash })
  const job = await bench.end(await bench.start(10, { maxAttempts: 1 }))
  expect(job).toMatchObject({ status: 'failed', error: { code: 'engine_crashed' }, creditsReleased: 10 })
  expect(job.error?.message).not.toContain('secret')
})

test('a run that takes too long is ended, and everything comes back', async () => {
  await using bench = await startBench({ run: untilAborted, timeoutSeconds: 0.1 })
  const job = await bench.end(await bench.start())
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'timeout', message: expect.stringContaining('0.1 s') },
    creditsReleased: 10,
  })
})

test('an output that is not media fails the job, removes stored files and releases the credits', async () => {
  const run = async (run: EngineRun) => {
    await leavePicture(run, 'good.png')
    writeFileSync(join(await run.folder(), 'bad.png'), 'not a picture')
    return { files: ['good.png', 'bad.png'], usage: {} }
  }
  await using bench = await startBench({ run })
  const job = await bench.end(await bench.start())
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'output_invalid' },
    creditsCharged: 0,
    creditsReleased: 10,
    outputs: [],
  })
  expect(bench.assetsOf(job)).toEqual([])
})

test('a missing output fails the job', async () => {
  await using bench = await startBench({ run: () => ({ files: ['nothing.png'], usage: {} }) })
  const job = await bench.end(await bench.start(10, { maxAttempts: 1 }))
  expect(job).toMatchObject({ status: 'failed', creditsReleased: 10 })
})

const usagePrice = { at_most: 20, actual: 'ceil(usage.seconds) * 2' }
const report = (usage: Record<string, number>) => () => ({ files: [], usage })

test.for([
  ['less than the hold', 3.2, 8],
  ['exactly the hold', 10, 20],
  ['more than the hold', 400, 20],
  ['more than a number carries exactly', 2 ** 60, 20],
  ['more than any number is', Number.POSITIVE_INFINITY, 20],
  ['nothing', 0, 0],
] as const)('usage that costs %s is charged as the lesser of the two', async ([, seconds, charged]) => {
  await using bench = await startBench({ run: report({ seconds }), price: usagePrice })
  const job = await bench.end(await bench.start(20))
  expect(job).toMatchObject({
    status: 'succeeded',
    creditsHeld: 20,
    creditsCharged: charged,
    creditsReleased: 20 - charged,
  })
  expect(await bench.balance()).toEqual([1000 - charged, 0])
  expect((await bench.store.verifyLedger()).problems).toEqual([])
})

test.for([
  ['is not reported', {}],
  ['is not a number', { seconds: Number.NaN }],
  ['is negative', { seconds: -5 }],
] as const)('usage that %s fails the job, removes its outputs, and everything comes back', async ([, usage]) => {
  const run = async (run: EngineRun) => ({ ...(await leavePicture(run)), usage })
  await using bench = await startBench({ run, price: usagePrice })
  const job = await bench.end(await bench.start(20))
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'usage_unknown' },
    creditsCharged: 0,
    creditsReleased: 20,
    outputs: [],
  })
  expect(bench.assetsOf(job)).toEqual([])
  expect(await bench.balance()).toEqual([1000, 0])
})

test.for([
  ['a fixed price that became one by usage', { credits: 20 }, usagePrice, 20],
  ['a price by usage that became fixed', usagePrice, { credits: 20 }, 8],
  ['a price by usage that rose', usagePrice, { at_most: 40, actual: 'ceil(usage.seconds) * 4' }, 8],
] as const)('a job is charged by the terms that it was started with: %s', async ([, before, after, charged]) => {
  const gate = Promise.withResolvers<void>()
  const runs: string[] = []
  await using bench = await startBench({
    price: before,
    slots: 1,
    async run(run) {
      if (runs.push(run.jobId) === 1) await gate.promise
      return report({ seconds: 3.2 })()
    },
  })
  const first = await bench.start(20)
  const second = await bench.start(20)
  bench.reprice(after)
  gate.resolve()
  for (const job of [first, second])
    expect(await bench.end(job)).toMatchObject({ status: 'succeeded', creditsCharged: charged })
  expect((await bench.store.verifyLedger()).problems).toEqual([])
})

test('a queued job is canceled at once and never runs', async () => {
  const runs: string[] = []
  await using bench = await startBench({
    slots: 1,
    run: (run) => {
      runs.push(run.jobId)
      return untilAborted(run)
    },
  })
  const first = await bench.start()
  await expect.poll(() => runs).toEqual([first.jobId])
  const second = await bench.start()
  expect(await bench.store.requestCancel(bench.accountId, second.jobId)).toMatchObject({
    status: 'canceled',
    creditsReleased: 10,
    attempts: 0,
  })
  await bench.store.requestCancel(bench.accountId, first.jobId)
  await bench.end(first)
  expect(runs).toEqual([first.jobId])
})

test('a running job is canceled soon: its engine is told, and everything comes back', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<EngineRun>()
  await using bench = await startBench({
    run: (run) => {
      begin(run)
      return untilAborted(run)
    },
  })
  const started = await bench.start()
  const run = await begun
  expect(await bench.store.requestCancel(bench.accountId, started.jobId)).toMatchObject({ status: 'running' })
  const job = await bench.end(started)
  expect(run.signal.aborted).toBe(true)
  expect(job).toMatchObject({ status: 'canceled', error: { code: 'canceled' }, creditsCharged: 0, creditsReleased: 10 })
})

test('outputs are removed when the end cannot be recorded because the job was ended by another', async () => {
  const stale = { wrapStore: (store) => ({ ...store, finishJob: async () => null }) } satisfies Partial<
    Parameters<typeof startBench>[0]
  >
  await using bench = await startBench({ run: leavePicture, ...stale })
  const job = await bench.start()
  await expect.poll(() => bench.ended).toEqual(['lost'])
  expect(bench.assetsOf(job)).toEqual([])
})

test('an end that the store cannot write for a while is written once, and keeps its outputs though its answer is lost', async () => {
  let failures = 3
  const flaky = {
    wrapStore: (store) => ({
      ...store,
      async finishJob(...end) {
        failures -= 1
        // The last one to fail has written it.
        const ended = failures <= 0 ? await store.finishJob(...end) : null
        if (failures >= 0) throw new Error('the disk is full')
        return ended
      },
    }),
  } satisfies Partial<Parameters<typeof startBench>[0]>
  await using bench = await startBench({ run: leavePicture, ...flaky })
  const started = await bench.start()
  expect(await bench.end(started)).toMatchObject({ status: 'succeeded', attempts: 1, creditsCharged: 10 })
  await expect.poll(() => bench.ended).toEqual(['succeeded'])
  expect(failures).toBe(-1)
  expect(bench.assetsOf(started)).toContain('0.png')
})

test('progress is told as it grows, and never backwards', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const steps = [0.2, 0.1, Number.NaN, 0.6, 5]
  await using bench = await startBench({
    async run(run) {
      for (const step of steps) run.onProgress(step)
      await gate
      return leaveNothing()
    },
  })
  const job = await bench.start()
  const seen: number[] = []
  for await (const { progress, status } of (await bench.feed.watch(bench.accountId, job.jobId, stays)) ?? []) {
    seen.push(progress)
    if (status === 'running' && progress > 0) open()
  }
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(seen.at(-1)).toBe(1)
  expect(seen.at(-2)).toBeLessThan(1)
})

test('a canceled job does not wait for an engine that is deaf to it', async () => {
  const { promise: deaf, resolve: wake } = Promise.withResolvers<never>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  await using bench = await startBench({
    run() {
      begin()
      return deaf
    },
  })
  const started = await bench.start()
  await begun
  await bench.store.requestCancel(bench.accountId, started.jobId)
  expect(await bench.end(started)).toMatchObject({ status: 'canceled', creditsReleased: 10 })
  await expect.poll(() => bench.ended).toEqual(['canceled'])
  wake(undefined as never)
})

test('a runner that stops lets runs end within the grace and gives others back to the queue, with what they kept', async () => {
  const runs: EngineRun[] = []
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  await using bench = await startBench({
    async run(run) {
      runs.push(run)
      if (runs.length === 1) {
        await gate
        return leaveNothing()
      }
      await run.saveCheckpoint({ step: 3 })
      // As a program does that is told to end.
      return untilAborted(run).catch(async (error: unknown) => {
        await run.saveCheckpoint({ step: 4 })
        throw error
      })
    },
  })
  const quick = await bench.start()
  await expect.poll(() => runs.length).toBe(1)
  const slow = await bench.start()
  await expect.poll(() => runs.length).toBe(2)
  // The grace ends when the test says so; all other timers run as usual.
  const graceMs = 123_456
  const { promise: graceTimer, resolve: holdTimer } = Promise.withResolvers<() => void>()
  const startTimer = setTimeout
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
    if (ms !== graceMs) return startTimer(run, ms)
    holdTimer(run)
    return undefined
  }) as typeof setTimeout)
  onTestFinished(() => timers.mockRestore())
  const stopped = bench.runner.stop(graceMs)
  const late = await bench.start()
  open()
  const read = async (job: Job) => (await bench.store.getJob(null, job.jobId))?.status
  await expect.poll(() => read(quick)).toBe('succeeded')
  expect(await read(slow)).toBe('running')
  const endGrace = await graceTimer
  endGrace()
  await stopped
  expect(await bench.store.getJob(null, slow.jobId)).toMatchObject({ status: 'queued', attempts: 1, progress: 0 })
  expect(await bench.store.getJob(null, late.jobId)).toMatchObject({ status: 'queued', attempts: 0 })
  expect(await bench.balance()).toEqual([970, 20])
  const claims = await bench.store.claimJobs({ worker: 'next', room: { 'test/told': 2 }, limit: 2, leaseMs: 15_000 })
  expect(new Map(claims.map(({ job, checkpoint }) => [job.jobId, checkpoint]))).toEqual(
    new Map([
      [slow.jobId, { step: 4 }],
      [late.jobId, null],
    ]),
  )
})

/** A run that ends when `open` is called, counted while it goes on. */
function createGated() {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const gated = { open, running: 0, most: 0, order: [] as string[], run }
  async function run(run: EngineRun) {
    gated.order.push(run.jobId)
    gated.running += 1
    gated.most = Math.max(gated.most, gated.running)
    await gate
    gated.running -= 1
    return leaveNothing()
  }
  return gated
}

test('no more jobs run at once than there are slots, the oldest first, and all are run in the end', async () => {
  const gated = createGated()
  await using bench = await startBench({ slots: 3, run: gated.run })
  const jobs = await Promise.all(Array.from({ length: 30 }, () => bench.start()))
  await expect.poll(() => gated.running).toBe(3)
  expect(gated.order.toSorted()).toEqual(
    jobs
      .slice(0, 3)
      .map(({ jobId }) => jobId)
      .toSorted(),
  )
  gated.open()
  for (const job of jobs) expect((await bench.end(job)).status).toBe('succeeded')
  expect(gated.most).toBe(3)
  expect((await bench.store.verifyLedger()).problems).toEqual([])
})

test('no more jobs of a model run at once than the model allows', async () => {
  const gated = createGated()
  await using bench = await startBench({ concurrency: 2, run: gated.run })
  const jobs = await Promise.all(Array.from({ length: 10 }, () => bench.start()))
  await expect.poll(() => gated.running).toBe(2)
  gated.open()
  for (const job of jobs) await bench.end(job)
  expect(gated.most).toBe(2)
})

test('a light engine takes no slot, one that is not light does, and each model keeps to its concurrency', async () => {
  await using light = await startBench({ run: untilAborted, waits: true, slots: 1, concurrency: 3 })
  await using heavy = await startBench({ run: untilAborted, slots: 1, concurrency: 3 })
  for (const [bench, atOnce] of [
    [light, 3],
    [heavy, 1],
  ] as const) {
    for (let job = 0; job < 5; job++) await bench.start()
    const count = async (status: 'running' | 'queued') => (await bench.store.listJobs({ ...anyJob, status })).total
    await expect.poll(() => count('running')).toBe(atOnce)
    expect(await count('queued')).toBe(5 - atOnce)
  }
})

test('the success of an engine that leaves no files has no outputs and took no folder', async () => {
  const folders: string[][] = []
  await using bench = await startBench({
    run() {
      folders.push(bench.runFolders())
      return { files: [], usage: {} }
    },
  })
  expect(await bench.end(await bench.start())).toMatchObject({ status: 'succeeded', outputs: [], creditsCharged: 10 })
  expect(folders).toEqual([[]])
})

test('an output that cannot be decoded fails the job in words, keeps nothing of it, and everything comes back', async () => {
  await using bench = await startBench({
    async run(run) {
      await leavePicture(run, 'whole.png')
      const folder = await run.folder()
      const whole = readFileSync(join(folder, 'whole.png'))
      writeFileSync(join(folder, 'half.png'), whole.subarray(0, whole.length / 2))
      return { files: ['whole.png', 'half.png'], usage: {} }
    },
  })
  const job = await bench.end(await bench.start())
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'output_invalid', message: 'Output half.png is a damaged picture (png).', retryable: false },
    outputs: [],
    creditsCharged: 0,
  })
  expect(bench.assetsOf(job)).toEqual([])
  expect(await bench.balance()).toEqual([1000, 0])
})

// A run that costs money elsewhere, on a real runner and a real store: saved before it is sent, waited for by the next run, never
// sent twice, ended there when nobody wants it any more. Many more histories of this: test/simulation/paid.ts.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, EngineError } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import { removeRefused } from '../../src/files/refused.ts'
import { makePicture, openTestSigner } from '../files/provenance/fixture.ts'
import { createPaidEngine, type PaidBackend, type PaidState } from '../paid-engine.ts'
import { anyJob, type Bench, type BenchSettings, leaveNothing, leavePicture, startBench } from './fixture.ts'

/** A backend in this process, whose runs end when the test says so. */
function createBackend() {
  const runs = new Map<string, { key: string; state: PaidState }>()
  const heard: string[] = []
  const backend: PaidBackend & { end(id: string): void; answer: () => Promise<void>; stateOf(id: string): unknown } = {
    /** Stands before each answer to a submission. */
    answer: async () => {},
    end: (id) => void Object.assign(runs.get(id) ?? {}, { state: 'succeeded' }),
    stateOf: (id) => runs.get(id)?.state,
    async submit(key) {
      heard.push(`submit ${key.split(':')[1]}`)
      const id = `up_${runs.size}`
      runs.set(id, { key, state: 'running' })
      await backend.answer()
      return { id }
    },
    look: async (id) => runs.get(id)?.state ?? 'failed',
    find: async (key) => [...runs].find(([, run]) => run.key === key)?.[0] ?? null,
    async cancel(id) {
      const run = runs.get(id)
      if (run?.state === 'running') run.state = 'canceled'
      return run?.state ?? 'failed'
    },
    fetch: async () => [],
    pause: () => new Promise((resolve) => setTimeout(resolve, 5)),
  }
  return Object.assign(backend, { heard })
}

const startPaid = (backend: PaidBackend, settings: Partial<BenchSettings> = {}): Promise<Bench> =>
  startBench({ run: leaveNothing, engine: createPaidEngine('told', backend), ...settings })
const inspect = async (bench: Bench, jobId: string) => bench.store.inspectJob(jobId)

test('a run is on record before it is sent, and its end with its cost outlives the job', async () => {
  const backend = createBackend()
  await using bench = await startPaid(backend)
  const atSubmission = Promise.withResolvers<unknown>()
  backend.answer = async () => {
    const { items } = await bench.store.listJobs(anyJob)
    atSubmission.resolve(await inspect(bench, items[0]?.jobId ?? ''))
  }
  const job = await bench.start()
  expect(await atSubmission.promise).toMatchObject({
    afterLoss: 'never',
    upstreamRuns: [{ n: 1, verdict: 'submitting', upstreamId: null, endedAtMs: null }],
  })
  backend.end('up_0')
  expect(await bench.end(job)).toMatchObject({ status: 'succeeded', creditsCharged: 10 })
  const cost = { text: '$0.04', amount: 0.04, currency: 'USD' }
  expect((await inspect(bench, job.jobId))?.upstreamRuns).toMatchObject([
    { n: 1, provider: 'told', upstreamId: 'up_0', verdict: 'succeeded', cost },
  ])
  expect(backend.heard).toEqual(['submit 1'])
})

test('a cancel ends the job at once and free, and the run there even while it was being sent', async () => {
  const backend = createBackend()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  backend.answer = () => gate
  await using bench = await startPaid(backend)
  const job = await bench.start()
  await expect.poll(() => backend.heard).toEqual(['submit 1'])
  await bench.store.requestCancel(bench.accountId, job.jobId)
  expect(await bench.end(job)).toMatchObject({ status: 'canceled', creditsReleased: 10 })
  expect(await bench.balance()).toEqual([1000, 0])
  open()
  await expect.poll(() => backend.stateOf('up_0')).toBe('canceled')
  await expect
    .poll(async () => (await inspect(bench, job.jobId))?.upstreamRuns)
    .toMatchObject([{ upstreamId: 'up_0', verdict: 'canceled' }])
})

test('an unknown outcome goes to review, and the job continues when the backend knows it', async () => {
  const backend = createBackend()
  const { find } = backend
  backend.answer = () => Promise.reject(new Error('the line was cut'))
  backend.find = async () => null
  await using bench = await startPaid(backend)
  const job = await bench.start()
  expect(await bench.end(job)).toMatchObject({ status: 'needs_review', error: { code: 'outcome_unknown' } })
  expect(await bench.balance()).toEqual([990, 10])
  backend.find = find
  backend.end('up_0')
  const read = async () => bench.store.getJob(null, job.jobId)
  await expect.poll(read).toMatchObject({ status: 'succeeded', attempts: 2, creditsCharged: 10, error: null })
  expect(backend.heard).toEqual(['submit 1'])
})

test.each([
  ['as its engine says', true],
  ['also if its engine does not say', false],
])('a submission that is not answered within the time of its model goes to review, %s', async (_, says) => {
  const backend = createBackend()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  backend.answer = () => gate
  backend.find = async () => null
  const { mayBePaid, ...silent } = createPaidEngine('told', backend)
  const engine: Engine = says && mayBePaid ? { ...silent, mayBePaid } : silent
  await using bench = await startPaid(backend, { timeoutSeconds: 0.3, engine })
  const job = await bench.start()
  expect(await bench.end(job)).toMatchObject({ status: 'needs_review', error: { code: 'outcome_unknown' } })
  expect(await bench.balance()).toEqual([990, 10])
  open()
})

test('a backend that loses whatever is sent to it is tried as often as the model allows, then the credits are back', async () => {
  const backend = createBackend()
  backend.answer = () => Promise.reject(new Error('the line was cut'))
  const paid = createPaidEngine('told', backend)
  // It knows that nothing of it arrived, so the job begins again.
  const engine: Engine = {
    ...paid,
    reconcile: async (_, { checkpoint }) => ({
      state: 'known',
      checkpoint: { ...(checkpoint as object), state: 'idle' },
    }),
  }
  await using bench = await startPaid(backend, { engine })
  const job = await bench.start(10, { maxAttempts: 2 })
  const read = async () => bench.store.inspectJob(job.jobId)
  await expect.poll(read).toMatchObject({
    job: { status: 'failed', attempts: 2, creditsReleased: 10, error: { code: 'submission_lost' } },
    lostRuns: 2,
  })
  expect(backend.heard).toEqual(['submit 1', 'submit 2'])
  expect(await bench.balance()).toEqual([1000, 0])
})

const unpriced = { at_most: 10, actual: 'ceil(usage.tokens)' }

test.each([
  [8, 'succeeded', null, [992, 0]],
  [0, 'failed', { code: 'usage_unknown' }, [1000, 0]],
] as const)(
  'paid work without a price is kept until an operator charges %i for it',
  async (charge, status, error, balance) => {
    const backend = createBackend()
    backend.fetch = async (_, run) => (await leavePicture(run)).files
    await using bench = await startPaid(backend, { price: unpriced })
    const job = await bench.start()
    await expect.poll(() => backend.heard).toEqual(['submit 1'])
    backend.end('up_0')
    expect(await bench.end(job)).toMatchObject({
      status: 'needs_review',
      error: { code: 'usage_unknown', retryable: false },
      outputs: [{ contentType: 'image/png' }],
    })
    expect(await bench.balance()).toEqual([990, 10])
    // Nobody else has anything to say about it.
    expect(await bench.store.claimPendingWork(1, 1000)).toEqual([])
    const { outcome } = await bench.store.resolveReview(job.jobId, charge)
    expect(outcome).toBe('done')
    expect(await bench.store.getJob(null, job.jobId)).toMatchObject({ status, error, outputs: [{}] })
    expect(await bench.balance()).toEqual(balance)
    expect(bench.assetsOf(job)).toEqual(['0.png', '0.preview.webp'])
    expect(backend.heard).toEqual(['submit 1'])
    expect((await bench.store.verifyLedger()).problems).toEqual([])
  },
)

test('a runner that stops leaves its run to the next one: nothing is sent again, no attempt is used up', async () => {
  const backend = createBackend()
  await using bench = await startPaid(backend)
  const job = await bench.start()
  await expect.poll(async () => (await inspect(bench, job.jobId))?.afterLoss).toBe('continue')
  await bench.runner.stop(0)
  expect(await inspect(bench, job.jobId)).toMatchObject({ job: { status: 'queued' }, lostRuns: 0 })
  const [claimed] = await bench.store.claimJobs({ worker: 'next', room: { 'test/told': 1 }, limit: 1, leaseMs: 1000 })
  expect(claimed).toMatchObject({ afterLoss: 'continue', checkpoint: { state: 'submitted', id: 'up_0' } })
  expect(claimed?.msSinceSubmission).toBeGreaterThanOrEqual(0)
})

test('a server that stops while inputs are fetched sends nothing to review, whatever the engine says of its runs', async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const server = createServer(() => ask())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const engine: Engine = { ...createPaidEngine('told', createBackend()), afterLoss: () => 'never' }
    await using bench = await startPaid(createBackend(), { engine })
    const { port } = server.address() as AddressInfo
    const job = await bench.start(10, { input: { prompt: 'x', images: [`http://127.0.0.1:${port}/a.png`] } })
    await asked
    await bench.runner.stop(0)
    expect(await inspect(bench, job.jobId)).toMatchObject({ job: { status: 'queued' }, afterLoss: 'again' })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a run that takes too long is ended there, too', async () => {
  const backend = createBackend()
  await using bench = await startPaid(backend, { timeoutSeconds: 0.3 })
  const job = await bench.start()
  expect(await bench.end(job)).toMatchObject({ status: 'failed', error: { code: 'timeout' } })
  await expect.poll(() => backend.stateOf('up_0')).toBe('canceled')
})

test.each([
  [3, 'succeeded', ['queued', 'queued', 'succeeded'], [990, 0]],
  [2, 'failed', ['queued', 'failed'], [1000, 0]],
] as const)(
  'a failure that may pass is tried again, as the model allows (%i)',
  async (most, status, ended, balance) => {
    let runs = 0
    await using bench = await startBench({
      run() {
        if ((runs += 1) < 3) throw new EngineError('busy', 'Come back later.', true)
        return leaveNothing()
      },
    })
    const job = await bench.start(10, { maxAttempts: most })
    expect(await bench.end(job)).toMatchObject({ status, attempts: most })
    await expect.poll(() => bench.ended).toEqual(ended)
    expect(await bench.balance()).toEqual(balance)
  },
)

test('what was refused for good is not tried again', async () => {
  await using bench = await startBench({
    run() {
      throw new EngineError('refused', 'Never.')
    },
  })
  expect(await bench.end(await bench.start())).toMatchObject({ status: 'failed', attempts: 1 })
})

/** A job whose paid run made a picture and a file that is none. */
async function endTorn(settings: Partial<BenchSettings> = {}) {
  const backend = createBackend()
  backend.fetch = async (_, run) => {
    const { files } = await leavePicture(run)
    await writeFile(join(await run.folder(), 'torn.png'), 'no picture')
    return [...files, 'torn.png']
  }
  const bench = await startPaid(backend, settings)
  const job = await bench.start()
  await expect.poll(() => backend.heard).toEqual(['submit 1'])
  backend.end('up_0')
  return { bench, job, ended: await bench.end(job) }
}

test('P196 an output of a paid run that cannot be served waits for the operator, with its file', async () => {
  const { bench, job, ended } = await endTorn()
  await using _ = bench
  expect(ended).toMatchObject({ status: 'needs_review', error: { code: 'output_invalid', retryable: false } })
  const [, kept = ''] = /as (refused\/\S+) in its data directory/.exec(ended.error?.message ?? '') ?? []
  expect(kept).toBe(`refused/${job.jobId}/1`)
  expect(await bench.balance()).toEqual([990, 10])
  await bench.store.resolveReview(job.jobId, 10)
  expect(await bench.end(job)).toMatchObject({ status: 'succeeded', creditsCharged: 10, outputs: [{}] })
})

test.each([
  ['held', true],
  ['delivered', false],
] as const)('P380 what cannot be signed is %s, as the setting says, and charged once', async (_name, holdsUnsigned) => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-unsigned-'))
  const backend = createBackend()
  const picture = await makePicture('tiff')
  backend.fetch = async (_, run) => {
    await writeFile(join(await run.folder(), 'still.tiff'), picture)
    return ['still.tiff']
  }
  try {
    const price = { at_most: 10, actual: '6' }
    await using bench = await startPaid(backend, { signer: openTestSigner(folder), holdsUnsigned, price })
    const [job, other] = [await bench.start(), await bench.start()]
    await expect.poll(() => backend.heard).toHaveLength(2)
    for (const id of ['up_0', 'up_1']) backend.end(id)
    const output = { provenance: { problem: 'It was not signed: files of type image/tiff cannot be' } }
    for (const ended of [await bench.end(job), await bench.end(other)])
      expect(ended).toMatchObject({
        ...(holdsUnsigned
          ? {
              status: 'needs_review',
              error: {
                code: 'output_unsigned',
                message: expect.stringMatching(
                  /^Output still\.tiff was not signed: files of type image\/tiff cannot be\. Its price is 6 credits\. /,
                ),
              },
            }
          : { status: 'succeeded', creditsCharged: 6 }),
        outputs: [output],
      })
    if (!holdsUnsigned) return
    expect(await bench.balance()).toEqual([980, 20])
    await bench.store.resolveReview(job.jobId, 6)
    await bench.store.resolveReview(other.jobId, 0)
    expect(await bench.end(job)).toMatchObject({ status: 'succeeded', creditsCharged: 6, outputs: [output] })
    expect(bench.assetsOf(job)).toContain('0.tiff')
    expect(await bench.end(other)).toMatchObject({ status: 'failed', error: { code: 'output_unsigned' } })
    expect(await bench.store.resolveReview(job.jobId, 6)).toMatchObject({ outcome: 'not_in_review' })
    expect(await bench.balance()).toEqual([994, 0])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test.each([
  ['fixed', { credits: 10 }],
  ['by usage', unpriced],
] as const)('a review that is released says why nothing is delivered: a price that is %s', async (_name, price) => {
  const { bench, job } = await endTorn({ price })
  await using _ = bench
  await bench.store.resolveReview(job.jobId, 0)
  expect(await bench.end(job)).toMatchObject({
    status: 'failed',
    error: { code: 'output_invalid', message: expect.stringContaining('not every file can be served') },
  })
  expect(await bench.balance()).toEqual([1000, 0])
})

test.each([
  ['decided', 1001, true],
  ['decided, and its owner deletes it', 0, true],
  ['decided a while ago', 999, false],
  ['open', 1_000_000, false],
] as const)(
  'P224 a refused file is kept for the usual time after its review: one that is %s',
  async (how, ms, gone) => {
    const { bench, job } = await endTorn()
    await using _ = bench
    if (how !== 'open') await bench.store.resolveReview(job.jobId, 0)
    if (how.includes('deletes')) await bench.store.deleteJob(bench.accountId, job.jobId)
    const { finishedAtMs } = await bench.end(job)
    const clock = { nowMs: () => (finishedAtMs ?? 0) + ms }
    const deps = { folder: bench.refused, store: bench.store, retainMs: 1000, clock }
    expect(await removeRefused(deps)).toBe(gone ? 1 : 0)
    expect(existsSync(join(bench.refused, job.jobId, '1'))).toBe(!gone)
  },
)

test('P224 of what no job is known, refused files are kept for the usual time', async () => {
  const { bench, job } = await endTorn()
  await using _ = bench
  const removeAt = (ms: number) =>
    removeRefused({
      folder: bench.refused,
      store: { getJob: async () => null },
      retainMs: 60_000,
      clock: { nowMs: () => Date.now() + ms },
    })
  expect(await removeAt(0)).toBe(0)
  expect(await removeAt(120_000)).toBe(1)
  expect(existsSync(join(bench.refused, job.jobId))).toBe(false)
  // Not even the folder need be there.
  expect(
    await removeRefused({
      folder: join(bench.refused, 'none'),
      store: bench.store,
      retainMs: 0,
      clock: { nowMs: Date.now },
    }),
  ).toBe(0)
})

test.each([
  [{ credits: 10 }, 4, 5],
  [{ credits: 10 }, 3, 7],
  [{ credits: 10 }, 2, 10],
  [{ at_most: 10, actual: '3 * ceil(usage.images)' }, 4, 6],
] as const)(
  'P222 of files that did not all come, those that came are paid: %j for %i',
  async (price, made, charged) => {
    await using bench = await startBench({
      price,
      async run(run) {
        const files = await Promise.all(['a.png', 'b.png'].map(async (name) => (await leavePicture(run, name)).files))
        return { files: files.flat(), usage: {}, isPaid: true, made }
      },
    })
    const job = await bench.end(await bench.start())
    expect(job).toMatchObject({ status: 'succeeded', creditsCharged: charged, creditsReleased: 10 - charged })
    expect(await bench.balance()).toEqual([1000 - charged, 0])
    expect((await bench.store.verifyLedger()).problems).toEqual([])
  },
)

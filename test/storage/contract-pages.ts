// The part of the store contract about pages of jobs: any page is the same slice of the whole list, whatever was started, deleted and
// forgotten before (P69).
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { seed } from '../seed.ts'
import {
  claimOne,
  createHeldClock,
  filterOf,
  type OpenTestStore,
  startJob,
  type TestStore,
  testError,
} from './fixture.ts'

const dayMs = 86_400_000
const keepMs = 10 * dayMs
const models = ['test/a', 'test/b', 'test/c']

/** What a test knows of a job. */
interface Known {
  readonly jobId: string
  readonly model: string
  readonly ended: boolean
  readonly deleted: boolean
}

const act = fc.oneof(
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('start' as const), model: fc.constantFrom(...models) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), model: fc.constantFrom(...models) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), job: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const), days: fc.integer({ min: 4, max: 10 }) }) },
)
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never

const start = (model: string): Act => ({ kind: 'start', model })
/** Leaves a deleted job between two older ones, which have not ended, and a newer one that is forgotten. */
const deletedAmongKept: Act[] = [
  ...['test/a', 'test/a', 'test/c', 'test/b', 'test/a'].map(start),
  { kind: 'end', model: 'test/b' },
  { kind: 'forget', days: 10 },
  { kind: 'end', model: 'test/c' },
  { kind: 'delete', job: 0 },
]

export function pageTests(openStore: OpenTestStore): void {
  test('a page at any offset is the slice of the whole list, after starts, deletions and forgetting at random', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 60, maxLength: 60 }), async (acts) => {
        const clock = createHeldClock()
        await using store = await openStore(clock)
        const { accountId } = await store.createAccount('a', 1_000_000)
        // Jobs of others take numbers in between.
        const other = await store.createAccount('b', 1_000_000)
        let jobs: readonly Known[] = []
        for (const one of acts) {
          if (one.kind === 'forget') await startJob(store, other.accountId, { model: 'test/other' })
          jobs = await perform(store, accountId, jobs, one, (ms) => (clock.ms += ms))
        }
        await expectPages(store, accountId, jobs.toReversed())
        expect((await store.verifyLedger()).problems).toEqual([])
      }),
      { numRuns: 6, seed, examples: [[deletedAmongKept]] },
    )
  })
}

/** Does it to the store; returns the jobs that are there afterwards, the oldest first. */
async function perform(
  store: TestStore,
  accountId: string,
  jobs: readonly Known[],
  one: Act,
  wait: (ms: number) => void,
): Promise<readonly Known[]> {
  if (one.kind === 'start') {
    const { jobId } = await startJob(store, accountId, { model: one.model })
    return [...jobs, { jobId, model: one.model, ended: false, deleted: false }]
  }
  if (one.kind === 'end') {
    const claimed = await claimOne(store, one.model).catch(() => null)
    if (claimed === null) return jobs
    const { jobId } = claimed.job
    await store.finishJob(jobId, claimed.token, { status: 'failed', error: testError })
    return jobs.map((job) => (job.jobId === jobId ? { ...job, ended: true } : job))
  }
  if (one.kind === 'delete') {
    const ended = jobs.filter((job) => job.ended && !job.deleted)
    const { jobId } = ended[one.job % ended.length] ?? {}
    if (jobId !== undefined) await store.deleteJob(accountId, jobId)
    return jobs.map((job) => (job.jobId === jobId ? { ...job, deleted: true } : job))
  }
  wait(one.days * dayMs)
  for (let after: number | null = 0; after !== null;)
    ({ next: after } = await store.forgetJobs({ keepMs, after, limit: 3 }))
  const kept = await Promise.all(jobs.map(({ jobId }) => store.getJob(accountId, jobId)))
  return jobs.filter((_, index) => kept[index] !== null)
}

/** Every page of two sizes of every list is what it must be. */
async function expectPages(store: TestStore, accountId: string, all: readonly Known[]): Promise<void> {
  const lists = [null, ...models].flatMap((model) => [true, false].map((withDeleted) => ({ model, withDeleted })))
  for (const which of lists) {
    const whole = all.filter((job) => (which.withDeleted || !job.deleted) && [null, job.model].includes(which.model))
    for (const limit of which.model === null ? [1, 7] : [7]) {
      for (let offset = 0; offset <= all.length + 2; offset += limit) {
        const { items, total } = await store.listJobs(filterOf(accountId, { ...which, limit, offset }))
        expect(items.map(({ jobId }) => jobId)).toEqual(whole.slice(offset, offset + limit).map(({ jobId }) => jobId))
        expect(total).toBe(whole.length)
      }
    }
  }
}

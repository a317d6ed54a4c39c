// The part of the store contract about jobs whose records are removed a long time after their end, and about the money that stays.
// P43, P96, P97.
import { expect, test } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { removeExpired } from '../../src/core/jobs/retention.ts'
import type { StartCommand, Store } from '../../src/core/store.ts'
import { claim, list, makeWebhook, taken } from './contract-webhooks.ts'
import {
  balanceOf,
  claimOne,
  claimPaid,
  createHeldClock,
  filterOf,
  firstPage,
  type OpenTestStore,
  startJob,
  startOf,
  testAsset,
  testError,
} from './fixture.ts'

const dayMs = 86_400_000
const keepMs = 30 * dayMs

/** A store, an account with credits, and a function that makes a job of some end. */
async function openWithAccount(openStore: OpenTestStore) {
  const clock = createHeldClock()
  const store = await openStore(clock)
  const { accountId } = await store.createAccount('a', 1000)
  async function make(status: 'succeeded' | 'failed', fields: Partial<StartCommand> = {}): Promise<Job> {
    await startJob(store, accountId, { retainMs: null, ...fields })
    const { job, token } = await claimOne(store, fields.model)
    const outputs = [{ ...testAsset, key: `${job.jobId}/0.png` }]
    const end =
      status === 'failed'
        ? { status, error: testError }
        : ({ status, outputs, creditsActual: fields.credits ?? 4 } as const)
    const ended = await store.finishJob(job.jobId, token, end)
    if (ended === null) throw new Error('the claim is lost')
    return ended
  }
  return { store, clock, accountId, make }
}

/** Walks over all jobs, in pages of two. */
async function forget(store: Store): Promise<number> {
  let jobs = 0
  for (let after: number | null = 0; after !== null;) {
    const page = await store.forgetJobs({ keepMs, after, limit: 2 })
    jobs += page.jobs
    after = page.next
  }
  return jobs
}

/** Removes files that are said to be gone, and returns their folders. */
async function removeFiles(store: Store): Promise<string[]> {
  const folders: string[] = []
  await removeExpired(store, { remove: async (folder) => void folders.push(folder) }, 100)
  return folders
}

const has = async (store: Store, { jobId }: Job): Promise<boolean> => (await store.getJob(null, jobId)) !== null

export function forgettingTests(openStore: OpenTestStore): void {
  test('are removed after their files; balance and ledger stay, name them, and add up', async () => {
    const { store, clock, accountId, make } = await openWithAccount(openStore)
    await using _ = store
    const jobs: Job[] = []
    for (const status of ['succeeded', 'failed', 'succeeded', 'succeeded', 'failed'] as const)
      jobs.push(await make(status, { labels: { team: 'ads' } }))
    const free = await make('succeeded', { credits: 0 })
    const newest = await make('succeeded')
    const money = [await balanceOf(store, accountId), await store.listEntries(accountId, firstPage)]
    clock.ms += keepMs - 1
    expect(await forget(store)).toBe(0)
    expect(await store.hasExpired()).toBe(false)

    clock.ms += 1
    expect(await forget(store), 'those without outputs').toBe(2)
    expect((await removeFiles(store)).toSorted()).toEqual(
      [...jobs, free, newest]
        .filter(({ outputs }) => outputs.length > 0)
        .map(({ jobId }) => jobId)
        .toSorted(),
    )
    expect(await forget(store)).toBe(4)
    expect(await forget(store)).toBe(0)

    for (const job of [...jobs, free]) expect(await has(store, job)).toBe(false)
    const label = { name: 'team', value: 'ads' }
    expect((await store.listJobs(filterOf(accountId, { label }))).total, 'that are forgotten').toBe(0)
    expect(await has(store, newest)).toBe(true)
    expect(await store.listJobs(filterOf(accountId))).toMatchObject({ total: 1, items: [{ jobId: newest.jobId }] })
    expect([await balanceOf(store, accountId), await store.listEntries(accountId, firstPage)]).toEqual(money)
    expect(await store.verifyLedger()).toMatchObject({ jobs: 1, problems: [] })
    // Numbers go on.
    await make('succeeded')
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('stay while they are young, queued, running, under review, or owe an answer to another server', async () => {
    const { store, clock, accountId, make } = await openWithAccount(openStore)
    await using _ = store
    const old = await make('failed')
    const queued = await startJob(store, accountId, { model: 'test/queued' })
    await startJob(store, accountId)
    const running = (await claimOne(store, undefined, 365 * dayMs)).job
    const review = await startJob(store, accountId, { model: 'test/review' })
    const { token } = await claimPaid(store, 'test/review')
    await store.finishJob(review.jobId, token, { status: 'needs_review' })
    const paid = await startJob(store, accountId, { model: 'test/paid' })
    const claimed = await claimOne(store, 'test/paid')
    const upstream = { n: 1, provider: 'test', upstreamId: 'up-1', verdict: 'accepted', cost: null } as const
    const saved = { checkpoint: null, afterLoss: 'again', upstream } as const
    await store.saveCheckpoint(paid.jobId, claimed.token, saved)
    await store.finishJob(paid.jobId, claimed.token, { status: 'failed', error: testError })
    clock.ms += keepMs
    const young = await make('failed')
    await make('failed')
    expect(await forget(store)).toBe(1)
    expect(await has(store, old)).toBe(false)
    for (const job of [queued, running, review, paid, young]) expect(await has(store, job)).toBe(true)
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('wait for their webhooks to be delivered, and take the finished deliveries along', async () => {
    const { store, clock, accountId, make } = await openWithAccount(openStore)
    await using _ = store
    await makeWebhook(store, accountId)
    const job = await make('failed')
    await make('failed')
    clock.ms += keepMs
    expect(await forget(store)).toBe(0)
    for (const { deliveryId, token } of await claim(store)) {
      const next = { status: 'delivered' } as const
      await store.reportDelivery({ deliveryId, token, attempt: taken, next, prompt: true, gone: false })
    }
    expect((await list(store)).total).toBe(2)
    expect(await forget(store)).toBe(1)
    expect(await has(store, job)).toBe(false)
    expect((await list(store)).total).toBe(1)
  })

  test('give their idempotency key back', async () => {
    const { store, clock, accountId, make } = await openWithAccount(openStore)
    await using _ = store
    const fields = { idempotencyKey: 'once' }
    const { jobId } = await make('failed', fields)
    await make('failed')
    expect(await store.startGeneration(startOf(accountId, fields))).toMatchObject({
      outcome: 'replayed',
      job: { jobId },
    })
    clock.ms += keepMs
    await forget(store)
    expect(await store.findStartedJob(accountId, 'once')).toBeNull()
    expect(await store.startGeneration(startOf(accountId, fields))).toMatchObject({ outcome: 'created' })
  })
}

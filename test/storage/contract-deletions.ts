// The part of the store contract about jobs that their owners delete (P40, P41).
import { expect, test } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { removeExpired } from '../../src/core/jobs/retention.ts'
import type { StartCommand, Store } from '../../src/core/store.ts'
import {
  balanceOf,
  claimOne,
  claimPaid,
  createHeldClock,
  entriesOf,
  filterOf,
  type OpenTestStore,
  startJob,
  startOf,
  testAsset,
  testError,
} from './fixture.ts'

async function openWithAccount(openStore: OpenTestStore) {
  const clock = createHeldClock()
  const store = await openStore(clock)
  const { accountId } = await store.createAccount('a', 100)
  return { store, clock, accountId }
}

/** Runs a job to its good end. */
async function makeJob(store: Store, accountId: string, fields: Partial<StartCommand> = {}): Promise<Job> {
  await startJob(store, accountId, fields)
  const { job, token } = await claimOne(store)
  const outputs = [{ ...testAsset, key: `${job.jobId}/0.png` }]
  const ended = await store.finishJob(job.jobId, token, { status: 'succeeded', outputs, creditsActual: 10 })
  if (ended === null) throw new Error('the claim is lost')
  return ended
}

export function deletionTests(openStore: OpenTestStore): void {
  test('takes the files and the input of a job, leaves its record and its money, and may be repeated', async () => {
    const { store, clock, accountId } = await openWithAccount(openStore)
    await using _ = store
    const { jobId, sequence } = await makeJob(store, accountId, { retainMs: null })
    const money = [await balanceOf(store, accountId), await entriesOf(store, accountId)]
    clock.ms += 1000
    const deleted = { outcome: 'deleted', deletedAtMs: clock.ms }
    expect(await store.deleteJob(accountId, jobId)).toEqual(deleted)
    clock.ms += 1000
    expect(await store.deleteJob(accountId, jobId)).toEqual(deleted)
    expect(await store.getJob(accountId, jobId)).toMatchObject({
      status: 'succeeded',
      creditsCharged: 10,
      outputsGone: true,
      deletedAtMs: deleted.deletedAtMs,
      sequence: sequence + 1,
    })
    expect(await store.getInput(jobId)).toBeNull()
    expect([await balanceOf(store, accountId), await entriesOf(store, accountId)]).toEqual(money)
    expect((await store.verifyLedger()).problems).toEqual([])

    expect(await store.hasExpired()).toBe(true)
    const gone: string[] = []
    await removeExpired(store, { remove: async (folder) => void gone.push(folder) }, 10)
    expect(gone).toEqual([jobId])
    expect(await store.hasExpired()).toBe(false)
    expect((await store.findOwners([jobId])).size).toBe(0)
  })

  test('is refused for the job of another account, and until the files and the money of a job are settled', async () => {
    const { store, accountId } = await openWithAccount(openStore)
    await using _ = store
    const other = await store.createAccount('b', 0)
    const { jobId } = await startJob(store, accountId)
    expect(await store.deleteJob(other.accountId, jobId)).toEqual({ outcome: 'no_job' })
    expect(await store.deleteJob(accountId, 'job_none')).toEqual({ outcome: 'no_job' })
    expect(await store.deleteJob(accountId, jobId)).toEqual({ outcome: 'not_ended', status: 'queued' })
    const { token } = await claimPaid(store)
    expect(await store.deleteJob(accountId, jobId)).toEqual({ outcome: 'not_ended', status: 'running' })
    await store.finishJob(jobId, token, { status: 'needs_review' })
    expect(await store.deleteJob(accountId, jobId)).toEqual({ outcome: 'not_ended', status: 'needs_review' })
    expect(await store.getInput(jobId)).not.toBeNull()
    await store.resolveReview(jobId, 0)
    expect(await store.deleteJob(accountId, jobId)).toMatchObject({ outcome: 'deleted' })
    expect(await store.getInput(jobId)).toBeNull()
    expect(await store.hasExpired(), 'there are no files').toBe(false)
  })

  test('hides a job from the lists of its owner, and from their totals', async () => {
    const { store, accountId } = await openWithAccount(openStore)
    await using _ = store
    const [first, second] = [await makeJob(store, accountId), await makeJob(store, accountId)]
    await startJob(store, accountId)
    const { job, token } = await claimOne(store)
    await store.finishJob(job.jobId, token, { status: 'failed', error: testError })
    const list = async (fields: Parameters<typeof filterOf>[1] = {}) => {
      const { items, total } = await store.listJobs(filterOf(accountId, fields))
      return [items.map(({ jobId }) => jobId), total]
    }
    await store.deleteJob(accountId, first.jobId)
    expect(await list()).toEqual([[job.jobId, second.jobId], 2])
    expect(await list({ withDeleted: true })).toEqual([[job.jobId, second.jobId, first.jobId], 3])
    expect(await list({ status: 'succeeded' })).toEqual([[second.jobId], 1])
    expect(await list({ model: first.model })).toEqual([[job.jobId, second.jobId], 2])
    await store.deleteJob(accountId, job.jobId)
    expect(await list({ status: 'failed' })).toEqual([[], 0])
    expect(await list({ status: 'failed', withDeleted: true })).toEqual([[job.jobId], 1])
  })

  test('keeps the idempotency key of the job, and the time when its files expired before', async () => {
    const { store, clock, accountId } = await openWithAccount(openStore)
    await using _ = store
    const fields = { idempotencyKey: 'once', retainMs: 60_000 }
    const { jobId } = await makeJob(store, accountId, fields)
    clock.ms += 120_000
    await removeExpired(store, { remove: async () => {} }, 10)
    expect(await store.deleteJob(accountId, jobId)).toEqual({ outcome: 'deleted', deletedAtMs: clock.ms })
    expect(await store.hasExpired()).toBe(false)
    const again = await store.startGeneration(startOf(accountId, fields))
    expect(again).toMatchObject({ outcome: 'replayed', job: { jobId, deletedAtMs: clock.ms } })
  })

  test('of a folder that cannot be removed is tried again after a minute, however long it was to be kept', async () => {
    const { store, clock, accountId } = await openWithAccount(openStore)
    await using _ = store
    const { jobId } = await makeJob(store, accountId, { retainMs: null })
    await store.deleteJob(accountId, jobId)
    const due = await store.expireFiles(10)
    await store.putOff(due)
    expect(await store.hasExpired()).toBe(false)
    clock.ms += 60_000
    expect(await store.expireFiles(10)).toEqual(due)
  })
}

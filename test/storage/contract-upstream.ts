// The store port: submissions to other servers, what is still to be asked of them, and what is learned late (P33).
import type { UpstreamRun, UpstreamVerdict } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import type { SavedCheckpoint, Store } from '../../src/core/store.ts'
import { balanceOf, claimOne, createHeldClock, type OpenTestStore, startJob, sweepOf, testError } from './fixture.ts'

const leaseMs = 15_000

function submissionOf(verdict: UpstreamVerdict, upstreamId: string | null): SavedCheckpoint {
  const upstream: UpstreamRun = { n: 1, provider: 'p', upstreamId, verdict, cost: null }
  const afterLoss = verdict === 'submitting' ? 'never' : verdict === 'refused' ? 'again' : 'continue'
  return { checkpoint: { id: upstreamId }, afterLoss, upstream }
}
const sending = submissionOf('submitting', null)
const unheard: UpstreamRun = { n: 1, provider: 'p', upstreamId: null, verdict: 'unknown', cost: null }
const accepted = submissionOf('accepted', 'up_1')

/** A store with a held clock, and a job whose run is at the given point. */
async function openSubmitted(openStore: OpenTestStore, ...saved: readonly SavedCheckpoint[]) {
  const clock = createHeldClock()
  const store = await openStore(clock)
  const { accountId } = await store.createAccount('a', 100)
  await startJob(store, accountId)
  const { job, token } = await claimOne(store, 'test/image', leaseMs)
  for (const one of saved) expect(await store.saveCheckpoint(job.jobId, token, one)).toBe(true)
  return { store, clock, accountId, jobId: job.jobId, token }
}

const claimOnePending = async (store: Store) => (await store.claimPendingWork(10, 60_000))[0]

export function upstreamTests(openStore: OpenTestStore): void {
  test('a submission continues whenever its worker is lost, and uses up no attempt', async () => {
    const { store, clock, jobId } = await openSubmitted(openStore, sending, accepted)
    await using _ = store
    for (let lost = 1; lost <= 5; lost++) {
      clock.ms += leaseMs
      expect(await store.sweep(sweepOf())).toMatchObject({ requeued: 1, failed: 0, reviewed: 0 })
      expect(await store.inspectJob(jobId)).toMatchObject({ lostRuns: 0, afterLoss: 'continue' })
      clock.ms += 61_000
      await store.sweep(sweepOf())
      const again = await claimOne(store, 'test/image', leaseMs)
      expect(again).toMatchObject({ afterLoss: 'continue', checkpoint: { id: 'up_1' } })
      expect(again.msSinceSubmission).toBe(lost * (leaseMs + 61_000))
    }
  })

  test.each(['canceled', 'failed'] as const)(
    'a job that is %s owes a cancel, once, until it was answered',
    async (end) => {
      const { store, clock, accountId, jobId, token } = await openSubmitted(openStore, sending, accepted)
      await using _ = store
      await store.finishJob(jobId, token, { status: end, error: testError })
      expect(await balanceOf(store, accountId)).toEqual([100, 0])
      const pending = await claimOnePending(store)
      expect(pending).toMatchObject({ jobId, model: 'test/image', kind: 'cancel', checkpoint: { id: 'up_1' } })
      expect(await claimOnePending(store)).toBeUndefined()
      clock.ms += 60_000
      const again = await claimOnePending(store)
      if (!pending || !again) throw new Error('no cancel is owed')
      // The answer to an earlier question counts no more.
      await store.answerPendingWork(pending, { outcome: 'done' })
      await store.answerPendingWork(again, { outcome: 'again', waitMs: 5000 })
      clock.ms += 5000
      const last = await claimOnePending(store)
      if (!last) throw new Error('no cancel is owed')
      const upstream = { n: 1, provider: 'p', upstreamId: 'up_1', verdict: 'canceled', cost: null } as const
      await store.answerPendingWork(last, { outcome: 'done', upstream })
      clock.ms += 3_600_000
      expect(await claimOnePending(store)).toBeUndefined()
      expect((await store.inspectJob(jobId))?.upstreamRuns).toMatchObject([
        { verdict: 'canceled', endedAtMs: clock.ms - 3_600_000 },
      ])
    },
  )

  test('a success needs no cancellation, and neither does a refused or ended submission', async () => {
    for (const last of [submissionOf('refused', null), submissionOf('failed', 'up_1')]) {
      const { store, jobId, token } = await openSubmitted(openStore, sending, last)
      await using _ = store
      await store.finishJob(jobId, token, { status: 'failed', error: testError })
      expect(await claimOnePending(store)).toBeUndefined()
    }
    const { store, jobId, token } = await openSubmitted(openStore, sending, accepted)
    await using _ = store
    await store.finishJob(jobId, token, { status: 'succeeded', outputs: [], creditsActual: 10 })
    expect(await claimOnePending(store)).toBeUndefined()
  })

  test('a question is asked about a run of unknown outcome, and the answer lets it continue', async () => {
    const { store, clock, accountId, jobId } = await openSubmitted(openStore, sending)
    await using _ = store
    clock.ms += leaseMs
    expect(await store.sweep(sweepOf())).toMatchObject({ reviewed: 1 })
    const pending = await claimOnePending(store)
    expect(pending).toMatchObject({ kind: 'reconcile', checkpoint: { id: null } })
    if (!pending) return
    await store.answerPendingWork(pending, { outcome: 'known', ...accepted })
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'queued', error: null, finishedAtMs: null })
    expect(await balanceOf(store, accountId)).toEqual([90, 10])
    expect(await claimOne(store)).toMatchObject({ afterLoss: 'continue', checkpoint: { id: 'up_1' } })
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a run that is known to have come to nothing counts as lost: the job begins again, as often as it may', async () => {
    const { store, clock, accountId, jobId } = await openSubmitted(openStore, sending)
    await using _ = store
    const nothing = { outcome: 'known', ...submissionOf('refused', null), afterLoss: 'again' } as const
    const ends: unknown[] = []
    for (let lost = 1; lost <= 3; lost++) {
      clock.ms += leaseMs
      await store.sweep(sweepOf())
      const pending = await claimOnePending(store)
      if (!pending) throw new Error('nobody asks about the run')
      await store.answerPendingWork(pending, nothing)
      const { job, lostRuns } = (await store.inspectJob(jobId)) ?? {}
      ends.push([job?.status, lostRuns, job?.error?.code])
      clock.ms += 60_000
      await store.sweep(sweepOf())
      if (job?.status !== 'queued') break
      const { token } = await claimOne(store, 'test/image', leaseMs)
      await store.saveCheckpoint(jobId, token, sending)
    }
    expect(ends).toEqual([
      ['queued', 1, undefined],
      ['queued', 2, undefined],
      ['failed', 3, 'submission_lost'],
    ])
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a run that has lost its job still reports its submission: the job continues, the run does not', async () => {
    const { store, clock, jobId, token } = await openSubmitted(openStore, sending)
    await using _ = store
    clock.ms += leaseMs
    await store.sweep(sweepOf())
    expect(await store.saveCheckpoint(jobId, token, sending)).toBe(false)
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'needs_review' })
    expect(await store.saveCheckpoint(jobId, token, accepted)).toBe(false)
    expect(await store.inspectJob(jobId)).toMatchObject({
      job: { status: 'queued' },
      afterLoss: 'continue',
      upstreamRuns: [{ upstreamId: 'up_1', verdict: 'accepted' }],
    })
    await claimOne(store)
    expect(await store.saveCheckpoint(jobId, token, submissionOf('refused', null))).toBe(false)
    expect(await store.inspectJob(jobId)).toMatchObject({
      afterLoss: 'continue',
      upstreamRuns: [{ verdict: 'accepted' }],
    })
  })

  test('a cancel that was owed without a name gets the one that arrives late', async () => {
    const { store, jobId, token } = await openSubmitted(openStore, sending)
    await using _ = store
    await store.finishJob(jobId, token, { status: 'canceled', error: testError })
    expect(await claimOnePending(store)).toMatchObject({ kind: 'cancel', checkpoint: { id: null } })
    expect(await store.saveCheckpoint(jobId, token, accepted)).toBe(false)
    expect(await claimOnePending(store)).toMatchObject({ kind: 'cancel', checkpoint: { id: 'up_1' } })
  })

  test('a cancel that was owed is owed no more when the submission turns out to be refused', async () => {
    const { store, clock, jobId, token } = await openSubmitted(openStore, sending)
    await using _ = store
    await store.finishJob(jobId, token, { status: 'canceled', error: testError })
    const asked = await claimOnePending(store)
    expect(await store.saveCheckpoint(jobId, token, submissionOf('refused', null))).toBe(false)
    // What was asked before knows less.
    if (asked) await store.answerPendingWork(asked, { outcome: 'done', upstream: unheard })
    expect(await store.inspectJob(jobId)).toMatchObject({ upstreamRuns: [{ verdict: 'refused' }] })
    clock.ms += 3_600_000
    expect(await claimOnePending(store)).toBeUndefined()
  })
}

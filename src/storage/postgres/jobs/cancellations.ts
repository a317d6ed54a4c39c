// What people do to jobs: the owner cancels or deletes one, an operator resolves one under review.
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import { isCredits } from '../../../core/credits/ledger.ts'
import { decideDeletion, type DeleteOutcome } from '../../../core/jobs/deletion.ts'
import type { Job } from '../../../core/jobs/job.ts'
import { decideCancel, decideReview } from '../../../core/jobs/run-end.ts'
import type { ResolveOutcome } from '../../../core/store.ts'
import { cancelAudit, jobColumns, type JobRow, type JobState, toErrorCode, toJob, toRunState } from '../../job-rows.ts'
import { record } from '../accounts/audit.ts'
import { sayGone } from '../files/retention.ts'
import type { Writing } from '../writing.ts'
import { endRun, lockJobs } from './run-ends.ts'

export async function requestCancel(tx: Writing, accountId: string, jobId: string): Promise<Job | null> {
  const locked = await lockJobs(tx, [jobId])
  const job = locked.jobs.get(jobId)
  return job?.accountId === accountId ? (await cancel(tx, locked, job)).job : null
}

export async function cancelAnyJob(
  tx: Writing,
  jobId: string,
  reason: string | null,
  by: Actor = systemActor,
): Promise<Job | null> {
  const locked = await lockJobs(tx, [jobId])
  const before = locked.jobs.get(jobId)
  if (before === undefined) return null
  const { job, isNew } = await cancel(tx, locked, before)
  if (job && isNew) await record(tx, cancelAudit(before, job, reason), by)
  return job
}

/** The job afterwards, and whether this changed it. */
async function cancel(
  tx: Writing,
  locked: Awaited<ReturnType<typeof lockJobs>>,
  job: JobState,
): Promise<{ readonly job: Job | null; readonly isNew: boolean }> {
  const decided = decideCancel(toRunState(job))
  if (decided !== 'nothing' && decided !== 'wish')
    return { job: await endRun(tx, locked, job, decided, await tx.nowMs()), isNew: true }
  const { number, jobId } = job
  if (decided === 'wish') {
    tx.send('UPDATE jobs SET cancel_requested = 1, sequence = sequence + 1 WHERE number = :number', { number })
    tx.changed(jobId)
  }
  const row = await tx.row<JobRow>(`SELECT ${jobColumns} FROM jobs WHERE number = :number`, { number })
  return { job: row ? toJob(row) : null, isNew: decided === 'wish' }
}

export async function deleteJob(tx: Writing, accountId: string, jobId: string): Promise<DeleteOutcome> {
  const { jobs } = await lockJobs(tx, [jobId])
  const job = jobs.get(jobId) ?? null
  const decided = decideDeletion(job, accountId, await tx.nowMs())
  if (job === null || decided.outcome !== 'deleted' || job.deletedAtMs !== null) return decided
  const { number } = job
  tx.send(`${sayGone} WHERE number = :number AND outputs_gone = 0`, { number })
  const { deletedAtMs } = decided
  tx.send('UPDATE jobs SET deleted_at = :deletedAtMs, sequence = sequence + 1 WHERE number = :number', {
    number,
    deletedAtMs,
  })
  tx.changed(jobId)
  return decided
}

export async function resolveReview(
  tx: Writing,
  jobId: string,
  charge: number,
  by: Actor = systemActor,
): Promise<ResolveOutcome> {
  if (!isCredits(charge)) throw new RangeError('charge must be a whole number from 0')
  const locked = await lockJobs(tx, [jobId])
  const job = locked.jobs.get(jobId)
  if (job === undefined) return { outcome: 'no_job' }
  if (job.status !== 'needs_review') return { outcome: 'not_in_review', status: job.status }
  if (charge > job.creditsHeld) return { outcome: 'above_hold', creditsHeld: job.creditsHeld }
  const ended = await endRun(tx, locked, job, decideReview(charge, toErrorCode(job)), await tx.nowMs())
  const { status, creditsCharged: charged, creditsReleased: released, accountId } = ended
  const before = { status: job.status, held: job.creditsHeld }
  await record(tx, { act: 'job.resolved', subject: jobId, accountId, before, after: { status, charged, released } }, by)
  return { outcome: 'done', job: ended }
}

// What people do to jobs: the owner cancels or deletes one, an operator resolves one under review.
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import { isCredits } from '../../../core/credits/ledger.ts'
import { decideDeletion, type DeleteOutcome } from '../../../core/jobs/deletion.ts'
import type { Job } from '../../../core/jobs/job.ts'
import { decideCancel, decideReview } from '../../../core/jobs/run-end.ts'
import type { ResolveOutcome } from '../../../core/store.ts'
import { cancelAudit, jobColumns, type JobState, toErrorCode, toJob, toRunState, type JobRow } from '../../job-rows.ts'
import { createAuditWriter } from '../accounts/audit.ts'
import { sayGone } from '../files/retention.ts'
import type { Writing } from '../threads/writing.ts'
import { createJobFinder } from './jobs.ts'
import { createRunEnds } from './run-ends.ts'

export function createCancelCommands(writing: Writing) {
  const { db, nowMs, changed } = writing
  const findJob = createJobFinder(db)
  const endRun = createRunEnds(writing)
  const record = createAuditWriter(writing)
  const wish = db.prepare<[number]>('UPDATE jobs SET cancel_requested = 1, sequence = sequence + 1 WHERE number = ?')
  const forget = db.prepare<[number]>(`${sayGone} WHERE number = ? AND outputs_gone = 0`)
  const remember = db.prepare<[number, number]>(
    'UPDATE jobs SET deleted_at = ?, sequence = sequence + 1 WHERE number = ?',
  )
  const read = db.prepare<[number], JobRow>(`SELECT ${jobColumns} FROM jobs WHERE number = ?`)

  /** The job afterwards, and whether this changed it. */
  function cancel(job: JobState): { readonly job: Job | null; readonly isNew: boolean } {
    const decided = decideCancel(toRunState(job))
    if (decided !== 'nothing' && decided !== 'wish') return { job: endRun(job, decided), isNew: true }
    if (decided === 'wish') {
      wish.run(job.number)
      changed(job.jobId)
    }
    const row = read.get(job.number)
    return { job: row ? toJob(row) : null, isNew: decided === 'wish' }
  }

  return {
    requestCancel(accountId: string, jobId: string): Job | null {
      const job = findJob(jobId)
      return job?.accountId === accountId ? cancel(job).job : null
    },

    cancelAnyJob(jobId: string, reason: string | null, by: Actor = systemActor): Job | null {
      const before = findJob(jobId)
      if (before === null) return null
      const { job, isNew } = cancel(before)
      if (job && isNew) record(cancelAudit(before, job, reason), by)
      return job
    },

    deleteJob(accountId: string, jobId: string): DeleteOutcome {
      const job = findJob(jobId)
      const decided = decideDeletion(job, accountId, nowMs())
      if (job === null || decided.outcome !== 'deleted' || job.deletedAtMs !== null) return decided
      forget.run(job.number)
      remember.run(decided.deletedAtMs, job.number)
      changed(jobId)
      return decided
    },

    resolveReview(jobId: string, charge: number, by: Actor = systemActor): ResolveOutcome {
      if (!isCredits(charge)) throw new RangeError('charge must be a whole number from 0')
      const job = findJob(jobId)
      if (job === null) return { outcome: 'no_job' }
      if (job.status !== 'needs_review') return { outcome: 'not_in_review', status: job.status }
      if (charge > job.creditsHeld) return { outcome: 'above_hold', creditsHeld: job.creditsHeld }
      const ended = endRun(job, decideReview(charge, toErrorCode(job)))
      const { status, creditsCharged: charged, creditsReleased: released } = ended
      const before = { status: job.status, held: job.creditsHeld }
      const after = { status, charged, released }
      record({ act: 'job.resolved', subject: jobId, accountId: job.accountId, before, after }, by)
      return { outcome: 'done', job: ended }
    },
  }
}

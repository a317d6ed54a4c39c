// What becomes of jobs whose worker is gone or gives them up: queued again, reviewed, or ended. The rule is core's.
import type { Job } from '../../core/job.ts'
import type { LossOutcome, LostRun } from '../../core/loss.ts'
import { jobColumns, toJob, type JobRow, type JobState } from './jobs.ts'
import { createSettlement } from './settlement.ts'
import type { Writing } from './writing.ts'

/** Whether the time that the job was given is over. */
export function isPassed({ deadlineAtMs }: JobState, nowMs: number): boolean {
  return deadlineAtMs !== null && deadlineAtMs <= nowMs
}

/** What the rule asks of a job that was running. */
export function toLostRun(job: JobState, nowMs: number): LostRun {
  return {
    cancelRequested: job.cancelRequested === 1,
    deadlinePassed: isPassed(job, nowMs),
    resumable: job.resumable === 1,
    lostRuns: job.lostRuns,
    maxAttempts: job.maxAttempts,
  }
}

/** How a run came to nothing. */
export interface Loss {
  /** Whether the worker was lost, which counts, or stopped. */
  readonly lost: boolean
  /** When another run may begin; null for at once. */
  readonly availableAtMs: number | null
}

/** Creates what carries out the rule. */
export function createLosses(writing: Writing) {
  const { db, nowMs, changed } = writing
  const endJob = createSettlement(writing)
  const requeue = db.prepare<[number, number | null, number], JobRow>(
    `UPDATE jobs SET status = 'queued', progress = 0, worker = NULL, lease_until = NULL, lost_runs = lost_runs + ?, available_at = ?, sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}`,
  )
  const review = db.prepare<[number, string, number, number], JobRow>(
    `UPDATE jobs SET status = 'needs_review', finished_at = max(?, started_at), error = ?, worker = NULL, lease_until = NULL, lost_runs = lost_runs + ?, sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}`,
  )

  return {
    /** Takes a running job to where the rule sends it. */
    apply(job: JobState, outcome: LossOutcome, { lost, availableAtMs }: Loss): Job {
      const losses = lost ? 1 : 0
      if (outcome.status === 'failed' || outcome.status === 'canceled')
        return endJob(job, { status: outcome.status, creditsActual: 0, error: outcome.error, losses })
      const row =
        outcome.status === 'queued'
          ? requeue.get(losses, availableAtMs, job.number)
          : review.get(nowMs(), JSON.stringify(outcome.error), losses, job.number)
      if (row === undefined) throw new Error(`job ${job.jobId} vanished`)
      changed(job.jobId)
      return toJob(row)
    },
  }
}

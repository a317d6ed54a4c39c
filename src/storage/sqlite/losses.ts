// Applies core's rule to jobs whose worker is lost or gives them up: queued again, reviewed, or ended.
import type { Job } from '../../core/job.ts'
import type { LossOutcome, LostRun } from '../../core/loss.ts'
import { jobColumns, toJob, type JobRow, type JobState } from './jobs.ts'
import { createSettlement } from './settlement.ts'
import type { Writing } from './writing.ts'

/** Whether the deadline of the job has passed. */
export function isPassed({ deadlineAtMs }: JobState, nowMs: number): boolean {
  return deadlineAtMs !== null && deadlineAtMs <= nowMs
}

/** The facts about a running job that the rule needs. */
export function toLostRun(job: JobState, nowMs: number): LostRun {
  return {
    cancelRequested: job.cancelRequested === 1,
    deadlinePassed: isPassed(job, nowMs),
    resumable: job.resumable === 1,
    lostRuns: job.lostRuns,
    maxAttempts: job.maxAttempts,
  }
}

/** How a run was lost. */
export interface Loss {
  /** Whether the worker was lost, which counts, or stopped. */
  readonly lost: boolean
  /** Earliest time of another run; null for at once. */
  readonly availableAtMs: number | null
}

/** Creates a function that applies the rule. */
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
    /** Moves a running job to the state that the rule decides. */
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

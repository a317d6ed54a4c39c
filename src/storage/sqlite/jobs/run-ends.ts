// Writes the decisions of core about a job: settled, queued again, or under review.
import type { AfterLoss } from '@mediagen/engine/engine.ts'
import type { Job } from '../../../core/jobs/job.ts'
import type { RunEnd } from '../../../core/jobs/run-end.ts'
import { jobColumns, toJob, type JobRow, type JobState } from '../../job-rows.ts'
import type { Writing } from '../threads/writing.ts'
import { createSettlement } from './settlement.ts'
import { createPendingWork } from './upstream.ts'

/** What a job under review continues from. */
export interface Found {
  /** JSON */
  readonly checkpoint: string
  readonly afterLoss: AfterLoss
}

/** Creates the only function that moves a job out of a run or a review. */
export function createRunEnds(writing: Writing): (job: JobState, end: RunEnd, found?: Found) => Job {
  const { db, nowMs, changed } = writing
  const settleJob = createSettlement(writing)
  const pendingWork = createPendingWork(writing)
  const requeue = db.prepare<[number, number | null, string | null, string | null, number], JobRow>(
    `UPDATE jobs SET status = 'queued', progress = 0, worker = NULL, lease_until = NULL, lost_runs = lost_runs + ?, available_at = ?,
       checkpoint = coalesce(?, checkpoint), after_loss = coalesce(?, after_loss), finished_at = NULL, error = NULL, preview_key = NULL, sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}`,
  )
  const review = db.prepare<[number, string, string | null, number], JobRow>(
    `UPDATE jobs SET status = 'needs_review', finished_at = max(?, started_at), error = ?, outputs = coalesce(?, outputs), after_loss = 'never',
       worker = NULL, lease_until = NULL, preview_key = NULL, sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}`,
  )

  function move(
    job: JobState,
    end: Extract<RunEnd, { status: 'queued' | 'needs_review' }>,
    found?: Found,
  ): JobRow | undefined {
    if (end.status === 'queued') {
      pendingWork.drop(job.number)
      const { checkpoint = null, afterLoss = null } = found ?? {}
      return requeue.get(end.spent ? 1 : 0, end.availableAtMs, checkpoint, afterLoss, job.number)
    }
    const { error, outputs } = end
    if (!outputs) pendingWork.oweReconcile(job.number)
    return review.get(nowMs(), JSON.stringify(error), outputs ? JSON.stringify(outputs) : null, job.number)
  }

  return (job, end, found) => {
    if (end.status !== 'queued' && end.status !== 'needs_review') {
      const settled = settleJob(job, end)
      // It was found too late to go on: what is to be ended elsewhere has a name now.
      if (found) pendingWork.learn(job.number, found.checkpoint)
      return settled
    }
    const row = move(job, end, found)
    if (row === undefined) throw new Error(`job ${job.jobId} vanished`)
    changed(job.jobId)
    return toJob(row)
  }
}

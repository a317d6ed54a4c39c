// The commands for pending work at other servers, for jobs that no longer run.
import type { JsonValue } from '@mediagen/engine/engine.ts'
import { decideReconciled } from '../../../core/jobs/run-end.ts'
import type { PendingWork, PendingWorkAnswer } from '../../../core/store.ts'
import { toRunState } from '../../job-rows.ts'
import type { Writing } from '../writing.ts'
import { endRun, type Found, lockJobs } from './run-ends.ts'
import { dropPendingWork, recordRun } from './upstream.ts'

/** Claims pending work that is due. */
export async function claimPendingWork(tx: Writing, limit: number, leaseMs: number): Promise<readonly PendingWork[]> {
  const nowMs = await tx.nowMs()
  type Row = Omit<PendingWork, 'checkpoint' | 'ageMs'> & { checkpoint: string | null; owedAt: number }
  const rows = await tx.rows<Row>(
    `UPDATE upstream_duties AS d SET due_at = :nowMs::bigint + :leaseMs::bigint, attempts = d.attempts + 1 FROM jobs AS j
     WHERE j.number = d.job_number AND d.job_number IN (
       SELECT job_number FROM upstream_duties WHERE due_at <= :nowMs::bigint ORDER BY due_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING j.job_id AS jobId, j.model, d.kind, CASE d.kind WHEN 'cancel' THEN d.checkpoint ELSE j.checkpoint END AS checkpoint,
       d.fence, d.attempts, d.owed_at AS owedAt`,
    { nowMs, leaseMs, limit },
  )
  return rows.map(({ checkpoint, owedAt, ...pending }) => ({
    ...pending,
    checkpoint: checkpoint === null ? null : (JSON.parse(checkpoint) as JsonValue),
    ageMs: Math.max(0, nowMs - owedAt),
  }))
}

/** Records the answer, unless the work was claimed again since. */
export async function answerPendingWork(
  tx: Writing,
  { jobId, fence, attempts }: PendingWork,
  answer: PendingWorkAnswer,
): Promise<void> {
  const locked = await lockJobs(tx, [jobId])
  const job = locked.jobs.get(jobId)
  if (job === undefined) return
  const { number } = job
  const current = await tx.row(
    'SELECT 1 FROM upstream_duties WHERE job_number = :number AND fence = :fence AND attempts = :attempts FOR UPDATE',
    { number, fence, attempts },
  )
  if (current === undefined) return
  const nowMs = await tx.nowMs()
  if (answer.outcome === 'again') {
    const dueAt = nowMs + answer.waitMs
    return tx.send('UPDATE upstream_duties SET due_at = :dueAt WHERE job_number = :number', { number, dueAt })
  }
  if (answer.upstream) recordRun(tx, number, answer.upstream, nowMs)
  if (answer.outcome === 'done') return dropPendingWork(tx, number)
  const end = decideReconciled(toRunState(job), answer, nowMs)
  const found: Found | undefined =
    answer.outcome === 'known'
      ? { checkpoint: JSON.stringify(answer.checkpoint), afterLoss: answer.afterLoss }
      : undefined
  if (end) await endRun(tx, locked, job, end, nowMs, found)
}

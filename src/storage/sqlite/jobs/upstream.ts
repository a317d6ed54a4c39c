// Submissions to other servers, and the pending work there: the outcome of unknown runs, and the cancellation of runs
// whose jobs have ended.
import type { JsonValue, UpstreamRun } from '@mediagen/engine/engine.ts'
import type { RecordedUpstreamRun } from '../../../core/jobs/job.ts'
import type { PendingWork } from '../../../core/store.ts'
import { toUpstreamRun, upstreamColumns, type UpstreamRow } from '../../job-rows.ts'
import type { Connection } from '../connection.ts'
import type { Writing } from '../threads/writing.ts'

/** Verdicts after which a submission no longer runs. */
const ended: ReadonlySet<UpstreamRun['verdict']> = new Set(['refused', 'succeeded', 'failed', 'canceled'])

/** Creates the writer of submissions. */
export function createUpstreamRuns({ db, nowMs }: Writing) {
  const write = db.prepare<(string | number | null)[]>(
    `INSERT INTO upstream_runs (job_number, n, provider, upstream_id, verdict, submitted_at, ended_at, cost, cost_amount, cost_currency)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (job_number, n) DO UPDATE SET provider = excluded.provider, upstream_id = coalesce(excluded.upstream_id, upstream_id),
       verdict = excluded.verdict, ended_at = CASE WHEN excluded.ended_at IS NULL THEN NULL ELSE coalesce(ended_at, excluded.ended_at) END,
       cost = coalesce(excluded.cost, cost), cost_amount = coalesce(excluded.cost_amount, cost_amount),
       cost_currency = coalesce(excluded.cost_currency, cost_currency)`,
  )
  const first = db
    .prepare<[number], number | null>('SELECT min(submitted_at) FROM upstream_runs WHERE job_number = ?')
    .pluck()
  return {
    record(jobNumber: number, { n, provider, upstreamId, verdict, cost }: UpstreamRun): void {
      const endedAt = ended.has(verdict) ? nowMs() : null
      const bill = [cost?.text ?? null, cost?.amount ?? null, cost?.currency ?? null]
      write.run(jobNumber, n, provider, upstreamId, verdict, nowMs(), endedAt, ...bill)
    },
    /** Time since the first submission of the job; null without one. */
    msSinceSubmission(jobNumber: number): number | null {
      const submittedAt = first.get(jobNumber) ?? null
      return submittedAt === null ? null : Math.max(0, nowMs() - submittedAt)
    },
  }
}

/** Creates the list of the pending work at other servers. */
export function createPendingWork({ db, nowMs }: Writing) {
  const openRun = 'SELECT 1 FROM upstream_runs WHERE job_number = :number AND ended_at IS NULL'
  const owe = db.prepare<{ number: number; nowMs: number }>(
    `INSERT OR REPLACE INTO upstream_duties (job_number, kind, checkpoint, fence, owed_at, due_at)
     SELECT number, 'cancel', checkpoint, sequence, :nowMs, :nowMs FROM jobs WHERE number = :number AND EXISTS (${openRun})`,
  )
  const reconcile = db.prepare<{ number: number; nowMs: number }>(
    `INSERT INTO upstream_duties (job_number, kind, fence, owed_at, due_at)
     SELECT number, 'reconcile', sequence, :nowMs, :nowMs FROM jobs WHERE number = :number`,
  )
  const learn = db.prepare<{ number: number; nowMs: number; checkpoint: string }>(
    `INSERT INTO upstream_duties (job_number, kind, checkpoint, fence, owed_at, due_at)
     SELECT number, 'cancel', :checkpoint, sequence, :nowMs, :nowMs FROM jobs WHERE number = :number AND EXISTS (${openRun})
     ON CONFLICT (job_number) DO UPDATE SET checkpoint = excluded.checkpoint, due_at = excluded.due_at, attempts = attempts + 1`,
  )
  const dropMoot = db.prepare<{ number: number }>(
    `DELETE FROM upstream_duties WHERE job_number = :number AND NOT EXISTS (${openRun})`,
  )
  const drop = db.prepare<[number]>('DELETE FROM upstream_duties WHERE job_number = ?')
  const claim = db.prepare<
    [number, number, number],
    { jobNumber: number } & Pick<PendingWork, 'kind' | 'fence' | 'attempts'> & { owedAt: number }
  >(
    `UPDATE upstream_duties SET due_at = ?, attempts = attempts + 1
     WHERE job_number IN (SELECT job_number FROM upstream_duties WHERE due_at <= ? ORDER BY due_at LIMIT ?)
     RETURNING job_number AS jobNumber, kind, fence, attempts, owed_at AS owedAt`,
  )
  const find = db.prepare<[number], { jobId: string; model: string; checkpoint: string | null }>(
    `SELECT j.job_id AS jobId, j.model, CASE d.kind WHEN 'cancel' THEN d.checkpoint ELSE j.checkpoint END AS checkpoint
     FROM upstream_duties AS d JOIN jobs AS j ON j.number = d.job_number WHERE d.job_number = ?`,
  )
  const isCurrent = db
    .prepare<[number, number, number], 1>(
      'SELECT 1 FROM upstream_duties WHERE job_number = ? AND fence = ? AND attempts = ?',
    )
    .pluck()
  const postpone = db.prepare<[number, number]>('UPDATE upstream_duties SET due_at = ? WHERE job_number = ?')

  return {
    /** Requests the cancellation of submissions that may still run, because the job ends without success. Called while the job still has its checkpoint. */
    oweCancel: (number: number): void => void owe.run({ number, nowMs: nowMs() }),
    oweReconcile: (number: number): void => void reconcile.run({ number, nowMs: nowMs() }),
    /** Uses what an abandoned run learned about a submission after its job had ended: what to cancel, or that nothing is left to be. */
    learn(number: number, checkpoint: string): void {
      learn.run({ number, nowMs: nowMs(), checkpoint })
      dropMoot.run({ number })
    },
    drop: (number: number): void => void drop.run(number),
    claim(limit: number, leaseMs: number): readonly PendingWork[] {
      return claim.all(nowMs() + leaseMs, nowMs(), limit).flatMap(({ jobNumber, owedAt, ...pending }) => {
        const job = find.get(jobNumber)
        if (!job) return []
        const checkpoint = job.checkpoint === null ? null : (JSON.parse(job.checkpoint) as JsonValue)
        return [{ ...pending, ...job, checkpoint, ageMs: Math.max(0, nowMs() - owedAt) }]
      })
    },
    isCurrent: (number: number, { fence, attempts }: PendingWork): boolean =>
      isCurrent.get(number, fence, attempts) !== undefined,
    postpone: (number: number, waitMs: number): void => void postpone.run(nowMs() + waitMs, number),
  }
}

/** Creates the read of a job's submissions, the first one first. */
export function createUpstreamReads(db: Connection): (jobNumber: number) => readonly RecordedUpstreamRun[] {
  const list = db.prepare<[number], UpstreamRow>(
    `SELECT ${upstreamColumns} FROM upstream_runs WHERE job_number = ? ORDER BY n`,
  )
  return (jobNumber) => list.all(jobNumber).map(toUpstreamRun)
}

/** Creates the check whether a question to another server is due: cheap, because it runs often. */
export function createDuePendingWorkRead(db: Connection): (nowMs: number) => boolean {
  const find = db.prepare<[number], 1>('SELECT 1 FROM upstream_duties WHERE due_at <= ? LIMIT 1').pluck()
  return (nowMs) => find.get(nowMs) !== undefined
}

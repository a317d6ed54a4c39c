// Submissions to other servers, and the pending work there: the outcome of unknown runs, and the cancellation of runs
// whose jobs have ended.
import type { UpstreamRun } from '@mediagen/engine/engine.ts'
import type { Writing } from '../writing.ts'

/** Verdicts after which a submission no longer runs. */
const ended: ReadonlySet<UpstreamRun['verdict']> = new Set(['refused', 'succeeded', 'failed', 'canceled'])
const openRun = 'EXISTS (SELECT 1 FROM upstream_runs WHERE job_number = :number AND ended_at IS NULL)'

export function recordRun({ send }: Writing, number: number, run: UpstreamRun, nowMs: number): void {
  const { n, provider, upstreamId, verdict, cost } = run
  send(
    `INSERT INTO upstream_runs AS u (job_number, n, provider, upstream_id, verdict, submitted_at, ended_at, cost, cost_amount, cost_currency)
     VALUES (:number, :n, :provider, :upstreamId, :verdict, :nowMs, :endedAt, :text, :amount, :currency)
     ON CONFLICT (job_number, n) DO UPDATE SET provider = excluded.provider, upstream_id = coalesce(excluded.upstream_id, u.upstream_id),
       verdict = excluded.verdict, ended_at = CASE WHEN excluded.ended_at IS NULL THEN NULL ELSE coalesce(u.ended_at, excluded.ended_at) END,
       cost = coalesce(excluded.cost, u.cost), cost_amount = coalesce(excluded.cost_amount, u.cost_amount),
       cost_currency = coalesce(excluded.cost_currency, u.cost_currency)`,
    {
      number,
      n,
      provider,
      upstreamId,
      verdict,
      nowMs,
      endedAt: ended.has(verdict) ? nowMs : null,
      text: cost?.text ?? null,
      amount: cost?.amount ?? null,
      currency: cost?.currency ?? null,
    },
  )
}

/** Requests the cancellation of submissions that may still run, because the job ends without success. Called while the job still has its checkpoint. */
export function oweCancel({ send }: Writing, number: number, nowMs: number): void {
  send(
    `INSERT INTO upstream_duties (job_number, kind, checkpoint, fence, owed_at, due_at)
     SELECT number, 'cancel', checkpoint, sequence, :nowMs::bigint, :nowMs::bigint FROM jobs WHERE number = :number AND ${openRun}
     ON CONFLICT (job_number) DO UPDATE SET kind = excluded.kind, checkpoint = excluded.checkpoint, fence = excluded.fence,
       owed_at = excluded.owed_at, due_at = excluded.due_at, attempts = 0`,
    { number, nowMs },
  )
}

export function oweReconcile({ send }: Writing, number: number, nowMs: number): void {
  send(
    `INSERT INTO upstream_duties (job_number, kind, fence, owed_at, due_at)
     SELECT number, 'reconcile', sequence, :nowMs::bigint, :nowMs::bigint FROM jobs WHERE number = :number`,
    { number, nowMs },
  )
}

/** Uses what an abandoned run learned about a submission after its job had ended: what to cancel, or that nothing is left to be. */
export function learnLate({ send }: Writing, number: number, checkpoint: string, nowMs: number): void {
  send(
    `INSERT INTO upstream_duties AS d (job_number, kind, checkpoint, fence, owed_at, due_at)
     SELECT number, 'cancel', :checkpoint::text, sequence, :nowMs::bigint, :nowMs::bigint FROM jobs WHERE number = :number AND ${openRun}
     ON CONFLICT (job_number) DO UPDATE SET checkpoint = excluded.checkpoint, due_at = excluded.due_at, attempts = d.attempts + 1`,
    { number, nowMs, checkpoint },
  )
  send(`DELETE FROM upstream_duties WHERE job_number = :number AND NOT ${openRun}`, { number })
}

export function dropPendingWork({ send }: Writing, number: number): void {
  send('DELETE FROM upstream_duties WHERE job_number = :number', { number })
}

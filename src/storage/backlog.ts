// How much waits, in one statement that both databases understand. Each part reads an index of what has not ended, so ended jobs
// cost nothing.
import type { Backlog, ModelBacklog } from '../core/jobs/backlog.ts'

/** A line of the answer: a model's queue, or one of the other counts. */
export interface BacklogRow {
  readonly kind: 'queued' | 'delayed' | 'running' | 'review' | 'delivery' | 'due'
  /** Of jobs that are queued or run; empty otherwise. */
  readonly model: string
  readonly count: number
  /** When the first began to wait; null if none waits, or if the time is not needed. */
  readonly since: number | null
}

/** The job with the lowest number was queued first. */
export const selectBacklog = `
  SELECT 'queued' AS kind, q.model AS model, q.jobs AS count, j.created_at AS since
  FROM (SELECT model, count(*) AS jobs, min(number) AS first FROM jobs WHERE status = 'queued' AND available_at IS NULL GROUP BY model) AS q
  JOIN jobs AS j ON j.number = q.first
  UNION ALL SELECT 'delayed', model, count(*), NULL FROM jobs WHERE available_at IS NOT NULL GROUP BY model
  UNION ALL SELECT 'running', model, count(*), NULL FROM jobs WHERE status = 'running' GROUP BY model
  UNION ALL SELECT 'review', '', count(*), min(finished_at) FROM jobs WHERE status = 'needs_review'
  UNION ALL SELECT 'delivery', '', count(*), NULL FROM webhook_deliveries WHERE status = 'pending'
  UNION ALL SELECT 'due', '', 0, min(next_due_at) FROM webhooks WHERE next_due_at IS NOT NULL`

/** Puts the lines together. */
export function toBacklog(rows: readonly BacklogRow[], nowMs: number): Backlog {
  const age = (since: number | null): number => (since === null ? 0 : Math.max(0, nowMs - since))
  const find = (kind: BacklogRow['kind']): BacklogRow =>
    rows.find((row) => row.kind === kind) ?? { kind, model: '', count: 0, since: null }
  const review = find('review')
  const models = new Map<string, ModelBacklog>()
  for (const { kind, model, count, since } of rows) {
    if (kind !== 'queued' && kind !== 'delayed' && kind !== 'running') continue
    const counted = models.get(model) ?? { model, queued: 0, oldestMs: 0, delayed: 0, running: 0 }
    models.set(model, { ...counted, [kind]: count, ...(kind === 'queued' && { oldestMs: age(since) }) })
  }
  return {
    models: [...models.values()],
    reviews: review.count,
    oldestReviewMs: age(review.since),
    deliveries: find('delivery').count,
    overdueMs: age(find('due').since),
  }
}

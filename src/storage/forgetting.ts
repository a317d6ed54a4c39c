// How old jobs are found and removed, in words that both databases understand. The rules are triggers and foreign keys of the schema.
import type { Forgotten } from '../core/jobs/retention.ts'

const inPage = 'number > :after AND number <= :last'
const old = "finished_at <= :before AND status IN ('succeeded', 'failed', 'canceled', 'expired')"

export const selectForgetPage = `SELECT max(number) AS last, min(created_at) AS oldest, count(*) AS jobs
  FROM (SELECT number, created_at FROM jobs WHERE number > :after ORDER BY number LIMIT :limit) AS page`

/** The jobs that are looked at together: the last number, the first time of a start. */
export interface ForgetPage {
  readonly last: number | null
  readonly oldest: number | null
  readonly jobs: number
}

/** Whose files are to go before they can. */
export const withFiles = `${inPage} AND outputs_gone = 0 AND ${old}`

const forgettable = `SELECT number FROM jobs WHERE ${inPage} AND outputs_gone = 2 AND ${old} AND number < (SELECT max(number) FROM jobs)
  AND NOT EXISTS (SELECT 1 FROM upstream_runs WHERE job_number = jobs.number AND ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM upstream_duties WHERE job_number = jobs.number)
  AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE job_number = jobs.number AND status = 'pending')`
export const deleteDeliveries = `DELETE FROM webhook_deliveries WHERE job_number IN (${forgettable})`
export const deleteJobs = `DELETE FROM jobs WHERE number IN (${forgettable})`

/** What became of a page. Jobs begin about in the order of their numbers, so what follows a page of young ones is young. */
export function toForgotten(page: ForgetPage, limit: number, before: number, jobs: number): Forgotten {
  const more = page.jobs === limit && page.oldest !== null && page.oldest <= before
  return { jobs, next: more ? page.last : null }
}

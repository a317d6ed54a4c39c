// Sweeps: expired leases, deadlines of queued jobs, due retries, expired reviews, old deliveries.
import { keptDeliveryMs } from '../../../core/accounts/webhook.ts'
import type { Job } from '../../../core/jobs/job.ts'
import { longestBackoffMs, spreadJitter } from '../../../core/jobs/loss.ts'
import { decideDeadline, decideLoss, decideReview, type RunEnd } from '../../../core/jobs/run-end.ts'
import { nothingSwept, type SweepCommand, type SweepOutcome, type SweepTerms } from '../../../core/jobs/sweep.ts'
import { type JobState, toErrorCode, toRunState } from '../../job-rows.ts'
import type { Database } from '../connection.ts'
import { dropLead } from '../shared/leaders.ts'
import { deliveriesToSweep, sweepDeliveries } from '../webhooks/deliveries.ts'
import type { Writing } from '../writing.ts'
import { endRuns, lockJobs } from './run-ends.ts'

// What is looked for.
const tooLong = "status = 'running' AND lease_until > :now::bigint + :leaseMs"
const ranOut = "status = 'running' AND lease_until <= :now"
const passed = "status = 'queued' AND deadline_at IS NOT NULL AND deadline_at <= :now"
const stale = "status = 'needs_review' AND finished_at <= :now::bigint - :reviewMs"
// A wait longer than the maximum began before the clock went back.
const ready = `available_at IS NOT NULL AND (available_at <= :now OR available_at > :now::bigint + ${longestBackoffMs})`

/** The steps of a sweep: what they look for, and what they do; each is a transaction of its own. */
const steps = {
  lost: { found: [`jobs WHERE ${tooLong}`, `jobs WHERE ${ranOut}`], sweep: sweepLost },
  deadlines: { found: [`jobs WHERE ${passed}`], sweep: sweepDeadlines },
  reviews: { found: [`jobs WHERE ${stale}`], sweep: sweepReviews },
  retries: { found: [`jobs WHERE ${ready}`], sweep: wake },
  deliveries: { found: deliveriesToSweep, sweep: sweepOldDeliveries },
}

/** A step, as a command. */
export type SweepStep = (tx: Writing, command: SweepCommand) => Promise<SweepOutcome>

/** Finds the steps that have something to do. It runs every second, and mostly there is nothing to write. */
export async function findSweepSteps(
  db: Pick<Database, 'row' | 'learnTime'>,
  { leaseMs, reviewMs }: SweepTerms,
): Promise<SweepStep[]> {
  const exists = (found: readonly string[]): string =>
    found
      .map((rows) => `EXISTS (SELECT 1 FROM ${rows.replaceAll(/:now\b(?:::bigint)?/g, '(SELECT now FROM t)')})`)
      .join(' OR ')
  const columns = Object.entries(steps).map(([step, { found }]) => `${exists(found)} AS ${step}`)
  const sql = `WITH t AS (SELECT now_ms(:held) AS now) SELECT (SELECT now FROM t) AS now, ${columns.join(', ')}`
  const requestedMs = performance.now()
  const found = await db.row<{ now: number } & Record<string, unknown>>(sql, { leaseMs, reviewMs, keptDeliveryMs })
  if (found) db.learnTime(found.now, requestedMs)
  return Object.entries(steps).flatMap(([step, { sweep }]) => (found?.[step] === true ? [sweep] : []))
}

export async function endLeases(tx: Writing, workers: readonly string[]): Promise<number> {
  await dropLead(tx, workers)
  return tx.change(
    "UPDATE jobs SET lease_until = least(lease_until, :now) WHERE status = 'running' AND worker = ANY(:workers)",
    { workers, now: await tx.nowMs() },
  )
}

/** Ends the jobs that meet a condition, those first that have waited longest. */
async function endAll(
  tx: Writing,
  condition: string,
  since: string,
  command: SweepCommand,
  decide: (job: JobState, index: number, nowMs: number) => RunEnd,
): Promise<readonly Job[]> {
  const now = await tx.nowMs()
  const { limit, leaseMs, reviewMs } = command
  const values = { now, limit, leaseMs, reviewMs }
  const sql = `SELECT job_id AS jobId FROM jobs WHERE ${condition} ORDER BY ${since}, number LIMIT :limit`
  const jobIds = (await tx.rows<{ jobId: string }>(sql, values)).map(({ jobId }) => jobId)
  const locked = await lockJobs(tx, jobIds, condition, values)
  const jobs = jobIds.flatMap((jobId) => locked.jobs.get(jobId) ?? [])
  return endRuns(
    tx,
    locked,
    jobs.map((job, index) => ({ job, end: decide(job, index, now) })),
    now,
  )
}

async function sweepLost(tx: Writing, command: SweepCommand): Promise<SweepOutcome> {
  const { leaseMs, random, limit } = command
  tx.send(`UPDATE jobs SET lease_until = :now::bigint + :leaseMs WHERE ${tooLong}`, { now: await tx.nowMs(), leaseMs })
  const ended = await endAll(tx, ranOut, 'lease_until', command, (job, index, nowMs) =>
    decideLoss(toRunState(job), spreadJitter(random, index), nowMs),
  )
  const count = (status: Job['status']): number => ended.filter((job) => job.status === status).length
  const [requeued, failed, reviewed, expired] = (['queued', 'failed', 'needs_review', 'canceled'] as const).map(count)
  return { ...nothingSwept, ...({ requeued, failed, reviewed, expired } as SweepOutcome), more: ended.length === limit }
}

async function sweepDeadlines(tx: Writing, command: SweepCommand): Promise<SweepOutcome> {
  const { length: expired } = await endAll(tx, passed, 'deadline_at', command, (job) => decideDeadline(toRunState(job)))
  return { ...nothingSwept, expired, more: expired === command.limit }
}

async function sweepReviews(tx: Writing, command: SweepCommand): Promise<SweepOutcome> {
  const { length: released } = await endAll(tx, stale, 'finished_at', command, (job) =>
    decideReview(0, toErrorCode(job)),
  )
  return { ...nothingSwept, released, more: released === command.limit }
}

async function wake(tx: Writing, { limit }: SweepCommand): Promise<SweepOutcome> {
  const rows = await tx.rows<{ jobId: string }>(
    `UPDATE jobs SET available_at = NULL WHERE number IN (
       SELECT number FROM jobs WHERE ${ready} ORDER BY available_at, number LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED) RETURNING job_id AS jobId`,
    { now: await tx.nowMs(), limit },
  )
  for (const { jobId } of rows) tx.queued(jobId)
  return { ...nothingSwept, woken: rows.length, more: rows.length === limit }
}

async function sweepOldDeliveries(tx: Writing, { limit }: SweepCommand): Promise<SweepOutcome> {
  const done = await sweepDeliveries(tx, limit)
  return { ...nothingSwept, ...done, more: Object.values(done).includes(limit) }
}

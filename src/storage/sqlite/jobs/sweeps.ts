// Sweeps: expired leases, deadlines of queued jobs, due retries, expired reviews.
import { keptDeliveryMs } from '../../../core/accounts/webhook.ts'
import type { JobStatus } from '../../../core/jobs/job.ts'
import { longestBackoffMs, spreadJitter } from '../../../core/jobs/loss.ts'
import { decideDeadline, decideLoss, decideReview } from '../../../core/jobs/run-end.ts'
import { nothingSwept, type SweepCommand, type SweepOutcome, type SweepTerms } from '../../../core/jobs/sweep.ts'
import { selectStates, toErrorCode, toRunState, type JobState } from '../../job-rows.ts'
import type { Connection } from '../connection.ts'
import type { Writing } from '../threads/writing.ts'
import { createDeliverySweep, deliveriesToSweep } from '../webhooks/deliveries.ts'
import { createRunEnds } from './run-ends.ts'

// What is looked for.
const tooLong = "status = 'running' AND lease_until > :latestLease"
const ranOut = "status = 'running' AND lease_until <= :now"
const passed = "status = 'queued' AND deadline_at IS NOT NULL AND deadline_at <= :now"
const stale = "status = 'needs_review' AND finished_at <= :oldestReview"
// A wait longer than the maximum began before the clock went back.
const ready = 'available_at IS NOT NULL AND (available_at <= :now OR available_at > :latestRetry)'

/** The steps of a sweep, with what they look for; each is a command, so that others run between them. */
const steps = {
  sweepLost: [`jobs WHERE ${tooLong}`, `jobs WHERE ${ranOut}`],
  sweepDeadlines: [`jobs WHERE ${passed}`],
  sweepReviews: [`jobs WHERE ${stale}`],
  sweepRetries: [`jobs WHERE ${ready}`],
  sweepDeliveries: deliveriesToSweep,
}

type SweepStep = keyof typeof steps
export const sweepSteps = Object.keys(steps) as SweepStep[]

/** Creates the read of the steps that have something to do. It runs every second, and mostly there is nothing to write. */
export function createSweepReads(db: Connection, nowMs: () => number) {
  const columns = Object.entries(steps).map(
    ([step, found]) => `${found.map((rows) => `EXISTS (SELECT 1 FROM ${rows})`).join(' OR ')} AS ${step}`,
  )
  const find = db.prepare<object, Record<SweepStep, 0 | 1>>(`SELECT ${columns.join(', ')}`)
  return {
    findSweepSteps({ leaseMs, reviewMs }: SweepTerms): SweepStep[] {
      const now = nowMs()
      const found = find.get({
        now,
        latestLease: now + leaseMs,
        oldestReview: now - reviewMs,
        latestRetry: now + longestBackoffMs,
        oldestDelivery: now - keptDeliveryMs,
      })
      return sweepSteps.filter((step) => found?.[step] === 1)
    },
  }
}

export function createSweepCommands(writing: Writing) {
  const { db, nowMs } = writing
  const sweepLost = createLostSweep(writing)
  const sweepQueued = createDeadlineSweep(writing)
  const sweepReviews = createReviewSweep(writing)
  const wake = createWaking(writing)
  const sweepDeliveries = createDeliverySweep(writing)
  const dropLeases = db.prepare<[number, string]>(
    `UPDATE jobs SET lease_until = min(lease_until, ?) WHERE status = 'running' AND worker IN (SELECT value FROM json_each(?))`,
  )
  const dropLead = db.prepare<[string]>('DELETE FROM leaders WHERE holder IN (SELECT value FROM json_each(?))')

  return {
    endLeases(workers: readonly string[]): number {
      dropLead.run(JSON.stringify(workers))
      return dropLeases.run(nowMs(), JSON.stringify(workers)).changes
    },
    sweepLost(command: SweepCommand): SweepOutcome {
      const { queued: requeued, failed, needs_review: reviewed, canceled: expired, seen } = sweepLost(command)
      return { ...nothingSwept, requeued, failed, reviewed, expired, more: seen === command.limit }
    },
    sweepDeadlines({ limit }: SweepCommand): SweepOutcome {
      const expired = sweepQueued(limit)
      return { ...nothingSwept, expired, more: expired === limit }
    },
    sweepReviews(command: SweepCommand): SweepOutcome {
      const released = sweepReviews(command)
      return { ...nothingSwept, released, more: released === command.limit }
    },
    sweepRetries({ limit }: SweepCommand): SweepOutcome {
      const woken = wake(limit)
      return { ...nothingSwept, woken, more: woken === limit }
    },
    sweepDeliveries({ limit }: SweepCommand): SweepOutcome {
      const done = sweepDeliveries(limit)
      return { ...nothingSwept, ...done, more: Object.values(done).includes(limit) }
    },
  }
}

/** Finds jobs, those first that have waited longest. */
function createFinder(db: Connection, condition: string, since: string) {
  return db.prepare<Readonly<Record<string, number>>, JobState>(
    `${selectStates} WHERE ${condition} ORDER BY ${since}, number LIMIT :limit`,
  )
}

type Lost = Record<Extract<JobStatus, 'queued' | 'failed' | 'needs_review' | 'canceled'> | 'seen', number>

function createLostSweep(writing: Writing): (command: SweepCommand) => Lost {
  const { db, nowMs } = writing
  const endRun = createRunEnds(writing)
  const cut = db.prepare<{ latestLease: number }>(`UPDATE jobs SET lease_until = :latestLease WHERE ${tooLong}`)
  const findLost = createFinder(db, ranOut, 'lease_until')
  return ({ leaseMs, limit, random }) => {
    cut.run({ latestLease: nowMs() + leaseMs })
    const counts: Lost = { queued: 0, failed: 0, needs_review: 0, canceled: 0, seen: 0 }
    for (const [index, job] of findLost.all({ now: nowMs(), limit }).entries()) {
      const { status } = endRun(job, decideLoss(toRunState(job), spreadJitter(random, index), nowMs()))
      counts[status as keyof Lost] += 1
      counts.seen += 1
    }
    return counts
  }
}

function createDeadlineSweep(writing: Writing): (limit: number) => number {
  const { db, nowMs } = writing
  const endRun = createRunEnds(writing)
  const find = createFinder(db, passed, 'deadline_at')
  return (limit) => {
    const jobs = find.all({ now: nowMs(), limit })
    for (const job of jobs) endRun(job, decideDeadline(toRunState(job)))
    return jobs.length
  }
}

function createReviewSweep(writing: Writing): (command: SweepCommand) => number {
  const { db, nowMs } = writing
  const endRun = createRunEnds(writing)
  const find = createFinder(db, stale, 'finished_at')
  return ({ reviewMs, limit }) => {
    const jobs = find.all({ oldestReview: nowMs() - reviewMs, limit })
    for (const job of jobs) endRun(job, decideReview(0, toErrorCode(job)))
    return jobs.length
  }
}

function createWaking({ db, nowMs, changed }: Writing): (limit: number) => number {
  const wake = db
    .prepare<{ now: number; latestRetry: number; limit: number }, string>(
      `UPDATE jobs SET available_at = NULL WHERE number IN (
         SELECT number FROM jobs WHERE ${ready} ORDER BY available_at, number LIMIT :limit) RETURNING job_id`,
    )
    .pluck()
  return (limit) => {
    const jobIds = wake.all({ now: nowMs(), latestRetry: nowMs() + longestBackoffMs, limit })
    for (const jobId of jobIds) changed(jobId)
    return jobIds.length
  }
}

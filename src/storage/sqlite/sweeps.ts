// Sweeps: expired leases, deadlines of queued jobs, due retries, expired reviews.
import type { JobStatus } from '../../core/job.ts'
import { longestBackoffMs, spreadJitter } from '../../core/loss.ts'
import { decideDeadline, decideLoss, decideReview } from '../../core/run-end.ts'
import { nothingSwept, type SweepCommand, type SweepOutcome } from '../../core/sweep.ts'
import { createDeliverySweep } from './deliveries.ts'
import { hasOutputs, selectStates, type JobState } from './jobs.ts'
import { createRunEnds, toRunState } from './run-ends.ts'
import type { Writing } from './writing.ts'

/** The duties of a sweep; each is a command, so that others come between them. */
export const sweepDuties = ['sweepLost', 'sweepDeadlines', 'sweepReviews', 'sweepRetries', 'sweepDeliveries'] as const

/** Creates the sweep commands. */
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

type Lost = Record<Extract<JobStatus, 'queued' | 'failed' | 'needs_review' | 'canceled'> | 'seen', number>

function createLostSweep(writing: Writing): (command: SweepCommand) => Lost {
  const { db, nowMs } = writing
  const endRun = createRunEnds(writing)
  const cut = db.prepare<[number, number]>(
    "UPDATE jobs SET lease_until = ? WHERE status = 'running' AND lease_until > ?",
  )
  const ranOut = db.prepare<[number, number], JobState>(
    `${selectStates} WHERE status = 'running' AND lease_until <= ? ORDER BY lease_until, number LIMIT ?`,
  )
  return ({ leaseMs, limit, random }) => {
    cut.run(nowMs() + leaseMs, nowMs() + leaseMs)
    const counts: Lost = { queued: 0, failed: 0, needs_review: 0, canceled: 0, seen: 0 }
    for (const [index, job] of ranOut.all(nowMs(), limit).entries()) {
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
  const passed = db.prepare<[number, number], JobState>(
    `${selectStates} WHERE status = 'queued' AND deadline_at IS NOT NULL AND deadline_at <= ? ORDER BY deadline_at, number LIMIT ?`,
  )
  return (limit) => {
    const jobs = passed.all(nowMs(), limit)
    for (const job of jobs) endRun(job, decideDeadline(toRunState(job)))
    return jobs.length
  }
}

function createReviewSweep(writing: Writing): (command: SweepCommand) => number {
  const { db, nowMs } = writing
  const endRun = createRunEnds(writing)
  const stale = db.prepare<[number, number], JobState>(
    `${selectStates} WHERE status = 'needs_review' AND finished_at <= ? ORDER BY finished_at, number LIMIT ?`,
  )
  return ({ reviewMs, limit }) => {
    const jobs = stale.all(nowMs() - reviewMs, limit)
    for (const job of jobs) endRun(job, decideReview(0, hasOutputs(job)))
    return jobs.length
  }
}

function createWaking({ db, nowMs, changed }: Writing): (limit: number) => number {
  // A wait longer than the maximum began before the clock went back.
  const ready = db
    .prepare<[number, number, number], string>(
      `UPDATE jobs SET available_at = NULL WHERE number IN (
         SELECT number FROM jobs WHERE available_at IS NOT NULL AND (available_at <= ? OR available_at > ?)
         ORDER BY available_at, number LIMIT ?) RETURNING job_id`,
    )
    .pluck()
  return (limit) => {
    const jobIds = ready.all(nowMs(), nowMs() + longestBackoffMs, limit)
    for (const jobId of jobIds) changed(jobId)
    return jobIds.length
  }
}

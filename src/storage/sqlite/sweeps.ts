// Sweeps: expired leases, deadlines of queued jobs, due retries, expired reviews.
import type { JobStatus } from '../../core/job.ts'
import { longestBackoffMs, spreadJitter } from '../../core/loss.ts'
import { decideDeadline, decideLoss, decideReview } from '../../core/run-end.ts'
import type { SweepCommand, SweepOutcome } from '../../core/store.ts'
import { createDeliverySweep } from './deliveries.ts'
import { selectStates, type JobState } from './jobs.ts'
import { createRunEnds, toRunState } from './run-ends.ts'
import type { Writing } from './writing.ts'

/** Creates the sweep commands. */
export function createSweepCommands(writing: Writing) {
  const { db, nowMs } = writing
  const sweepLost = createLostSweep(writing)
  const sweepQueued = createDeadlineSweep(writing)
  const sweepReviews = createReviewSweep(writing)
  const wake = createWaking(writing)
  const sweepDeliveries = createDeliverySweep(writing)
  const dropLease = db.prepare<[number, string]>(
    "UPDATE jobs SET lease_until = min(lease_until, ?) WHERE status = 'running' AND worker = ?",
  )

  return {
    endLeases(workers: readonly string[]): number {
      return workers.reduce((ended, worker) => ended + dropLease.run(nowMs(), worker).changes, 0)
    },

    sweep(command: SweepCommand): SweepOutcome {
      const { limit } = command
      const lost = sweepLost(command)
      const expired = sweepQueued(limit)
      const released = sweepReviews(command)
      const woken = wake(limit)
      const { rebased, forgotten, dropped } = sweepDeliveries(limit)
      return {
        requeued: lost.queued,
        failed: lost.failed,
        reviewed: lost.needs_review,
        expired: expired + lost.canceled,
        released,
        woken,
        rebased,
        forgotten,
        dropped,
        more: [lost.seen, expired, released, woken, rebased, forgotten, dropped].includes(limit),
      }
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
    for (const job of jobs) endRun(job, decideReview(0))
    return jobs.length
  }
}

function createWaking({ db, nowMs, changed }: Writing): (limit: number) => number {
  // A wait longer than the maximum began before the clock went back.
  const due = db.prepare<[number, number, number], { number: number; jobId: string }>(
    `SELECT number, job_id AS jobId FROM jobs WHERE available_at IS NOT NULL AND (available_at <= ? OR available_at > ?)
     ORDER BY available_at, number LIMIT ?`,
  )
  const ready = db.prepare<[number]>('UPDATE jobs SET available_at = NULL WHERE number = ?')
  return (limit) => {
    const jobs = due.all(nowMs(), nowMs() + longestBackoffMs, limit)
    for (const { number, jobId } of jobs) {
      ready.run(number)
      changed(jobId)
    }
    return jobs.length
  }
}

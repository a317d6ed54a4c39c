// What becomes of a run that nobody will end any more: its worker is gone, or has given it up. docs/contract.md, section 1.
import type { JobError } from './job.ts'

const firstBackoffMs = 1000
/** No job waits longer than this before it is tried again. */
export const longestBackoffMs = 60_000

/** What the rule needs to know of a job that was running. */
export interface LostRun {
  readonly cancelRequested: boolean
  /** Whether its time is over. */
  readonly deadlinePassed: boolean
  /** Whether another run does no harm. */
  readonly resumable: boolean
  /** Runs that were lost before this one. */
  readonly lostRuns: number
  /** So many runs may be lost in all. */
  readonly maxAttempts: number
}

/** What becomes of the job. */
export type LossOutcome =
  | { readonly status: 'canceled' | 'failed' | 'needs_review'; readonly error: JobError }
  | { readonly status: 'queued' }

/** A job that was canceled before it was done. */
export const canceledError: JobError = {
  code: 'canceled',
  message: 'The job was canceled before it finished. Nothing was charged.',
  retryable: true,
}

/** A job that took longer than its client gave it. */
export const deadlineError: JobError = {
  code: 'deadline_passed',
  message: 'The job did not finish before its deadline. Nothing was charged.',
  retryable: true,
}

/** A job that was never begun within the time that its client gave it. */
export const expiredError: JobError = {
  code: 'expired',
  message: 'The job did not begin before its deadline. Nothing was charged.',
  retryable: true,
}

/** A job whose review nobody ended. */
export const releasedInReview: JobError = {
  code: 'outcome_unknown',
  message: 'The outcome of the job stayed unknown; its credits were released.',
  retryable: true,
}

const workerLostError: JobError = {
  code: 'worker_lost',
  message: 'The job lost its worker as often as its model allows. Nothing was charged.',
  retryable: true,
}

const unknownOutcomeError: JobError = {
  code: 'outcome_unknown',
  message:
    'The process that ran the job stopped, and its work may have cost money elsewhere. The credits stay held until an operator decides or the review period ends.',
  retryable: false,
}

/** Decides about a run whose worker is gone. What its owner wanted comes first; what may cost twice is never run twice. */
export function loseRun(run: LostRun): LossOutcome {
  if (run.lostRuns + 1 >= run.maxAttempts && run.resumable && !run.cancelRequested && !run.deadlinePassed)
    return { status: 'failed', error: workerLostError }
  return giveUpRun(run)
}

/** Decides about a run that its worker gives back because it stops: nothing was lost, so no attempt is used up. */
export function giveUpRun({ cancelRequested, deadlinePassed, resumable }: LostRun): LossOutcome {
  if (cancelRequested) return { status: 'canceled', error: canceledError }
  if (deadlinePassed) return { status: 'canceled', error: deadlineError }
  return resumable ? { status: 'queued' } : { status: 'needs_review', error: unknownOutcomeError }
}

/**
 * How long a job waits before it is tried again: twice as long after each loss, at most a minute, and spread over the
 * second half of that, so that jobs that were lost together do not come back together.
 * @param lostRuns runs lost so far, from 1
 * @param jitter 0 … 1
 */
export function backoffMs(lostRuns: number, jitter: number): number {
  const whole = Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(lostRuns - 1, 16))
  return Math.round(whole * (0.5 + jitter / 2))
}

/** Spreads one random number over many jobs: each next is a golden ratio further. */
export function spreadJitter(random: number, index: number): number {
  return (random + index * 0.618_033_988_749_895) % 1
}

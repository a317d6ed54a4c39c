// What becomes of a run whose worker is lost or has given it up. docs/contract.md, section 1.
import type { JobError } from './job.ts'

const firstBackoffMs = 1000
/** The longest wait before a retry. */
export const longestBackoffMs = 60_000

/** The facts about a running job that the rule needs. */
export interface LostRun {
  readonly cancelRequested: boolean
  /** Whether its deadline has passed. */
  readonly deadlinePassed: boolean
  /** Whether it may safely run again. */
  readonly resumable: boolean
  /** Number of runs lost before this one. */
  readonly lostRuns: number
  /** Number of runs that may be lost in total. */
  readonly maxAttempts: number
}

/** What becomes of the job. */
export type LossOutcome =
  | { readonly status: 'canceled' | 'failed' | 'needs_review'; readonly error: JobError }
  | { readonly status: 'queued' }

/** The error of a job that was canceled before it finished. */
export const canceledError: JobError = {
  code: 'canceled',
  message: 'The job was canceled before it finished. Nothing was charged.',
  retryable: true,
}

/** The error of a job that passed its deadline after it had begun. */
export const deadlineError: JobError = {
  code: 'deadline_passed',
  message: 'The job did not finish before its deadline. Nothing was charged.',
  retryable: true,
}

/** The error of a job that passed its deadline before it began. */
export const expiredError: JobError = {
  code: 'expired',
  message: 'The job did not begin before its deadline. Nothing was charged.',
  retryable: true,
}

/** The error of a job whose review ended without a decision. */
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

/** Decides about a run whose worker is lost. The owner's cancel and deadline come first; a run that may cost money elsewhere is never repeated. */
export function loseRun(run: LostRun): LossOutcome {
  if (run.lostRuns + 1 >= run.maxAttempts && run.resumable && !run.cancelRequested && !run.deadlinePassed)
    return { status: 'failed', error: workerLostError }
  return giveUpRun(run)
}

/** Decides about a run that its stopping worker gives back: nothing was lost, so no attempt is used up. */
export function giveUpRun({ cancelRequested, deadlinePassed, resumable }: LostRun): LossOutcome {
  if (cancelRequested) return { status: 'canceled', error: canceledError }
  if (deadlinePassed) return { status: 'canceled', error: deadlineError }
  return resumable ? { status: 'queued' } : { status: 'needs_review', error: unknownOutcomeError }
}

/**
 * The wait before a retry: exponential backoff, at most a minute, with jitter over the second half, so jobs that were lost
 * together do not retry together.
 * @param lostRuns runs lost so far, from 1
 * @param jitter 0 … 1
 */
export function backoffMs(lostRuns: number, jitter: number): number {
  const whole = Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(lostRuns - 1, 16))
  return Math.round(whole * (0.5 + jitter / 2))
}

/** Derives the jitter of many jobs from one random number: each step adds the golden ratio. */
export function spreadJitter(random: number, index: number): number {
  return (random + index * 0.618_033_988_749_895) % 1
}

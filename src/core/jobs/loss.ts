// The errors of jobs that end without success, and the wait before a retry. run-end.ts decides which applies.
import type { JobError } from './job.ts'

const firstBackoffMs = 1000
export const longestBackoffMs = 60_000

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

const releasedInReview: JobError = {
  code: 'outcome_unknown',
  message: 'The outcome of the job stayed unknown; its credits were released.',
  retryable: true,
}

// Why the others were under review.
const releasedErrors: ReadonlyMap<string, JobError> = new Map(
  Object.entries({
    usage_unknown: 'What the job made has no known price; it was not delivered, and its credits were released.',
    output_invalid:
      'Of what the job made not every file can be served; none was delivered, and its credits were released.',
    output_unsigned: 'What the job made could not be signed; it was not delivered, and its credits were released.',
    output_unavailable: 'What the job made could not be fetched; nothing was delivered, and its credits were released.',
  }).map(([code, message]) => [code, { code, message, retryable: true }]),
)

/** The error of a job that was released in its review, or whose review ended without a decision; `code` is why it was under review. */
export function releasedError(code: string | null): JobError {
  return releasedErrors.get(code ?? '') ?? releasedInReview
}

/** The error of a job whose submissions were lost too often. */
export const submissionLostError: JobError = {
  code: 'submission_lost',
  message: 'The provider lost the job too many times. Nothing was charged.',
  retryable: true,
}

/** The error of a job that lost too many runs. */
export const workerLostError: JobError = {
  code: 'worker_lost',
  message: 'The job lost its worker too many times. Nothing was charged.',
  retryable: true,
}

/** The error of a job under review. */
export const unknownOutcomeError: JobError = {
  code: 'outcome_unknown',
  message:
    'Nobody knows yet how the run ended, and its work may have cost money elsewhere. The credits stay held until that is known, an operator decides, or the review period ends.',
  retryable: false,
}

/** The error of a job under review whose work is done. */
export const usageUnknownError: JobError = {
  code: 'usage_unknown',
  message:
    'The work is done, but nobody reported the usage that its price is computed from. The credits stay held until an operator decides, or the review period ends.',
  retryable: false,
}

/**
 * The wait before a retry: exponential backoff, at most a minute, with jitter over the second half, so jobs that were lost
 * together do not retry together.
 * @param lostRuns runs lost or failed so far, from 1
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

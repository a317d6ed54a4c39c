// The reviews of runs that another server was paid for.
import type { Asset } from '../core/files/asset.ts'
import type { JobOutcome } from '../core/jobs/job.ts'

/** The outcome of a run that another server was paid for, and whose outputs are not all there. */
export function review(outputs: readonly Asset[], code: string, words: string): JobOutcome {
  const message = `${words} The credits stay held until an operator decides, or the review period ends.`
  return { status: 'needs_review', outputs, error: { code, message, retryable: false } }
}

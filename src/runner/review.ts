// The reviews of runs whose work is done, and whose outputs may not all be delivered.
import type { Asset } from '../core/files/asset.ts'
import type { JobOutcome } from '../core/jobs/job.ts'

/** The outcome of a run whose outputs are not all there, or not as the operator wants them. */
export function review(outputs: readonly Asset[], code: string, words: string): JobOutcome {
  const message = `${words} The credits stay held until an operator decides, or the review period ends.`
  return { status: 'needs_review', outputs, error: { code, message, retryable: false } }
}

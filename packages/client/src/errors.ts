// What can go wrong: the server refused, it could not be reached, the price was too high, or the job did not succeed.
import type { Job, Problem, Quote } from './records.ts'

/** The server refused the request. Branch on `code`; https://<server>/problems lists all of them. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: string
  readonly problem: Problem
  /** Seconds to wait before the next try, where the server says so. */
  readonly retryAfterSeconds: number | null
  /** Of a start that may have been made: `generate` with this key, the same model and input resumes it and pays nothing again. */
  idempotencyKey: string | null = null

  constructor(problem: Problem, retryAfterSeconds: number | null = null) {
    super(problem.detail)
    this.code = problem.code
    this.problem = problem
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** No answer came: the request may or may not have arrived. Starts with the same idempotency key can be repeated. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly code = 'unreachable'
  /** As of `Refused`. */
  idempotencyKey: string | null = null

  constructor(url: string, cause: unknown) {
    super(`No answer came from ${url}.`, { cause })
  }
}

/** The quote is above the limit that the caller set. Nothing was started. */
export class TooExpensive extends Error {
  override readonly name = 'TooExpensive'
  readonly code = 'too_expensive'
  readonly quote: Quote

  constructor(quote: Quote, maxCredits: number) {
    super(
      `This costs ${quote.credits} ${quote.credits === 1 ? 'credit' : 'credits'}, which is more than the limit of ${maxCredits}. Nothing was started.`,
    )
    this.quote = quote
  }
}

/** The job ended without outputs, or waits for a review. `job.billing` says what was charged. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed'
  /** The code of the job's error, or its status if it has none. */
  readonly code: string
  readonly job: Job

  constructor(job: Job) {
    super(job.error?.message ?? `The job is ${job.status}.`)
    this.code = job.error?.code ?? job.status
    this.job = job
  }
}

/** Whether the very same request may succeed later. Until it is answered otherwise, a start may have been made. */
export function mayPass(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Refused && error.problem.retryable)
}

// What went wrong, as the AI SDK decides by it whether to repeat a call.
import { APICallError } from '@ai-sdk/provider'
import { JobFailed, mayPass, Refused, Unreachable } from '@mediagen/client/errors.ts'

/** A request, as errors name it. */
export interface Sent {
  readonly url: string
  readonly requestBodyValues: unknown
}

/**
 * An error for the AI SDK. It is retryable only where the same request with the same idempotency key may succeed, which makes
 * no second job: no answer came, or the server says that it passes.
 */
export function toCallError(error: unknown, sent: Sent): unknown {
  if (error instanceof Refused) {
    const { problem, retryAfterSeconds } = error
    return new APICallError({
      ...sent,
      message: problem.detail,
      statusCode: problem.status,
      ...(retryAfterSeconds !== null && { responseHeaders: { 'retry-after': String(retryAfterSeconds) } }),
      responseBody: JSON.stringify(problem),
      data: problem,
      isRetryable: mayPass(error),
      cause: error,
    })
  }
  if (error instanceof Unreachable)
    return new APICallError({ ...sent, message: error.message, isRetryable: true, cause: error })
  if (error instanceof JobFailed) {
    const { job, code, message } = error
    const data = { code, jobId: job.job_id, quoted: job.billing.quoted, charged: job.billing.charged }
    return new APICallError({ ...sent, message, data, isRetryable: false, cause: error })
  }
  return error
}

/** The file of a job that succeeded did not come. Repeated, the call gets the job that is paid. */
export function toDownloadError(error: unknown, jobId: string, sent: Sent): APICallError {
  const why = error instanceof Error ? error.message : String(error)
  return new APICallError({
    ...sent,
    message: `Job ${jobId} succeeded, but its file did not come: ${why}`,
    // So `fetch` fails when a connection does.
    isRetryable: error instanceof TypeError,
    cause: error,
  })
}

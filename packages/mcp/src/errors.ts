// What went wrong, as the result of a tool: our code, the sentence that teaches, and each wrong field. Never a stack.
import { Refused, TooExpensive, Unreachable } from '@mediagen/client/client.ts'
import type { Facts } from './records.ts'

/** Turns what a client throws into facts; null for what is a defect of this program. */
export function toErrorFacts(error: unknown): Facts | null {
  if (error instanceof TooExpensive)
    return { code: error.code, message: error.message, retryable: false, credits: error.quote.credits }
  if (error instanceof Unreachable) return { code: error.code, message: error.message, retryable: true }
  if (!(error instanceof Refused)) return null
  const { code, detail: message, retryable, errors, required, available, permission } = error.problem
  const retry_after_seconds = error.retryAfterSeconds ?? undefined
  return { code, message, retryable, errors, required, available, permission, retry_after_seconds }
}

/** Arguments that a tool does not take. */
export function toViolationFacts(issues: readonly { path: readonly PropertyKey[]; message: string }[]): Facts {
  const errors = issues.map(({ path, message: detail }) => ({
    pointer: path.map((at) => `/${String(at)}`).join(''),
    detail,
  }))
  return { code: 'invalid_request', message: 'The arguments of the call are wrong.', retryable: false, errors }
}

/** A defect of this program. */
export const unexpected: Facts = {
  code: 'internal',
  message: 'This failed unexpectedly. Repeat it with the same arguments.',
  retryable: true,
}

// What went wrong, as the result of a tool: our code, the sentence that teaches, and each wrong field. Never a stack.
import { Refused, TooExpensive, Unreachable } from '@mediagen/client/client.ts'
import type { Facts } from './records.ts'

// Refusals quote what was sent, which would fill an agent's memory.
const longestText = 500
const mostErrors = 20

/** A text that an agent can afford to read; a longer one is cut. */
export function abridgeText(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}… (${text.length} characters)`
}

/** Turns what a client throws into facts; null for what is a defect of this program. */
export function toErrorFacts(error: unknown): Facts | null {
  if (error instanceof TooExpensive)
    return { code: error.code, message: error.message, retryable: false, credits: error.quote.credits }
  if (error instanceof Unreachable) return { code: error.code, message: error.message, retryable: true }
  if (!(error instanceof Refused)) return null
  const { code, detail, retryable, required, available, top_up_url, permission } = error.problem
  const message = abridgeText(detail)
  const errors = error.problem.errors && abridgeErrors(error.problem.errors)
  const retry_after_seconds = error.retryAfterSeconds ?? undefined
  return { code, message, retryable, errors, required, available, top_up_url, permission, retry_after_seconds }
}

/** Arguments that a tool does not take. */
export function toViolationFacts(issues: readonly { path: readonly PropertyKey[]; message: string }[]): Facts {
  const errors = abridgeErrors(
    issues.map(({ path, message: detail }) => ({ pointer: path.map((at) => `/${String(at)}`).join(''), detail })),
  )
  return { code: 'invalid_request', message: 'The arguments of the call are wrong.', retryable: false, errors }
}

function abridgeErrors(errors: readonly { readonly pointer: string; readonly detail: string }[]) {
  return errors
    .slice(0, mostErrors)
    .map(({ pointer, detail }) => ({ pointer: abridgeText(pointer), detail: abridgeText(detail) }))
}

/** A defect of this program. */
export const unexpected: Facts = {
  code: 'internal',
  message: 'This failed unexpectedly. Repeat it with the same arguments.',
  retryable: true,
}

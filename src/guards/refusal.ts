// Refusals by guards as errors of ours.
import { MediagenError } from '../core/errors.ts'
import { cutText } from '../core/log-text.ts'
import { describeViolations } from '../core/violations.ts'
import { GuardError } from './guard-error.ts'

/** Whether a thrown value is meant for the client. */
export function isRefusal(thrown: unknown): thrown is MediagenError | GuardError {
  return thrown instanceof MediagenError || thrown instanceof GuardError
}

/** A refusal as an error of ours; the message of a guard may quote what the client sent, and is cut. */
export function toRefusal(refusal: MediagenError | GuardError): MediagenError {
  if (refusal instanceof MediagenError) return refusal
  const { code, message, retryAfterSeconds, violations, cause } = refusal
  if (violations.length > 0) return new MediagenError(code, describeViolations(violations), { violations }, { cause })
  return new MediagenError(code, cutText(message), retryAfterSeconds === null ? {} : { retryAfterSeconds }, { cause })
}

// Every error that a caller may see. docs/contract.md, section 3, has the table; a new code does not compile until each
// door has a row for it: gateway/problem-kinds.ts and rpc/errors.ts.

import type { LimitState } from './accounts/limits.ts'

/** The stable, machine-readable name of an error. Clients branch on it. */
export type ErrorCode =
  | 'invalid_request'
  | 'unsupported_media_type'
  | 'invalid_input'
  | 'invalid_media'
  | 'idempotency_key_required'
  | 'idempotency_key_invalid'
  | 'authentication_required'
  | 'invalid_api_key'
  | 'insufficient_credits'
  | 'budget_exceeded'
  | 'price_above_maximum'
  | 'max_credits_required'
  | 'missing_permission'
  | 'account_frozen'
  | 'model_not_allowed'
  | 'origin_not_allowed'
  | 'sign_in_refused'
  | 'route_not_found'
  | 'model_not_found'
  | 'job_not_found'
  | 'quote_not_found'
  | 'account_not_found'
  | 'key_not_found'
  | 'asset_not_found'
  | 'file_not_found'
  | 'webhook_not_found'
  | 'delivery_not_found'
  | 'session_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'quote_expired'
  | 'quote_mismatch'
  | 'idempotency_key_reused'
  | 'reference_reused'
  | 'account_closed'
  | 'job_not_in_review'
  | 'job_not_ended'
  | 'too_many_webhooks'
  | 'too_many_uploads'
  | 'payload_too_large'
  | 'rate_limited'
  | 'too_many_jobs'
  | 'internal'
  | 'model_unavailable'
  | 'model_ended'
  | 'generation_failed'
  | 'generation_unfinished'
  | 'shutting_down'
  | 'sign_in_unavailable'
  | 'overloaded'
  | 'storage_unavailable'

/** Whether the very same request may succeed later without any change, for each code. */
export const retryable = {
  invalid_request: false,
  unsupported_media_type: false,
  invalid_input: false,
  invalid_media: false,
  idempotency_key_required: false,
  idempotency_key_invalid: false,
  authentication_required: false,
  invalid_api_key: false,
  insufficient_credits: false,
  budget_exceeded: false,
  price_above_maximum: false,
  max_credits_required: false,
  missing_permission: false,
  account_frozen: false,
  model_not_allowed: false,
  origin_not_allowed: false,
  sign_in_refused: false,
  route_not_found: false,
  model_not_found: false,
  job_not_found: false,
  quote_not_found: false,
  account_not_found: false,
  key_not_found: false,
  asset_not_found: false,
  file_not_found: false,
  webhook_not_found: false,
  delivery_not_found: false,
  session_not_found: false,
  method_not_allowed: false,
  request_timeout: true,
  quote_expired: false,
  quote_mismatch: false,
  idempotency_key_reused: false,
  reference_reused: false,
  account_closed: false,
  job_not_in_review: false,
  job_not_ended: false,
  too_many_webhooks: false,
  too_many_uploads: false,
  payload_too_large: false,
  rate_limited: true,
  too_many_jobs: true,
  internal: true,
  model_unavailable: true,
  model_ended: false,
  generation_failed: false,
  generation_unfinished: false,
  shutting_down: true,
  sign_in_unavailable: true,
  overloaded: true,
  storage_unavailable: true,
} as const satisfies Record<ErrorCode, boolean>

/** One fault of a request. */
export interface Violation {
  /** JSON pointer (RFC 6901) into the request body, or `?name` for a query parameter. */
  readonly pointer: string
  /** What is wrong there, in words. */
  readonly detail: string
}

/** Details that travel with an error, besides its code and message. */
export interface ErrorDetails {
  /** All faults, where there can be several at once. */
  readonly violations?: readonly Violation[]
  /** `insufficient_credits`, `budget_exceeded`, `price_above_maximum`: credits that the start needs. */
  readonly required?: number
  /** `insufficient_credits`: credits that are free. */
  readonly available?: number
  /** `insufficient_credits`: where the account buys credits, where the server knows it. */
  readonly topUpUrl?: string
  /** `budget_exceeded`: the limit that the start would exceed. */
  readonly budget?: LimitState
  /** `missing_permission`: the permission that the key lacks. */
  readonly permission?: string
  /** `model_ended`: id of the model to use instead, where there is one. */
  readonly replacedBy?: string
  /** `rate_limited`, `too_many_jobs`, `shutting_down`, `sign_in_unavailable`: seconds to wait before the next try. */
  readonly retryAfterSeconds?: number
}

/** The one error class whose message a caller may read. Any other thrown value is a bug and is answered as `internal`. */
export class MediagenError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    // The message says what is wrong. Only a bug needs a stack, and capturing one makes a refusal expensive.
    const { stackTraceLimit } = Error
    if (code !== 'internal') Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'MediagenError'
    this.code = code
    this.details = details
  }
}

/** A refusal at start-up that an operator has to fix: printed as one sentence, without a stack, exit status 1. */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}

/** Whether `text` is one of our error codes. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(retryable, text)
}

/** The message as it travels over gRPC: tools such as `buf curl` print only the message, so the code comes first in it. */
export function withCode({ code, message }: MediagenError): string {
  return `${code}: ${message}`
}

/** A message that travelled, without its code. */
export function withoutCode(message: string): string {
  const end = message.indexOf(': ')
  return isErrorCode(message.slice(0, Math.max(end, 0))) ? message.slice(end + 2) : message
}

// The error of a guard that refuses something that a client sent.
import type { SchemaViolation } from '../schema/violations.ts'

/** What is wrong, by the name that clients get. */
export type GuardCode = 'invalid_request' | 'payload_too_large' | 'request_timeout' | 'rate_limited' | 'overloaded'

/** A refusal by a guard; its message is for the client. */
export class GuardError extends Error {
  readonly code: GuardCode
  /** When the client may try again; null if it makes no difference. */
  readonly retryAfterSeconds: number | null
  /** All places that are wrong, where several can be. */
  readonly violations: readonly SchemaViolation[]

  constructor(
    code: GuardCode,
    message: string,
    retryAfterSeconds: number | null = null,
    options: ErrorOptions & { readonly violations?: readonly SchemaViolation[] } = {},
  ) {
    // A refusal needs no stack, and capturing one makes it several times as expensive.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'GuardError'
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
    this.violations = options.violations ?? []
  }
}

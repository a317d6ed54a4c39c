// How an error leaves a service: a ConnectError that carries our code as a typed detail, the same at all three doors.
import { Code, ConnectError } from '@connectrpc/connect'
import { errorToJson } from '@connectrpc/connect/protocol-connect'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { type ErrorCode, MediagenError, retryable, withCode } from '../core/errors.ts'
import { isStorageTrouble, storageUnavailable } from '../core/storage-trouble.ts'
import { toLimitStateMessage } from '../services/messages/limits.ts'

/** The gRPC status of each error. */
export const grpcCodes = {
  invalid_request: Code.InvalidArgument,
  unsupported_media_type: Code.InvalidArgument,
  invalid_input: Code.InvalidArgument,
  invalid_media: Code.InvalidArgument,
  idempotency_key_required: Code.InvalidArgument,
  idempotency_key_invalid: Code.InvalidArgument,
  authentication_required: Code.Unauthenticated,
  invalid_api_key: Code.Unauthenticated,
  insufficient_credits: Code.FailedPrecondition,
  budget_exceeded: Code.FailedPrecondition,
  price_above_maximum: Code.FailedPrecondition,
  max_credits_required: Code.FailedPrecondition,
  missing_permission: Code.PermissionDenied,
  account_frozen: Code.PermissionDenied,
  model_not_allowed: Code.PermissionDenied,
  origin_not_allowed: Code.PermissionDenied,
  sign_in_refused: Code.PermissionDenied,
  route_not_found: Code.NotFound,
  model_not_found: Code.NotFound,
  job_not_found: Code.NotFound,
  quote_not_found: Code.NotFound,
  account_not_found: Code.NotFound,
  key_not_found: Code.NotFound,
  asset_not_found: Code.NotFound,
  file_not_found: Code.NotFound,
  webhook_not_found: Code.NotFound,
  delivery_not_found: Code.NotFound,
  session_not_found: Code.NotFound,
  method_not_allowed: Code.Unimplemented,
  request_timeout: Code.DeadlineExceeded,
  quote_expired: Code.FailedPrecondition,
  quote_mismatch: Code.FailedPrecondition,
  idempotency_key_reused: Code.AlreadyExists,
  reference_reused: Code.AlreadyExists,
  account_closed: Code.FailedPrecondition,
  job_not_in_review: Code.FailedPrecondition,
  job_not_ended: Code.FailedPrecondition,
  too_many_webhooks: Code.FailedPrecondition,
  too_many_uploads: Code.FailedPrecondition,
  payload_too_large: Code.ResourceExhausted,
  rate_limited: Code.ResourceExhausted,
  too_many_jobs: Code.ResourceExhausted,
  internal: Code.Internal,
  model_unavailable: Code.Unavailable,
  model_ended: Code.FailedPrecondition,
  generation_failed: Code.Aborted,
  generation_unfinished: Code.DeadlineExceeded,
  shutting_down: Code.Unavailable,
  sign_in_unavailable: Code.Unavailable,
  overloaded: Code.Unavailable,
  storage_unavailable: Code.Unavailable,
} as const satisfies Record<ErrorCode, Code>

/** The error that a caller gets for a thrown value: our own errors as they are, `storage_unavailable` for trouble of the disk, else `internal` without its cause. */
export function toMediagenError(thrown: unknown): MediagenError {
  if (thrown instanceof MediagenError) return thrown
  if (isStorageTrouble(thrown)) return storageUnavailable(thrown)
  return new MediagenError(
    'internal',
    'Something went wrong on this server. Its log holds the cause under the request id.',
    {},
    { cause: thrown },
  )
}

/** The error as it is sent. */
export function toConnectError(error: MediagenError, requestId: string): ConnectError {
  const {
    violations = [],
    required,
    available,
    topUpUrl,
    budget,
    permission,
    replacedBy,
    retryAfterSeconds,
  } = error.details
  const value = {
    code: error.code,
    violations: violations.map((violation) => ({ ...violation })),
    ...(required !== undefined && { required: BigInt(required) }),
    ...(available !== undefined && { available: BigInt(available) }),
    ...(topUpUrl !== undefined && { topUpUrl }),
    ...(budget !== undefined && { budget: toLimitStateMessage(budget) }),
    ...(permission !== undefined && { permission }),
    ...(replacedBy !== undefined && { replacedBy }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    retryable: retryable[error.code],
    requestId,
  }
  const metadata = {
    'x-request-id': requestId,
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  }
  // Its stack would only point to this line.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const sent = new ConnectError(withCode(error), grpcCodes[error.code], metadata, [{ desc: ErrorDetailSchema, value }])
  Error.stackTraceLimit = stackTraceLimit
  return sent
}

/** The error in the form of the Connect protocol, for answers to requests that do not reach Connect. */
export function toConnectJson(error: MediagenError): string {
  return JSON.stringify(errorToJson(toConnectError(error, ''), undefined))
}

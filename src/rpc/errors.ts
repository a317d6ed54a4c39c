// How an error leaves a service: a ConnectError that carries our code as a typed detail, the same at all three doors.
import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { errorKinds, type GrpcStatus, MediagenError } from '../core/errors.ts'
import { isStorageTrouble, storageUnavailable } from '../core/storage-trouble.ts'

const connectCodes = {
  INVALID_ARGUMENT: Code.InvalidArgument,
  UNAUTHENTICATED: Code.Unauthenticated,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  PERMISSION_DENIED: Code.PermissionDenied,
  NOT_FOUND: Code.NotFound,
  ALREADY_EXISTS: Code.AlreadyExists,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  INTERNAL: Code.Internal,
  UNAVAILABLE: Code.Unavailable,
  UNIMPLEMENTED: Code.Unimplemented,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
} as const satisfies Record<GrpcStatus, Code>

/** What a thrown value is to callers: itself when it is ours, trouble of the disk by its name, else a bug whose cause stays here. */
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

/** The error as it travels. */
export function toConnectError(error: MediagenError, requestId: string): ConnectError {
  const kind = errorKinds[error.code]
  const { violations = [], required, available, permission, retryAfterSeconds } = error.details
  const value = {
    code: error.code,
    violations: violations.map((violation) => ({ ...violation })),
    ...(required !== undefined && { required: BigInt(required) }),
    ...(available !== undefined && { available: BigInt(available) }),
    ...(permission !== undefined && { permission }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    retryable: kind.retryable,
    requestId,
  }
  const metadata = {
    'x-request-id': requestId,
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  }
  return new ConnectError(error.message, connectCodes[kind.grpc], metadata, [{ desc: ErrorDetailSchema, value }])
}

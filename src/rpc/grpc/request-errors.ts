// The errors of a request over gRPC that cannot be read.
import { GuardError } from '../../guards/guard-error.ts'

const retryGivenUpSeconds = 1

/** The request is missing or malformed. */
export function invalid(message: string, cause?: unknown): GuardError {
  return new GuardError('invalid_request', message, null, { cause })
}

/** The client ended the request in the middle of a message. */
export function brokeOff(): GuardError {
  return invalid('The request broke off before it was complete.')
}

/** The deadline that the client set passed meanwhile. */
export function passedDeadline(): GuardError {
  return new GuardError('request_timeout', 'The deadline passed before the request was complete.')
}

/** The request was dropped so that requests that hold fewer bytes have room. */
export function givenUp(): GuardError {
  return new GuardError(
    'overloaded',
    'Unfinished requests take all the memory that they may, and this one is the oldest. Send it again.',
    retryGivenUpSeconds,
  )
}

// Why the request of a call over gRPC cannot be read, in words for its client.
import { GuardError } from '../guard-error.ts'

const retryGivenUpSeconds = 1

/** A request that is none, or is not the one that the rpc takes. */
export function invalid(message: string): GuardError {
  return new GuardError('invalid_request', message)
}

/** The client ended the request in the middle of a message. */
export function brokeOff(): GuardError {
  return invalid('The request broke off before it was whole.')
}

/** The message is larger than this once it is inflated. */
export function tooLarge(maxBytes: number): GuardError {
  return new GuardError(
    'payload_too_large',
    `A request is larger than the ${maxBytes} bytes that this server takes, once it is inflated.`,
  )
}

/** The deadline that the client set passed meanwhile. */
export function passedDeadline(): GuardError {
  return new GuardError('request_timeout', 'The deadline passed before the request was whole.')
}

/** The request made room for others that hold less. */
export function givenUp(): GuardError {
  return new GuardError(
    'overloaded',
    'Unfinished requests take all the room that there is for them, and this one began first. Send it again.',
    retryGivenUpSeconds,
  )
}

// The errors of a request over gRPC that cannot be read.
import { MediagenError } from '../../core/errors.ts'
import { cutText } from '../../core/text/log-text.ts'

const retryGivenUpSeconds = 1

/** The request is missing or malformed. The message may quote it, and is cut. */
export function invalid(message: string, cause?: unknown): MediagenError {
  return new MediagenError('invalid_request', cutText(message), {}, { cause })
}

/** The client ended the request in the middle of a message. */
export function brokeOff(): MediagenError {
  return invalid('The request broke off before it was complete.')
}

/** The deadline that the client set passed meanwhile. */
export function passedDeadline(): MediagenError {
  return new MediagenError('request_timeout', 'The deadline passed before the request was complete.')
}

/** The request was dropped so that requests that hold fewer bytes have room. */
export function givenUp(): MediagenError {
  return new MediagenError(
    'overloaded',
    'Unfinished requests take all the memory that they may, and this one is the oldest. Send it again.',
    { retryAfterSeconds: retryGivenUpSeconds },
  )
}

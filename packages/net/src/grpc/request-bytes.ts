// A request from its bytes: bounded in size and in values before anything is made of it.
import { type DescMethod, fromBinary, type Message, toJson } from '@bufbuild/protobuf'
import { GuardError } from '../guard-error.ts'
import { tooManyValues } from '../json-values.ts'
import { countWireValues } from './wire-values.ts'

/** How much one request may be. */
export interface RequestBounds {
  /** As JSON, in bytes: one limit at every door. */
  readonly maxBodyBytes: number
  readonly maxValues: number
}

// What a value takes more than as JSON, at the most: the tags and lengths of its entry, its key and itself.
const valueOverhead = 16
const slackBytes = 1024

/** Length of the largest binary message that can be within the bounds. */
export function findLargestMessage({ maxBodyBytes, maxValues }: RequestBounds): number {
  return maxBodyBytes + maxValues * valueOverhead + slackBytes
}

/**
 * Makes a message of its bytes.
 * @throws GuardError `invalid_request` or `payload_too_large`
 */
export function decodeRequest(method: DescMethod, bytes: Uint8Array, bounds: RequestBounds): Message {
  const { maxBodyBytes, maxValues } = bounds
  const message = decode(method, bytes, maxValues)
  if (bytes.length > maxBodyBytes && measureJson(method, message) > maxBodyBytes + slackBytes)
    throw new GuardError(
      'payload_too_large',
      `The request is larger than the ${maxBodyBytes} bytes that this server takes.`,
    )
  return message
}

function decode({ input }: DescMethod, bytes: Uint8Array, maxValues: number): Message {
  try {
    if (countWireValues(input, bytes, maxValues) > maxValues) throw tooManyValues(maxValues)
    return fromBinary(input, bytes)
  } catch (error) {
    if (error instanceof GuardError) throw error
    const reason = error instanceof RangeError ? `: ${error.message}` : ''
    throw new GuardError('invalid_request', `The request is not a ${input.typeName}${reason}.`, null, { cause: error })
  }
}

/** Only asked of messages that are large, and by then hold no more than so many values. */
function measureJson({ input }: DescMethod, message: Message): number {
  return Buffer.byteLength(JSON.stringify(toJson(input, message)))
}

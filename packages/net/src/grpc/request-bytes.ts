// Decodes a request after checking its size and the number of its values.
import { type DescMethod, fromBinary, type Message, toJson } from '@bufbuild/protobuf'
import { GuardError } from '../guard-error.ts'
import { tooManyValues } from '../json-values.ts'
import { countWireValues } from './wire-values.ts'

/** The limits of one request. */
export interface RequestBounds {
  /** Size as JSON, in bytes; the same limit at every door. */
  readonly maxBodyBytes: number
  readonly maxValues: number
}

// How many bytes more than JSON a value takes at most: the tags and lengths of its entry, its key and itself.
const valueOverhead = 16
const slackBytes = 1024

/** Length of the largest binary message that can be within the limits. */
export function findLargestMessage({ maxBodyBytes, maxValues }: RequestBounds): number {
  return maxBodyBytes + maxValues * valueOverhead + slackBytes
}

/**
 * Decodes a message.
 * @throws GuardError `invalid_request` or `payload_too_large`
 */
export function decodeRequest(method: DescMethod, bytes: Uint8Array, bounds: RequestBounds): Message {
  const { maxBodyBytes, maxValues } = bounds
  const message = decode(method, bytes, maxValues)
  if (bytes.length > maxBodyBytes && measureJson(method, message) > maxBodyBytes + slackBytes)
    throw new GuardError(
      'payload_too_large',
      `The request is larger than the ${maxBodyBytes} bytes that this server accepts.`,
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

/** Called only for large messages, whose number of values was checked before. */
function measureJson({ input }: DescMethod, message: Message): number {
  return Buffer.byteLength(JSON.stringify(toJson(input, message)))
}

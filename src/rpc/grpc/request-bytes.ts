// Inflates and decodes a request, within bounds of its size and the number of its values.
import zlib from 'node:zlib'
import { type DescMethod, fromBinary, type Message, toJson } from '@bufbuild/protobuf'
import { MediagenError } from '../../core/errors.ts'
import { tooManyValues, weighMessage } from '../../guards/json-values.ts'
import { invalid } from './request-errors.ts'
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

/** The encodings of requests. */
export const encodings: readonly string[] = ['identity', 'deflate', 'gzip']

/**
 * Inflates a message.
 * @throws MediagenError `invalid_request`, or `payload_too_large` when it would be larger than `maxBytes`
 */
export async function inflate(encoding: string, bytes: Uint8Array, maxBytes: number): Promise<Buffer> {
  if (encoding === 'identity') throw invalid('A request is compressed, but does not say how.')
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const run = encoding === 'gzip' ? zlib.gunzip : zlib.inflate
  run(bytes, { maxOutputLength: maxBytes }, (error, inflated) => {
    if (!error) resolve(inflated)
    else reject(isTooLarge(error) ? tooLarge(maxBytes) : invalid(`A request is not valid ${encoding}.`, error))
  })
  return await promise
}

function isTooLarge({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_BUFFER_TOO_LARGE'
}

function tooLarge(maxBytes: number): MediagenError {
  return new MediagenError(
    'payload_too_large',
    `A request is larger than the ${maxBytes} bytes that this server accepts, once it is inflated.`,
  )
}

/**
 * Decodes a message.
 * @throws MediagenError `invalid_request` or `payload_too_large`
 */
export function decodeRequest(method: DescMethod, bytes: Uint8Array, bounds: RequestBounds): Message {
  const { maxBodyBytes, maxValues } = bounds
  const message = decode(method, bytes, maxValues)
  if (bytes.length > maxBodyBytes && measureJson(method, message) > maxBodyBytes + slackBytes)
    throw new MediagenError(
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
    if (error instanceof MediagenError) throw error
    const reason = error instanceof RangeError ? `: ${error.message}` : ''
    throw invalid(`The request is not a ${input.typeName}${reason}.`, error)
  }
}

/** What a binary message counts toward the rate of its key. One that cannot be decoded counts its bytes. */
export function weighRequest({ input }: DescMethod, bytes: Uint8Array, { maxValues }: RequestBounds): number {
  try {
    return weighMessage(bytes.length, countWireValues(input, bytes, maxValues))
  } catch {
    return bytes.length
  }
}

/** Called only for large messages, whose number of values was checked before. */
function measureJson({ input }: DescMethod, message: Message): number {
  return Buffer.byteLength(JSON.stringify(toJson(input, message)))
}

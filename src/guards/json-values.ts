// Bounds the number of values in a request: the cost of parsing, copying and checking depends on values, not on bytes.
import { MediagenError } from '../core/errors.ts'

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]
const lastSpace = 0x20

/**
 * Counts the values of a JSON text before it is parsed: objects, arrays, members and elements, but not names.
 * One pass over the bytes. Invalid JSON has some count too; the parser refuses it.
 * @param most counting stops once this is exceeded
 */
export function countJsonValues(bytes: Uint8Array, most: number): number {
  let count = 1
  // After an opening bracket, until it is known whether the container is empty.
  let opened = false
  for (let i = 0; i < bytes.length && count <= most; i++) {
    const byte = bytes[i] as number
    if (byte <= lastSpace) continue
    if (byte === closeArray || byte === closeObject) {
      opened = false
      continue
    }
    if (opened) {
      count += 1
      opened = false
    }
    if (byte === comma) count += 1
    else if (byte === openArray || byte === openObject) opened = true
    else if (byte === quote) i = endOfString(bytes, i)
  }
  return count
}

/** The end of the string that begins at `start`: its closing quote, or the end of the text. */
function endOfString(bytes: Uint8Array, start: number): number {
  let i = start + 1
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1
  return i
}

/**
 * Refuses a JSON text that holds too many values.
 * @throws MediagenError `invalid_request`
 */
export function refuseManyValues(bytes: Uint8Array, most: number): void {
  // Each value takes at least two bytes, itself and a separator, so most bodies need no count.
  if (bytes.length >= 2 * most && countJsonValues(bytes, most) > most) throw tooManyValues(most)
}

// A value of few bytes costs as much as a text of this many.
const bytesPerValue = 64
const freeValues = 100

/** What a message counts toward the rate of its key, in bytes: its own, and more for many values. */
export function weighMessage(bytes: number, values: number): number {
  return bytes + bytesPerValue * Math.max(0, values - freeValues)
}

/** The same of a JSON text, whose values are counted up to `most`. */
export function weighJson(bytes: Uint8Array, most: number): number {
  return weighMessage(bytes.length, bytes.length < 2 * freeValues ? 0 : countJsonValues(bytes, most))
}

/** The refusal of a request with too many values, at every door. */
export function tooManyValues(most: number): MediagenError {
  return new MediagenError(
    'invalid_request',
    `The request holds more than the ${most} values that this server accepts: each object, list, text, number, true, false and null counts as one (MEDIAGEN_MAX_VALUES).`,
  )
}

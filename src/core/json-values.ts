// How many values a request may hold: parsing, copying and checking cost by the value, not by the byte.
import { MediagenError } from './errors.ts'

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]
const lastSpace = 0x20

/**
 * Counts the values of a JSON text before it is parsed: objects, arrays, members and elements; names are none.
 * One pass over the bytes. What is no JSON has some count, too; the parser refuses it.
 * @param most counting ends once there are more
 */
export function countJsonValues(bytes: Uint8Array, most: number): number {
  let count = 1
  // Behind an opening bracket, until it is known whether anything is in it.
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

/** Where the string that begins at `start` ends: its closing quote, or the end of all. */
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
  // Each takes two bytes at least, itself and what separates it from the next: most bodies need not be looked at.
  if (bytes.length >= 2 * most && countJsonValues(bytes, most) > most) throw tooManyValues(most)
}

/** What a request hears that holds too many values, at every door. */
export function tooManyValues(most: number): MediagenError {
  return new MediagenError(
    'invalid_request',
    `The request holds more than the ${most} values that this server takes: each object, list, text, number, true, false and null counts as one (MEDIAGEN_MAX_VALUES).`,
  )
}

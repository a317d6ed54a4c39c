// JSON of other servers. Parsing costs time and memory for each value, so the values are counted first. A long string, such as
// a picture in base64, is cheap.
import type { JsonValue } from '@mediagen/engine/engine.ts'

/** The most quotes, brackets, commas and colons in an answer. */
export const mostJsonTokens = 300_000
/** Of lists and objects within one another. */
export const deepestJson = 200
// Of digits and white space; files are in strings.
const mostBareBytes = 4 * 1024 * 1024
const [space, quote, backslash, comma, colon] = [0x20, 0x22, 0x5c, 0x2c, 0x3a] as const
const openers: ReadonlySet<number> = new Set([0x5b, 0x7b])
const closers: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** A list or an object as JSON; null if the text is neither, undefined if it is too long or too deep. */
export function readJson(text: Buffer): JsonValue | undefined {
  // Pictures and sounds begin otherwise.
  if (!openers.has(text.subarray(0, mostBareBytes).find((byte) => byte > space) ?? 0)) return null
  if (!hasFewTokens(text)) return undefined
  try {
    return JSON.parse(text.toString('utf8')) as JsonValue
  } catch {
    return null
  }
}

function hasFewTokens(text: Buffer): boolean {
  let tokens = 0
  let depth = 0
  let bareBytes = 0
  let isString = false
  for (let at = 0; at < text.length; at++) {
    if (!isString) {
      bareBytes += 1
      if (bareBytes > mostBareBytes) return false
    } else {
      // Jumps over a picture in base64.
      at = text.indexOf(quote, at)
      if (at === -1) return true
    }
    const byte = text[at] as number
    if (byte === quote) isString = !isString || isEscaped(text, at)
    else if (openers.has(byte)) depth += 1
    else if (closers.has(byte)) depth -= 1
    else if (byte !== comma && byte !== colon) continue
    tokens += 1
    if (tokens > mostJsonTokens || depth > deepestJson) return false
  }
  return true
}

/** Whether the character of a string is after a backslash that is not escaped itself. */
function isEscaped(text: Buffer, at: number): boolean {
  let before = at - 1
  while (text[before] === backslash) before -= 1
  return (at - before) % 2 === 0
}

// The input of a job, as its record shows it.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'

// A value with more characters of JSON is left out of a brief input.
const longestValue = 1024
// A character of a text has at most six in JSON, `\u0000` for instance.
const longestEscape = 6

/** An input without its large values; the very same object if it has none. */
export function briefInput(input: JsonObject): JsonObject {
  if (Object.values(input).every(isSmall)) return input
  return Object.fromEntries(Object.entries(input).filter(([, value]) => isSmall(value)))
}

/** Most values are short texts, numbers and such, which need not be written out. */
function isSmall(value: JsonValue): boolean {
  if (typeof value === 'string' && longestEscape * value.length + 2 <= longestValue) return true
  if (typeof value === 'number' || typeof value === 'boolean') return true
  return JSON.stringify(value).length <= longestValue
}

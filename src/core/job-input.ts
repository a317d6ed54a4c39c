// The input of a job, as its record shows it.
import type { JsonObject } from '@mediagen/engine/engine.ts'

// A value with more characters of JSON is left out of a brief input.
const longestValue = 1024

/** An input without its large values; the very same object if it has none. */
export function briefInput(input: JsonObject): JsonObject {
  const entries = Object.entries(input)
  const small = entries.filter(([, value]) => JSON.stringify(value).length <= longestValue)
  return small.length === entries.length ? input : Object.fromEntries(small)
}

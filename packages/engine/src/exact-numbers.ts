// Numbers that JSON cannot carry from one program to the next as they were written.
import type { JsonValue } from './engine.ts'

/** The message about such a number. */
export const inexactNumber = `must be a number that JSON carries exactly: a whole number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, or one with a fraction`

/**
 * Finds whole numbers beyond 2^53 − 1, which arrive rounded to another one, and numbers that no double can hold.
 * @param value not nested deeper than an input may be
 * @returns JSON pointers, each beginning with `pointer`
 */
export function findInexact(value: JsonValue | undefined, pointer = ''): string[] {
  if (value === undefined || isExact(value)) return []
  if (typeof value !== 'object' || value === null) return [pointer]
  return Object.entries(value).flatMap(([name, inner]) =>
    findInexact(inner, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  )
}

function isExact(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isExact)
  for (const name in value) if (!isExact(value[name] as JsonValue)) return false
  return true
}

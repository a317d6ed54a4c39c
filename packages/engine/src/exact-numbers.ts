// Numbers that JSON cannot carry from one program to the next as they were written.
import type { JsonValue } from './engine.ts'

/** What is said of such a number. */
export const inexactNumber = `must be a number that JSON carries exactly: a whole number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, or one with a fraction`

/**
 * Finds whole numbers beyond 2^53 − 1, which arrive rounded to another one, and numbers that no double can hold.
 * @param value not nested deeper than an input may be
 * @returns JSON pointers, each beginning with `pointer`
 */
export function findInexact(value: JsonValue | undefined, pointer = ''): string[] {
  if (typeof value === 'number') return isExact(value) ? [] : [pointer]
  if (typeof value !== 'object' || value === null) return []
  const found: string[] = []
  for (const name of Object.keys(value)) {
    const inner = (value as Readonly<Record<string, JsonValue>>)[name]
    if (typeof inner === 'number' ? isExact(inner) : typeof inner !== 'object') continue
    found.push(...findInexact(inner, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`))
  }
  return found
}

function isExact(number: number): boolean {
  return Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number)
}

// The identity of an input: RFC 8785 canonical JSON and its SHA-256.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { Violation } from './errors.ts'

/** Maximum nesting of an input, at every door. */
export const maxInputDepth = 50

/**
 * SHA-256 of `parts`, each prefixed with its length, so different lists of parts have different digests. In lower-case hexadecimal,
 * which Node writes three times as fast as it makes a Buffer.
 */
export function digestParts(...parts: readonly string[]): string {
  return hash('sha256', parts.map((part) => `${part.length}:${part}`).join(''), 'hex')
}

/** RFC 8785 form of an input in which `findUnhashable` finds nothing. */
export function toCanonicalJson(input: JsonObject): string {
  return canonicalize(input) as string
}

/**
 * Why an input has no canonical form: a text with a lone surrogate, a number that no double can hold, or too deep nesting.
 * @param pointer JSON pointer of `value`
 */
export function findUnhashable(value: JsonValue, pointer: string, depth = 1): Violation | null {
  if (typeof value === 'string')
    return value.isWellFormed() ? null : { pointer, detail: 'must be valid Unicode: it holds a lone surrogate' }
  if (typeof value === 'number' && !Number.isFinite(value))
    return { pointer, detail: 'must be a number that a double can hold' }
  if (value === null || typeof value !== 'object') return null
  if (depth > maxInputDepth) return { pointer, detail: `must not nest deeper than ${maxInputDepth} levels` }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = findUnhashable(value[i] as JsonValue, '', depth + 1)
      if (found) return { ...found, pointer: `${pointer}/${i}${found.pointer}` }
    }
    return null
  }
  for (const name in value) {
    if (!name.isWellFormed()) return { pointer, detail: 'has a field name that holds a lone surrogate' }
    // The pointer is built while returning, because usually there is nothing to report.
    const found = findUnhashable(value[name] as JsonValue, '', depth + 1)
    if (found) return { ...found, pointer: `${pointer}/${toPointerToken(name)}${found.pointer}` }
  }
  return null
}

/** A field name as a token of a JSON pointer (RFC 6901). */
export function toPointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

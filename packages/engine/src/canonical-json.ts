// The identity of an input: RFC 8785 canonical JSON and its SHA-256.
import { hash } from 'node:crypto'
import type { JsonObject, JsonValue } from './engine.ts'

/** A violation, and where it is, as a JSON pointer (RFC 6901). */
export interface Unhashable {
  readonly pointer: string
  readonly detail: string
}

/** Maximum nesting of an input, at every door. */
export const maxInputDepth = 50

// Texts without surrogates and without what JSON escapes.
const plain = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

/**
 * SHA-256 of `parts`, each prefixed with its length, so different lists of parts have different digests. In lower-case
 * hexadecimal.
 */
export function digestParts(...parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${part.length}:${part}`
  return hash('sha256', text, 'hex')
}

/**
 * The RFC 8785 form of an input, or why it has none: a text with a lone surrogate, a number that no double can hold, or too deep
 * nesting. The pointer of a violation begins with `/input`.
 */
export function toCanonicalJson(input: JsonObject): string | Unhashable {
  const written = write(input, 1)
  return typeof written === 'string' ? written : { ...written, pointer: `/input${written.pointer}` }
}

/** A violation's pointer is built while returning, because usually there is none. */
function write(value: JsonValue, depth: number): string | Unhashable {
  if (typeof value === 'string') return quote(value) ?? refuse('must be valid Unicode: it holds a lone surrogate')
  if (typeof value === 'number')
    return Number.isFinite(value) ? String(value) : refuse('must be a number that a double can hold')
  if (value === null || typeof value !== 'object') return String(value)
  if (depth > maxInputDepth) return refuse(`must not nest deeper than ${maxInputDepth} levels`)
  return Array.isArray(value) ? writeList(value, depth) : writeObject(value, depth)
}

function writeList(list: readonly JsonValue[], depth: number): string | Unhashable {
  let text = ''
  for (let i = 0; i < list.length; i++) {
    const written = write(list[i] as JsonValue, depth + 1)
    if (typeof written !== 'string') return { ...written, pointer: `/${i}${written.pointer}` }
    text += i === 0 ? written : `,${written}`
  }
  return `[${text}]`
}

/** Sorting without a comparison orders names by their UTF-16 code units, as the RFC asks. */
function writeObject(object: JsonObject, depth: number): string | Unhashable {
  let text = ''
  for (const name of Object.keys(object).sort()) {
    const quoted = quote(name)
    if (quoted === null) return refuse('has a field name that holds a lone surrogate')
    const written = write(object[name] as JsonValue, depth + 1)
    if (typeof written !== 'string')
      return { ...written, pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}${written.pointer}` }
    text += (text === '' ? '' : ',') + `${quoted}:${written}`
  }
  return `{${text}}`
}

/** A text in quotes; null if it holds a lone surrogate. Most texts need no escapes, and finding that out is cheaper than JSON.stringify. */
function quote(text: string): string | null {
  if (plain.test(text)) return `"${text}"`
  return text.isWellFormed() ? JSON.stringify(text) : null
}

function refuse(detail: string): Unhashable {
  return { pointer: '', detail }
}

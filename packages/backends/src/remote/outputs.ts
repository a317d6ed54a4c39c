// Finds the files in the answer of a provider.
import type { JsonValue } from '@mediagen/engine/engine.ts'
import type { Output } from './backend.ts'
import { isObject } from './connection.ts'

const deepest = 6

/**
 * The URLs and `data:` URIs of a value, in order, where a provider puts its outputs. Other texts are no files, and a text of the
 * input that is repeated there is none either: `fetchOutputs` leaves it out.
 */
export function findOutputs(value: JsonValue | undefined, depth = 0): Output[] {
  if (typeof value === 'string') return isFile(value) ? [{ url: value }] : []
  if (depth > deepest) return []
  if (Array.isArray(value)) return value.flatMap((item) => findOutputs(item, depth + 1))
  return isObject(value) ? Object.values(value).flatMap((item) => findOutputs(item, depth + 1)) : []
}

/** Whether a text is nothing but the URL of a file, or a file itself. */
function isFile(text: string): boolean {
  if (/^https?:\/\//.test(text)) return !/\s/.test(text) && URL.canParse(text)
  return isDataUri(text)
}

// A head is short, whatever the file is.
const dataHead = /^data:[^,\s]{0,190};base64,/

/** Whether a text is a file in a `data:` URI. */
export function isDataUri(text: string): boolean {
  return dataHead.test(text)
}

/** The bytes of a file in a `data:` URI. */
export function readDataUri(text: string): Buffer {
  return Buffer.from(text.slice(text.indexOf(',') + 1), 'base64')
}

/** Base64 as an output; none if it holds nothing. */
export function decodeOutput(base64: JsonValue | undefined): Output[] {
  const data = typeof base64 === 'string' ? Buffer.from(base64.replace(/^data:[^,]*,/, ''), 'base64') : null
  return data && data.length > 0 ? [{ data }] : []
}

// The server measures these on what was delivered, whatever a provider says.
const measured: ReadonlySet<string> = new Set(['images', 'seconds', 'megapixels'])

/** The numbers of an object, as usage. */
export function toNumbers(value: JsonValue | undefined): Record<string, number> {
  if (!isObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, number]) =>
      typeof number === 'number' && !measured.has(name) ? [[name, number]] : [],
    ),
  )
}

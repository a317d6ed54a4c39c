// Finds the files in the answer of a provider.
import type { JsonValue } from '@mediagen/engine/engine.ts'
import type { Output } from './backend.ts'
import { isObject } from './connection.ts'

const deepest = 6

/** The URLs and `data:` URIs of a value, in order; other texts are no files. */
export function findOutputs(value: JsonValue | undefined, depth = 0): Output[] {
  if (typeof value === 'string') {
    const output = toOutput(value)
    return output ? [output] : []
  }
  if (depth > deepest) return []
  if (Array.isArray(value)) return value.flatMap((item) => findOutputs(item, depth + 1))
  return isObject(value) ? Object.values(value).flatMap((item) => findOutputs(item, depth + 1)) : []
}

function toOutput(text: string): Output | null {
  if (/^https?:\/\//.test(text)) return { url: text }
  const [head = ''] = text.slice(0, 200).split(',', 1)
  if (!head.startsWith('data:') || !head.endsWith(';base64')) return null
  return { data: Buffer.from(text.slice(head.length + 1), 'base64') }
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

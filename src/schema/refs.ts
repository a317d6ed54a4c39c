// References within a JSON Schema.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'

/** What a reference within a schema refers to; undefined unless it is a JSON pointer to something. */
export function resolveRef(root: JsonObject, ref: string): JsonValue | undefined {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  let node: JsonValue | undefined = root
  for (const token of ref.slice(2).split('/')) {
    const key = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(node)) node = node[Number(key)]
    else node = isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined
  }
  return node
}

/** Whether a value is an object, and no list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// Finds the media references of an input: the values whose schema says `format: media`.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { isMediaReference, type MediaReference } from '../files/media/reference.ts'
import { isObject, resolveRef } from '../schema/refs.ts'
import { toPointerToken } from '../schema/violations.ts'

/** Keywords whose value is one schema, or a list of schemas, for the same value of the input. */
const sameValueKeywords = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else'] as const

/**
 * Creates a function that lists the references of a valid input, in the order of the schema, each value once. Arrays, nested objects,
 * `$ref` within the schema and the combining keywords are followed; of alternatives, whatever has the form of a reference.
 * @param isReference whether a text has that form
 * @throws Error if a `$ref` that may hide a reference points outside this schema
 */
export function createMediaFinder(
  schema: JsonObject,
  isReference: (text: string) => boolean = isMediaReference,
): (input: JsonObject) => MediaReference[] {
  if (!mentionsMedia(schema)) return () => []
  checkRefs(schema, schema)
  return (input) => {
    const found = new Map<string, string>()
    // Each value is visited once per schema, so recursive schemas terminate.
    const seen = new Map<JsonObject, Set<string>>()

    function visit(node: JsonValue | undefined, value: JsonValue | undefined, pointer: string): void {
      if (!isObject(node) || value === undefined) return
      const pointers = seen.get(node) ?? new Set()
      if (pointers.has(pointer)) return
      seen.set(node, pointers.add(pointer))
      if (node['format'] === 'media' && typeof value === 'string' && isReference(value)) found.set(pointer, value)
      if (typeof node['$ref'] === 'string') visit(resolveRef(schema, node['$ref']), value, pointer)
      for (const keyword of sameValueKeywords) for (const branch of toList(node[keyword])) visit(branch, value, pointer)
      if (Array.isArray(value)) visitItems(node, value, pointer)
      else if (isObject(value)) visitFields(node, value, pointer)
    }

    function visitItems(node: JsonObject, items: readonly JsonValue[], pointer: string): void {
      const first = toList(node['prefixItems'])
      for (const [index, item] of items.entries())
        visit(index < first.length ? first[index] : node['items'], item, `${pointer}/${index}`)
    }

    function visitFields(node: JsonObject, fields: JsonObject, pointer: string): void {
      const properties = isObject(node['properties']) ? node['properties'] : {}
      const patterns = Object.entries(isObject(node['patternProperties']) ? node['patternProperties'] : {})
      for (const [name, value] of Object.entries(fields)) {
        const inner = `${pointer}/${toPointerToken(name)}`
        const matching = patterns.filter(([pattern]) => new RegExp(pattern, 'u').test(name))
        if (Object.hasOwn(properties, name)) visit(properties[name], value, inner)
        else if (matching.length === 0) visit(node['additionalProperties'], value, inner)
        for (const [, branch] of matching) visit(branch, value, inner)
      }
    }

    visit(schema, input, '')
    return [...found].map(([pointer, reference]) => ({ pointer, reference }))
  }
}

function mentionsMedia(node: JsonValue): boolean {
  if (Array.isArray(node)) return node.some(mentionsMedia)
  return isObject(node) && (node['format'] === 'media' || Object.values(node).some(mentionsMedia))
}

function checkRefs(root: JsonObject, node: JsonValue): void {
  if (Array.isArray(node)) for (const item of node) checkRefs(root, item)
  if (!isObject(node)) return
  if (typeof node['$dynamicRef'] === 'string') throw new Error('$dynamicRef cannot be used with format: media')
  if (typeof node['$ref'] === 'string' && resolveRef(root, node['$ref']) === undefined)
    throw new Error(
      `$ref ${JSON.stringify(node['$ref'])} must be a JSON pointer into this schema, such as #/$defs/picture`,
    )
  for (const value of Object.values(node)) checkRefs(root, value)
}

function toList(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

// What a JSON Schema allows and a model cannot live with: references that never end, names that every object has, and numbers that
// no input can carry.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { findInexact, inexactNumber } from '@mediagen/engine/exact-numbers.ts'
import { isObject, resolveRef } from '../schema/refs.ts'
import { toPointerToken } from '../schema/violations.ts'
import { EntryError } from './entry.ts'

// Keywords whose value is a schema or a list of schemas for the very same value, or for a part of it; and schemas by name.
const sameValueKeywords = ['not', 'if', 'then', 'else', 'allOf', 'anyOf', 'oneOf'] as const
const ofParts = [
  'items',
  'prefixItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'contentSchema',
] as const
const named = ['properties', 'patternProperties', '$defs', 'definitions'] as const
const values = ['default', 'const', 'enum', 'examples'] as const

/** A schema within a schema. */
interface Part {
  readonly pointer: string
  readonly schema: JsonObject
}

/**
 * Checks the input schema of a model.
 * @throws EntryError that names the field
 */
export function checkInputSchema(root: JsonObject): void {
  const parts = listParts(root)
  for (const part of parts) {
    checkNames(part)
    checkNumbers(part)
  }
  checkReferences(root, parts)
}

/** The schema and all schemas within, each once. */
function listParts(root: JsonObject): Part[] {
  const parts: Part[] = []
  const seen = new Set<JsonObject>()
  const waiting: Part[] = [{ pointer: '', schema: root }]
  for (let part = waiting.pop(); part; part = waiting.pop()) {
    if (seen.has(part.schema)) continue
    seen.add(part.schema)
    parts.push(part)
    waiting.push(
      ...listInner(part, sameValueKeywords),
      ...listInner(part, ofParts),
      ...listNamed(part, [...named, 'dependentSchemas']),
    )
  }
  return parts
}

function listInner({ pointer, schema }: Part, keywords: readonly string[]): Part[] {
  return keywords.flatMap((keyword) => {
    const value = schema[keyword]
    if (isObject(value)) return [{ pointer: `${pointer}/${keyword}`, schema: value }]
    if (!Array.isArray(value)) return []
    return value.flatMap((inner, index) =>
      isObject(inner) ? [{ pointer: `${pointer}/${keyword}/${index}`, schema: inner }] : [],
    )
  })
}

function listNamed({ pointer, schema }: Part, keywords: readonly string[]): Part[] {
  return keywords.flatMap((keyword) =>
    Object.entries(isObject(schema[keyword]) ? schema[keyword] : {}).flatMap(([name, inner]) =>
      isObject(inner) ? [{ pointer: `${pointer}/${keyword}/${toPointerToken(name)}`, schema: inner }] : [],
    ),
  )
}

/** A field that an object inherits looks as if it were there, wherever inputs are read. */
function checkNames({ pointer, schema }: Part): void {
  const { properties, required } = schema
  const names = [...Object.keys(isObject(properties) ? properties : {}), ...(Array.isArray(required) ? required : [])]
  const taken = names.find((name) => typeof name === 'string' && name in Object.prototype)
  if (taken !== undefined)
    throw fault(pointer, `has a field "${String(taken)}", a name that every object has; give it another`)
}

function checkNumbers({ pointer, schema }: Part): void {
  for (const keyword of values) {
    const [found] = findInexact(schema[keyword], `${pointer}/${keyword}`)
    if (found !== undefined) throw fault(found, inexactNumber)
  }
}

/** References that lead back to where they began, without a step into the value, can never be decided. */
function checkReferences(root: JsonObject, parts: readonly Part[]): void {
  const ended = new Set<JsonObject>()
  const open = new Set<JsonObject>()

  function visit(part: Part): void {
    const { pointer, schema } = part
    if (ended.has(schema)) return
    if (open.has(schema)) throw fault(pointer, 'leads back to itself and never ends')
    open.add(schema)
    for (const keyword of ['$ref', '$dynamicRef'] as const) {
      const found = find(schema[keyword])
      if (isObject(found)) visit({ pointer: `${pointer}/${keyword}`, schema: found })
    }
    for (const inner of [...listInner(part, sameValueKeywords), ...listNamed(part, ['dependentSchemas'])]) visit(inner)
    open.delete(schema)
    ended.add(schema)
  }

  function find(reference: JsonValue | undefined): JsonValue | undefined {
    if (typeof reference !== 'string') return undefined
    const found = resolveRef(root, reference)
    if (found !== undefined) return found
    const name = reference.replace(/^#/, '')
    const isNamed = ({ schema }: Part): boolean =>
      ['$anchor', '$dynamicAnchor', '$id'].some((keyword) => schema[keyword] === name)
    return parts.find(isNamed)?.schema
  }

  for (const part of parts) visit(part)
}

function fault(pointer: string, words: string): EntryError {
  return new EntryError(`input${pointer.replaceAll('/', '.')}`, words)
}

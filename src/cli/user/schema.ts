// The schema of a model's input, and what it makes of a value that was written on the command line.
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@mediagen/client/client.ts'

/** The part of JSON Schema that is used. */
export interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly Json[]
  readonly const?: Json
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly 'x-enum-titles'?: Readonly<Record<string, string>>
  readonly 'x-enum-descriptions'?: Readonly<Record<string, string>>
  readonly default?: Json
  readonly examples?: readonly Json[]
  readonly format?: string
  readonly contentMediaType?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

type Body = Readonly<{ 'application/json': { schema: Schema } }>

/** The schema of the input: the request body of the one operation of the model's document. */
export function findSchema(openapi: unknown): Schema {
  const { paths } = openapi as { paths: Record<string, { post: { requestBody: { content: Body } } }> }
  return Object.values(paths)[0]?.post.requestBody.content['application/json'].schema ?? {}
}

/** What a written value is without a schema: JSON where it is JSON, else the text itself. */
export function readJsonOrText(written: string): Json {
  try {
    return JSON.parse(written) as Json
  } catch {
    return written
  }
}

/**
 * What a written value is for a field: text where the schema wants text and not what the JSON says.
 * @param path names of the field, from the outside
 * @param isItem whether it is an item of the list there
 */
export function readValue(root: Schema, path: readonly string[], isItem: boolean, written: string): Json {
  const value = readJsonOrText(written)
  const found = path.reduce<readonly Schema[]>(
    (schemas, name) => schemas.flatMap((schema) => variants(root, schema)).flatMap((schema) => inner(schema, name)),
    [root],
  )
  const fields = isItem ? found.flatMap((schema) => variants(root, schema)).flatMap(({ items = [] }) => items) : found
  const allows = (candidate: Json): boolean => fields.some((schema) => isAllowed(root, schema, candidate))
  return !allows(value) && allows(written) ? written : value
}

const inner = ({ properties = {}, additionalProperties: others }: Schema, name: string): readonly Schema[] =>
  Object.hasOwn(properties, name) ? [properties[name] ?? {}] : typeof others === 'object' ? [others] : []

/** A schema and all that it is made of. */
function variants(root: Schema, schema: Schema, seen: readonly Schema[] = []): readonly Schema[] {
  if (seen.includes(schema)) return []
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? []), ...refer(root, schema)]
  return [schema, ...parts.flatMap((part) => variants(root, part, [...seen, schema]))]
}

function refer(root: Schema, { $ref }: Schema): readonly Schema[] {
  if ($ref === '#') return [root]
  const [, name = ''] = /^#\/\$defs\/(.+)$/.exec($ref ?? '') ?? []
  const schema = root.$defs?.[decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')]
  return schema ? [schema] : []
}

/** Whether the type of a value is one that a schema wants. Bounds are the server's. */
function isAllowed(root: Schema, schema: Schema, value: Json, seen: readonly Schema[] = []): boolean {
  if (seen.includes(schema)) return false
  const { type, enum: options, const: only, anyOf, oneOf, allOf } = schema
  const passes = (part: Schema): boolean => isAllowed(root, part, value, [...seen, schema])
  return (
    (type === undefined || [type].flat().some((name) => isOfType(value, name))) &&
    (options === undefined || options.some((option) => isDeepStrictEqual(option, value))) &&
    (only === undefined || isDeepStrictEqual(only, value)) &&
    [anyOf, oneOf].every((choice) => choice === undefined || choice.some(passes)) &&
    (allOf ?? []).every(passes) &&
    refer(root, schema).every(passes)
  )
}

function isOfType(value: Json, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

// Turns the JSON Schema of a model's input into the fields of a form. No DOM: this decides the kind of a field, not its look.
import { type OptionWords, readOptionWords } from './choice-words.ts'
import type { Json, JsonObject, ModelDetailRecord } from './records.ts'

interface FieldBase {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly required: boolean
  /** The schema's default, which an empty field stands for. */
  readonly fallback: Json | undefined
  /** The schema's examples; the first is the placeholder. */
  readonly examples: readonly Json[]
  /** Whether the schema says that it is rarely changed. */
  readonly advanced: boolean
}

export interface TextField extends FieldBase {
  readonly kind: 'text'
  readonly long: boolean
  readonly maxLength: number | undefined
}
export interface ColorField extends FieldBase {
  readonly kind: 'color'
}
export interface NumberField extends FieldBase {
  readonly kind: 'number'
  readonly integer: boolean
  readonly min: number | undefined
  readonly max: number | undefined
  readonly step: number
  /** Whether the range is small enough for a slider. */
  readonly slider: boolean
}
export interface SwitchField extends FieldBase {
  readonly kind: 'switch'
}
export interface ChoiceField extends FieldBase {
  readonly kind: 'choice'
  readonly options: readonly (string | number)[]
  /** What there is to say of each option, in their order. */
  readonly words: readonly OptionWords[]
  /** Whether all options are shown at once, or in a drop-down list. */
  readonly layout: 'chips' | 'list'
}
export interface MediaField extends FieldBase {
  readonly kind: 'media'
  /** Types that may be chosen, as `accept` of a file field has them: `contentMediaType` of the schema, or all media. */
  readonly accept: string
}
export interface ConstantField extends FieldBase {
  readonly kind: 'constant'
  readonly value: Json
}
export interface ObjectField extends FieldBase {
  readonly kind: 'object'
  readonly fields: readonly Field[]
  readonly minProperties: number
}
/** An object with exactly one of several keys, such as one edit operation. */
export interface PickField extends FieldBase {
  readonly kind: 'pick'
  readonly options: readonly Field[]
}
export interface ListField extends FieldBase {
  readonly kind: 'list'
  readonly item: Field
  readonly minItems: number
  readonly maxItems: number
}
/** Any other schema: written as JSON. */
export interface JsonField extends FieldBase {
  readonly kind: 'json'
}

export type Field =
  | TextField
  | ColorField
  | NumberField
  | SwitchField
  | ChoiceField
  | MediaField
  | ConstantField
  | ObjectField
  | PickField
  | ListField
  | JsonField

// Texts that may be this long get several lines.
const longText = 280
// Deeper nesting makes a form useless, and a recursive schema must end.
const deepest = 5
const widestSlider = 10_000
const chipOptions = 9
const chipLength = 12
const tellingOptions = 24
const anyMedia = 'image/*,video/*,audio/*'

/** The fields of a model's form, from its OpenAPI document; null if the document has no object schema. */
export function toForm(model: Pick<ModelDetailRecord, 'openapi'>): ObjectField | null {
  const schema = findInputSchema(model.openapi)
  if (!schema) return null
  const field = toField('input', schema, true, model.openapi, 0)
  return field.kind === 'object' ? field : null
}

/** Whether a field is for a file, or for several. */
export function takesMedia(field: Field): boolean {
  return field.kind === 'media' || (field.kind === 'list' && field.item.kind === 'media')
}

function findInputSchema(openapi: JsonObject): JsonObject | null {
  for (const path of Object.values(asObject(openapi['paths']))) {
    for (const operation of Object.values(asObject(path))) {
      const content = asObject(asObject(asObject(operation)['requestBody'])['content'])
      const schema = asObject(content['application/json'])['schema']
      if (isObject(schema)) return schema
    }
  }
  return null
}

/** One field; `root` is the document in which `$ref`s are looked up. */
export function toField(name: string, written: JsonObject, required: boolean, root: JsonObject, depth = 0): Field {
  const schema = simplify(written, root)
  const { examples, example } = schema
  const base: FieldBase = {
    name,
    title: asText(schema['title']) || toTitle(name),
    description: asText(schema['description']),
    required,
    fallback: schema['default'],
    examples: Array.isArray(examples) ? examples : example === undefined ? [] : [example],
    advanced: schema['x-advanced'] === true && !required,
  }
  if (schema['const'] !== undefined) return { ...base, kind: 'constant', value: schema['const'] }
  return toScalar(base, schema) ?? toComposite(base, schema, root, depth) ?? { ...base, kind: 'json' }
}

function toScalar(base: FieldBase, schema: JsonObject): Field | null {
  const options = toOptions(schema)
  if (options) {
    const words = readOptionWords(schema, options)
    // Options that have something to say are shown at once, however many.
    const telling = words.some(({ details, sound }) => details !== '' || sound !== null)
    const most = telling ? tellingOptions : chipOptions
    const longest = telling ? 2 * chipLength : chipLength
    const chips = options.length <= most && words.every(({ title }) => title.length <= longest)
    return { ...base, kind: 'choice', options, words, layout: chips ? 'chips' : 'list' }
  }
  switch (asText(schema['type'])) {
    case 'string':
      return toStringField(base, schema)
    case 'integer':
    case 'number':
      return toNumberField(base, schema)
    case 'boolean':
      return { ...base, kind: 'switch' }
    default:
      return null
  }
}

function toStringField(base: FieldBase, schema: JsonObject): Field {
  if (schema['format'] === 'media')
    return { ...base, kind: 'media', accept: asText(schema['contentMediaType']) || anyMedia }
  if (asText(schema['pattern']).startsWith('^#')) return { ...base, kind: 'color' }
  const maxLength = asNumber(schema['maxLength'])
  const long = maxLength === undefined ? /prompt|text|lyrics|script/.test(base.name) : maxLength >= longText
  return { ...base, kind: 'text', long, maxLength }
}

function toNumberField(base: FieldBase, schema: JsonObject): NumberField {
  const integer = schema['type'] === 'integer'
  const min = asNumber(schema['minimum']) ?? asNumber(schema['exclusiveMinimum'])
  const max = asNumber(schema['maximum']) ?? asNumber(schema['exclusiveMaximum'])
  const span = min === undefined || max === undefined ? Infinity : max - min
  const step = asNumber(schema['multipleOf']) ?? (integer ? 1 : span <= 10 ? 0.01 : 0.1)
  return { ...base, kind: 'number', integer, min, max, step, slider: span <= widestSlider }
}

function toComposite(base: FieldBase, schema: JsonObject, root: JsonObject, depth: number): Field | null {
  if (depth >= deepest) return null
  if (schema['type'] === 'array' && isObject(schema['items'])) {
    const item = toField('', schema['items'], true, root, depth + 1)
    return {
      ...base,
      kind: 'list',
      item,
      minItems: asNumber(schema['minItems']) ?? 0,
      maxItems: asNumber(schema['maxItems']) ?? Infinity,
    }
  }
  if (!isObject(schema['properties'])) return null
  const requiredNames = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
  const fields = Object.entries(schema['properties']).flatMap(([name, property]) =>
    isObject(property) ? [toField(name, property, requiredNames.has(name), root, depth + 1)] : [],
  )
  if (schema['maxProperties'] === 1 && fields.length > 1) return { ...base, kind: 'pick', options: fields }
  return { ...base, kind: 'object', fields, minProperties: asNumber(schema['minProperties']) ?? 0 }
}

/** The options of an enum, or of a `oneOf` of constants; null if the schema is neither. */
function toOptions(schema: JsonObject): (string | number)[] | null {
  const written = Array.isArray(schema['enum'])
    ? schema['enum']
    : Array.isArray(schema['oneOf'])
      ? schema['oneOf'].map((option) => asObject(option)['const'] ?? null)
      : []
  const options = written.filter((option) => typeof option === 'string' || typeof option === 'number')
  return options.length > 0 && options.length === written.filter((option) => option !== null).length ? options : null
}

/** Follows local references and unwraps what only says "or null". */
function simplify(schema: JsonObject, root: JsonObject): JsonObject {
  let simple = schema
  for (let hops = 0; hops < 8; hops += 1) {
    const { $ref, ...rest } = simple
    const only = onlySchema(simple['allOf']) ?? onlySchema(simple['anyOf']) ?? onlySchema(simple['oneOf'])
    if (typeof $ref === 'string') simple = { ...lookUp($ref, root), ...rest }
    else if (only && simple['type'] === undefined) {
      const { allOf: _all, anyOf: _any, oneOf: _one, ...own } = simple
      simple = { ...only, ...own }
    } else break
  }
  const { type } = simple
  if (!Array.isArray(type)) return simple
  const types = type.filter((name) => name !== 'null')
  return types.length === 1 && types[0] !== undefined ? { ...simple, type: types[0] } : simple
}

function onlySchema(written: Json | undefined): JsonObject | null {
  if (!Array.isArray(written)) return null
  const schemas = written.filter((schema): schema is JsonObject => isObject(schema) && schema['type'] !== 'null')
  return schemas.length === 1 ? (schemas[0] ?? null) : null
}

function lookUp(reference: string, root: JsonObject): JsonObject {
  let found: Json | undefined = root
  for (const segment of reference.replace(/^#\/?/, '').split('/')) {
    found = asObject(found)[segment.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return asObject(found)
}

/** A name of a schema as people write it. */
export function toTitle(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object; any other value is an empty one. */
export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function asNumber(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

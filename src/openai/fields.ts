// Fields of OpenAI's interface as fields of a model's input. docs/openai.md; docs/catalog.md, Fields of OpenAI's interface.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { MediagenError, type Violation } from '../core/errors.ts'
import { describeViolations } from '../core/violations.ts'
import { toPointerToken } from '../schema/violations.ts'

/** A model, as far as requests are translated for it. */
export interface DoorModel {
  readonly id: string
  /** JSON Schema of its input. */
  readonly inputSchema: JsonObject
  /** What the catalog says about fields of OpenAI's interface: by their names, a name, or objects by the values of the field. */
  readonly openaiFields: JsonObject
}

/** How a door reads its fields. */
export interface FieldRules {
  /** The values at which a field asks for nothing: many clients send them always. Null for any value. */
  readonly asksNothing: Readonly<Record<string, readonly JsonValue[] | null>>
  /** Names that models have for a field, the first that is there; by default the name of the field. */
  readonly usualNames?: Readonly<Record<string, readonly string[]>>
}

/** The properties of a model's input. */
export function propertiesOf({ inputSchema }: Pick<DoorModel, 'inputSchema'>): Readonly<Record<string, JsonObject>> {
  return (inputSchema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>
}

/** What the catalog sets for values of a field, by the value; empty if it says nothing. */
export function meaningsOf({ openaiFields }: Pick<DoorModel, 'openaiFields'>, name: string): JsonObject {
  const meanings = Object.hasOwn(openaiFields, name) ? openaiFields[name] : undefined
  return typeof meanings === 'object' ? (meanings as JsonObject) : {}
}

/** The model's own field for a field of OpenAI's interface; undefined if it has none. */
export function targetOf(model: DoorModel, name: string, { usualNames = {} }: FieldRules): string | undefined {
  const named = Object.hasOwn(model.openaiFields, name) ? model.openaiFields[name] : undefined
  const names = typeof named === 'string' ? [named] : (Object.hasOwn(usualNames, name) && usualNames[name]) || [name]
  return names.find((one) => Object.hasOwn(propertiesOf(model), one))
}

/**
 * What a field sets in the input of a model. Values that the model has are passed as they are; its schema decides.
 * @returns a text if the field means nothing to the model: it completes "/field …"
 */
export function translateField(
  model: DoorModel,
  name: string,
  value: JsonValue,
  rules: FieldRules,
): JsonObject | string {
  const meanings = meaningsOf(model, name)
  if (Object.hasOwn(meanings, String(value))) return meanings[String(value)] as JsonObject
  const target = targetOf(model, name, rules)
  const choice = target === undefined ? [] : propertiesOf(model)[target]?.['enum']
  const options = Array.isArray(choice) ? choice : null
  if (target !== undefined && (options === null || options.includes(value))) return { [target]: value }
  if (isDefault(name, value, rules)) return {}
  const allowed = new Set([...(options ?? []), ...Object.keys(meanings)])
  if (allowed.size > (options ?? []).length)
    return `must be one of ${[...allowed].map((one) => JSON.stringify(one)).join(', ')}`
  return target === undefined ? `is not a field of ${model.id}` : { [target]: value }
}

/** The fields of a request as an input. */
export interface TranslatedFields {
  readonly input: JsonObject
  /** The door's names of the model's fields, where they differ. */
  readonly names: Readonly<Record<string, string>>
}

/**
 * Translates the fields of a request, each with `translate`, which returns what it sets, or what is wrong with it.
 * @throws MediagenError `invalid_request` that names every field that means nothing to the model, or sets what another has set
 */
export function translateFields(
  { openaiFields }: Pick<DoorModel, 'openaiFields'>,
  fields: Iterable<readonly [string, JsonValue | undefined]>,
  translate: (name: string, value: JsonValue) => JsonObject | string,
): TranslatedFields {
  const input: JsonObject = {}
  const setBy = new Map<string, string>()
  const violations: Violation[] = []
  for (const [name, value] of fields) {
    // Clients write null for what they do not set.
    if (value === undefined || value === null) continue
    const set = translate(name, value)
    const pointer = `/${toPointerToken(name)}`
    if (typeof set === 'string') {
      violations.push({ pointer, detail: set })
      continue
    }
    for (const target of Object.keys(set)) {
      const other = setBy.get(target)
      if (other !== undefined) violations.push({ pointer, detail: `sets the same as ${other}` })
      setBy.set(target, name)
    }
    Object.assign(input, set)
  }
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
  // Also of those that the request lacks.
  const named = Object.entries(openaiFields).flatMap(([name, target]) =>
    typeof target === 'string' ? [[target, name]] : [],
  )
  return { input, names: Object.fromEntries([...named, ...setBy]) as Record<string, string> }
}

function isDefault(name: string, value: JsonValue, { asksNothing }: FieldRules): boolean {
  if (!Object.hasOwn(asksNothing, name)) return false
  return asksNothing[name]?.includes(value) ?? true
}

// What a filled-in form sends: which values are left out, which are missing, and which field a JSON pointer means.
import type { Field, ObjectField } from './form-model.ts'
import { isObject } from './form-model.ts'
import type { Json, JsonObject } from './records.ts'

/**
 * The object that the values of an object's fields make. A value that equals its default is left out, so that a request
 * says what was chosen and nothing else; it stays in where the schema asks for at least so many keys.
 */
export function composeObject(
  field: ObjectField,
  values: ReadonlyMap<string, Json | undefined>,
): JsonObject | undefined {
  const chosen: JsonObject = {}
  const given: JsonObject = {}
  for (const part of field.fields) {
    const value = values.get(part.name)
    if (value === undefined) continue
    given[part.name] = value
    if (part.required || !isSame(value, part.fallback)) chosen[part.name] = value
  }
  const object = Object.keys(chosen).length < field.minProperties ? given : chosen
  return Object.keys(object).length === 0 && !field.required ? undefined : object
}

/** What a field holds before anybody touched it; undefined for nothing. */
export function initialValue(field: Field): Json | undefined {
  if (field.kind === 'constant') return field.value
  return field.fallback
}

/** What a freshly added part of a list holds: something that works at once, so an example where there is one. */
export function startingValue(field: Field): Json | undefined {
  if (field.kind === 'constant') return field.value
  if (field.kind === 'pick') return undefined
  const value = field.examples[0] ?? field.fallback
  if (value !== undefined) return value
  if (field.kind === 'choice') return field.options[0]
  if (field.kind === 'number') return field.min
  if (field.kind === 'object') return {}
  return undefined
}

/** JSON pointers, below `at`, of required values that are not there. */
export function findMissing(field: Field, value: Json | undefined, at = ''): string[] {
  // An empty part of a list is null until something is entered.
  if (value === undefined || value === null || value === '') return field.required ? [at] : []
  if (field.kind === 'object' && isObject(value)) {
    return field.fields.flatMap((part) => findMissing(part, value[part.name], `${at}/${escapeSegment(part.name)}`))
  }
  if (field.kind === 'pick' && isObject(value)) {
    return field.options.flatMap((option) =>
      option.name in value
        ? findMissing({ ...option, required: true }, value[option.name], `${at}/${escapeSegment(option.name)}`)
        : [],
    )
  }
  if (field.kind === 'list' && Array.isArray(value)) {
    if (value.length < field.minItems) return [at]
    return value.flatMap((item, index) => findMissing(field.item, item, `${at}/${index}`))
  }
  return []
}

/** A part of a form that may have parts itself. */
export interface FormNode<Node> {
  /** The part under a key or an index; undefined when there is none. */
  child(segment: string): Node | undefined
}

/** The part that a pointer such as `/input/operations/0/blur` means, or the nearest one around it. */
export function locate<Node extends FormNode<Node>>(root: Node, pointer: string): Node {
  const segments = pointer.split('/').slice(1).map(unescapeSegment)
  if (segments[0] === 'input') segments.shift()
  let node = root
  for (const segment of segments) {
    const next = node.child(segment)
    if (!next) break
    node = next
  }
  return node
}

function isSame(left: Json | undefined, right: Json | undefined): boolean {
  return left === right || (right !== undefined && JSON.stringify(left) === JSON.stringify(right))
}

function escapeSegment(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescapeSegment(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

// The value of a form: which fields are omitted, which are missing, and which field a JSON pointer refers to.
import type { Field, ObjectField } from './form-model.ts'
import { isObject } from './form-model.ts'
import type { Json, JsonObject } from './records.ts'

/**
 * The object of an object's fields. Values equal to their default are omitted, so a request contains only choices, unless the
 * schema requires a minimum number of keys.
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

/** The initial value of a field; undefined for none. */
export function initialValue(field: Field): Json | undefined {
  if (field.kind === 'constant') return field.value
  return field.fallback
}

/** The initial value of a new list item: a valid one, such as an example. */
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

/** JSON pointers, below `at`, of missing required values. */
export function findMissing(field: Field, value: Json | undefined, at = ''): string[] {
  // A file that is not there yet, or could not be had: whoever chose it wants it, even where none is required.
  if (field.kind === 'media' && value === null) return [at]
  // An empty list item is null until something is entered.
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
  /** The part under a key or an index; undefined if there is none. */
  child(segment: string): Node | undefined
}

/** The part that a pointer such as `/input/operations/0/blur` refers to, or the nearest enclosing one. */
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

/** Whether two values are the same, in whatever order their keys are. */
export function isSame(left: Json | undefined, right: Json | undefined): boolean {
  if (!isObject(left) || !isObject(right)) return JSON.stringify(left) === JSON.stringify(right)
  const names = Object.keys(left)
  return names.length === Object.keys(right).length && names.every((name) => isSame(left[name], right[name]))
}

function escapeSegment(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescapeSegment(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

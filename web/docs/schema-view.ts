// The fields of a schema, as a list to unfold.
import { element } from '../element.ts'
import { asObject } from '../form-model.ts'
import type { JsonObject } from '../records.ts'
import { follow, toList, toText } from './document.ts'
import { describeBounds, describeType, prose } from './words.ts'

// Further fields have types without fields of their own.
const deepest = 5

/** The fields of an object, or of each of several objects; null if the schema has none. */
export function schemaView(written: JsonObject, root: JsonObject, depth = 0): HTMLElement | null {
  const schema = follow(written, root)
  const choices = toList(schema['anyOf'])
  if (choices.length > 0)
    return element(
      'div',
      {},
      ...choices.map((choice) =>
        element('details', {}, element('summary', {}, describeType(choice, root)), schemaView(choice, root, depth + 1)),
      ),
    )
  if (schema['type'] === 'array') return schemaView(asObject(schema['items']), root, depth)
  const fields = Object.entries(asObject(schema['properties']))
  if (fields.length === 0 || depth > deepest) return null
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return element(
    'ul',
    { class: 'schema' },
    ...fields.map(([name, field]) => fieldView(name, asObject(field), required.includes(name), root, depth)),
  )
}

function fieldView(name: string, written: JsonObject, required: boolean, root: JsonObject, depth: number): HTMLElement {
  const schema = follow(written, root)
  const inner = schemaView(schema, root, depth + 1)
  const { description, enum: options } = schema
  return element(
    'li',
    {},
    element(
      'p',
      {},
      element('code', { class: 'name' }, name),
      ' ',
      element(
        'span',
        { class: 'fine' },
        [describeType(written, root), required ? 'required' : ''].filter(Boolean).join(', '),
      ),
    ),
    typeof description === 'string' && element('p', {}, ...prose(description)),
    ...boundsOf(schema, root),
    Array.isArray(options) && optionsView(options.map(String), asObject(schema['x-enum-descriptions'])),
    inner && element('details', {}, element('summary', {}, 'Fields'), inner),
  )
}

function boundsOf(schema: JsonObject, root: JsonObject): HTMLElement[] {
  const bounds = describeBounds(schema, root)
  return bounds ? [element('p', { class: 'fine' }, `${bounds.charAt(0).toUpperCase()}${bounds.slice(1)}.`)] : []
}

/** The values, each with its words where the schema has some. */
function optionsView(options: readonly string[], words: JsonObject): HTMLElement {
  const list = options.some((option) => words[option] !== undefined)
    ? element(
        'ul',
        { class: 'options' },
        ...options.map((option) => element('li', {}, element('code', {}, option), ' ', toText(words[option]))),
      )
    : element('p', { class: 'options' }, ...options.flatMap((option) => [element('code', {}, option), ' ']))
  if (options.length <= 12) return list
  return element('details', {}, element('summary', {}, `${options.length} values`), list)
}

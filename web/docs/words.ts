// Text of the document: code in backquotes, and what a schema allows in words.
import { element } from '../element.ts'
import { asObject } from '../form-model.ts'
import type { Json, JsonObject } from '../records.ts'
import { follow, toText } from './document.ts'

/** Text with its `code` as elements. */
export function prose(text: string): (Node | string)[] {
  return text.split(/(`[^`]+`)/).map((part) => (/^`.+`$/.test(part) ? element('code', {}, part.slice(1, -1)) : part))
}

/** Paragraphs of text. */
export function paragraphs(text: string): HTMLElement[] {
  return text.split('\n\n').map((one) => element('p', {}, ...prose(one)))
}

/** The type of a value, such as `string or null`, `array of Output`. */
export function describeType(written: JsonObject, root: JsonObject): string {
  const schema = follow(written, root)
  const { items, anyOf, const: constant, enum: options } = schema
  if (constant !== undefined) return JSON.stringify(constant)
  if (Array.isArray(anyOf)) return anyOf.map((one) => describeType(asObject(one), root)).join(' or ')
  if (written['$ref'] !== undefined) return toText(written['$ref']).split('/').at(-1) ?? ''
  const type = schema['type'] ?? (Array.isArray(options) ? typesOf(options) : null)
  const names = (Array.isArray(type) ? type : [type]).map((name) => toText(name) || 'any')
  const format = toText(schema['format'])
  return names
    .map((name) => {
      if (name === 'array' && items !== undefined) return `array of ${describeType(asObject(items), root)}`
      return name !== 'null' && format ? `${name} (${format})` : name
    })
    .join(' or ')
}

/** The types of options, where the schema names none. */
function typesOf(options: readonly Json[]): string[] {
  return [...new Set(options.map((option) => (option === null ? 'null' : typeof option)))]
}

/** What else a schema asks of a value. */
export function describeBounds(written: JsonObject, root: JsonObject): string {
  const schema = follow(written, root)
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, default: fallback } = schema
  const said = [
    range('', minimum, maximum),
    range(' characters', minLength, maxLength),
    range(' items', minItems, maxItems),
    pattern === undefined ? '' : `matches ${toText(pattern)}`,
    fallback === undefined ? '' : `default ${JSON.stringify(fallback)}`,
  ]
  return said.filter(Boolean).join('; ')
}

function range(unit: string, least: Json | undefined, most: Json | undefined): string {
  if (least === 1 && most === undefined && unit !== '') return 'not empty'
  if (least !== undefined && most !== undefined) return `${String(least)} to ${String(most)}${unit}`
  if (least !== undefined) return `at least ${String(least)}${unit}`
  return most === undefined ? '' : `at most ${String(most)}${unit}`
}

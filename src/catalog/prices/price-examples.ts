// Examples of a price for people: a usual input, then one thing changed at a time; for usage, some amounts of it.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { sampleField } from './price-samples.ts'
import type { Price } from './pricing.ts'

/** What one request would cost. */
export interface PriceExample {
  /** What is requested, or used, such as "Duration 30". */
  readonly of: string
  readonly credits: number
}

/** Examples of one price. */
export interface PriceExamples {
  /** What the quote is for a usual input, first, and for others that differ from it in one field. */
  readonly quoted: readonly PriceExample[]
  /** What amounts of usage cost, for the usual input; empty if the price is fixed. */
  readonly used: readonly PriceExample[]
}

const mostQuoted = 8
const mostChoices = 3
const usualLength = 100

// Amounts of usage that people can picture, by its name, and how they are said.
const amounts: Readonly<Record<string, readonly [readonly number[], (amount: string) => string]>> = {
  images: [[1, 2, 4], (amount) => `${amount} ${amount === '1' ? 'image' : 'images'}`],
  seconds: [[5, 15, 60], (amount) => `${amount} seconds`],
  megapixels: [[1, 2, 8], (amount) => `${amount} ${amount === '1' ? 'megapixel' : 'megapixels'}`],
  predict_time: [[2, 10, 60], (amount) => `${amount} seconds of computing`],
  tokens: [[1000, 10_000, 100_000], (amount) => `${amount} tokens`],
  cost_usd: [[0.01, 0.1, 1], (amount) => `a cost of ${amount} US dollars`],
}
const others = [1, 10, 100]
const findAmounts = (name: string) => (Object.hasOwn(amounts, name) ? amounts[name] : undefined)

/** Makes examples; an input that has no price is left out. */
export function createPriceExamples(
  properties: Readonly<Record<string, JsonObject>>,
  quoted: Price,
  actual: Price | null,
): PriceExamples {
  const names = [...new Set([...quoted.variables, ...(actual?.variables ?? [])])].filter((name) => name !== 'usage')
  const schemas = names.map((name) => ({ name, schema: properties[name] ?? {} }))
  const usual = Object.fromEntries(schemas.map(({ name, schema }) => [name, findUsual(schema)]))
  return {
    quoted: quoted.variables.size === 0 ? [] : listQuoted(schemas, usual, quoted),
    used: actual ? listUsed(usual, actual) : [],
  }
}

type NamedSchema = { readonly name: string; readonly schema: JsonObject }

function listQuoted(schemas: readonly NamedSchema[], usual: JsonObject, price: Price): PriceExample[] {
  const read = schemas.filter(({ name }) => price.variables.has(name))
  const first = evaluate(price, usual)
  if (first === null) return []
  const words = read.map(({ name, schema }) => describe(name, schema, usual[name] ?? null))
  const examples = [{ of: words.join(', '), credits: first }]
  for (const { name, schema } of read) {
    for (const value of listOthers(schema, usual[name] ?? null)) {
      const credits = evaluate(price, { ...usual, [name]: value })
      if (credits !== null && credits !== first) examples.push({ of: describe(name, schema, value), credits })
    }
  }
  return examples.slice(0, mostQuoted)
}

/** Other values of a field that people can picture beside the usual one: twice as much, or half where that is the most. */
function listOthers(schema: JsonObject, usual: JsonValue): JsonValue[] {
  if (Array.isArray(schema['enum'])) return schema['enum'].filter((value) => value !== usual).slice(0, mostChoices)
  if (typeof usual === 'boolean') return [!usual]
  if (typeof usual === 'number') {
    const most = bound(schema, 'maximum')
    return [usual < most ? Math.min(usual * 2, most) : usual / 2]
  }
  const most = bound(schema, typeof usual === 'string' ? 'maxLength' : 'maxItems')
  if (typeof usual === 'string') return [usual.repeat(10).slice(0, most)]
  return Array.isArray(usual) ? [Array.from({ length: Math.min(usual.length * 5, most) }, () => usual[0] ?? null)] : []
}

function bound(schema: JsonObject, name: string): number {
  return typeof schema[name] === 'number' ? schema[name] : Number.POSITIVE_INFINITY
}

function listUsed(usual: JsonObject, price: Price): PriceExample[] {
  const fields = [...price.usageFields]
  return others.flatMap((_, index) => {
    const usage = Object.fromEntries(fields.map((name) => [name, (findAmounts(name)?.[0] ?? others)[index] ?? 0]))
    const credits = evaluate(price, usual, usage)
    const said = fields.map((name) => {
      const amount = format(usage[name] ?? 0)
      return findAmounts(name)?.[1](amount) ?? `${toWords(name)} ${amount}`
    })
    return credits === null || fields.length === 0 ? [] : [{ of: said.join(', '), credits }]
  })
}

function evaluate(price: Price, input: JsonObject, usage?: Record<string, number>): number | null {
  try {
    return price.evaluate(input, usage)
  } catch {
    return null
  }
}

/** The default, an example, or a text or list of a usual length. */
function findUsual(schema: JsonObject): JsonValue {
  const [example] = Array.isArray(schema['examples']) ? schema['examples'] : []
  if (schema['type'] === 'string' && !Array.isArray(schema['enum']) && typeof schema['default'] !== 'string') {
    return 'x'.repeat(Math.min(usualLength, bound(schema, 'maxLength')))
  }
  if (schema['type'] === 'array') {
    const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0
    return Array.from({ length: Math.max(1, least) }, () => null)
  }
  return schema['default'] ?? example ?? sampleField(schema).corners[0] ?? null
}

function describe(name: string, schema: JsonObject, value: JsonValue): string {
  const title = typeof schema['title'] === 'string' ? schema['title'] : toWords(name)
  if (typeof value === 'boolean') return `${title} ${value ? 'on' : 'off'}`
  if (typeof value === 'number') return `${title} ${format(value)}`
  if (Array.isArray(value)) return `${title}: ${value.length} ${value.length === 1 ? 'item' : 'items'}`
  if (typeof value !== 'string') return title
  if (Array.isArray(schema['enum'])) return `${title} ${value}`
  const length = [...value].length
  return `${title} of ${format(length)} ${length === 1 ? 'character' : 'characters'}`
}

function toWords(name: string): string {
  return name.replaceAll('_', ' ')
}

function format(number: number): string {
  return number.toLocaleString('en-US', { maximumFractionDigits: 6, useGrouping: number >= 10_000 })
}

// The prices of all catalogs that ship, at random inputs, against arithmetic that shares nothing with theirs (P191).
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { compilePrice } from '../../src/catalog/prices/pricing.ts'
import { seed } from '../seed.ts'
import { type Chance, createChance } from '../simulation/random.ts'
import { computeExactly } from './exact-price.ts'

const triesEach = 200
const root = resolve(import.meta.dirname, '../..')

const bounds: Readonly<Record<string, readonly [string, string]>> = {
  integer: ['minimum', 'maximum'],
  number: ['minimum', 'maximum'],
  string: ['minLength', 'maxLength'],
  array: ['minItems', 'maxItems'],
}

interface Priced {
  readonly price: Readonly<Record<string, string | number>>
  readonly input: { readonly properties: Readonly<Record<string, JsonObject>> }
}

const files = ['catalogs', 'packages/builtin/catalog']
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)))
  .filter((name) => name.endsWith('.yaml'))
const models = files.flatMap((file) => (load(readFileSync(file, 'utf8')) as { models: Priced[] }).models)
const prices = models.flatMap(({ price, input: { properties } }) =>
  ['credits', 'at_most', 'actual']
    .filter((field) => typeof price[field] === 'string')
    .map((field) => [String(price[field]), properties] as const),
)

test.each([...new Map(prices)])('%s', (expression, properties) => {
  const chance = createChance(seed)
  const { variables, usageFields, evaluate } = compilePrice(expression)
  for (let i = 0; i < triesEach; i++) {
    const names = [...variables].filter((name) => name !== 'usage')
    const input = Object.fromEntries(names.map((name) => [name, choose(properties[name] ?? {}, chance)]))
    const usage = Object.fromEntries([...usageFields].map((name) => [name, chooseAmount(0, 20_000, chance)]))
    const [top, bottom] = computeExactly(expression, { ...input, usage })
    const credits = evaluate(input, usageFields.size > 0 ? usage : undefined)
    expect([BigInt(credits), 1n], JSON.stringify({ input, usage })).toEqual([top, bottom])
  }
})

/** A value of a field; numbers have up to three decimals, unless the schema wants whole ones. */
function choose(schema: JsonObject, chance: Chance): JsonValue {
  if (Array.isArray(schema['enum'])) return chance.pick(schema['enum']) ?? null
  const [least, most] = bounds[String(schema['type'])] ?? []
  if (least === undefined || most === undefined) return chance.below(2) === 0
  const low = Number(schema[least] ?? 0)
  const high = Number(schema[most] ?? low + 1000)
  if (schema['type'] === 'number') return chooseAmount(low, high, chance)
  const whole = low + chance.below(high - low + 1)
  if (schema['type'] === 'integer') return whole
  return schema['type'] === 'string' ? '🦊'.repeat(whole) : Array.from({ length: whole }, () => 'x')
}

function chooseAmount(low: number, high: number, chance: Chance): number {
  const scale = 10 ** chance.below(4)
  const value = Number(((Math.round(low * scale) + chance.below((high - low) * scale + 1)) / scale).toFixed(3))
  return Math.min(Math.max(value, low), high)
}

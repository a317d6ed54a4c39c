// The samples that a price is tried on when the catalog loads: the ends of what the schema allows for the fields that the price
// reads, values beside and between them, and amounts of usage. A price that fails on none of them may still fail on others.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'

const mostSamples = 256

/** Names of the top-level fields that an input has whenever it is valid: required, or with a default. */
export function guaranteedFields(schema: JsonObject): Set<string> {
  const required = Array.isArray(schema['required'])
    ? schema['required'].filter((name) => typeof name === 'string')
    : []
  const properties = schema['properties'] as Record<string, JsonObject>
  return new Set([
    ...required,
    ...Object.keys(properties).filter((name) => properties[name]?.['default'] !== undefined),
  ])
}

/** Values to try for one field. */
export interface FieldSamples {
  /** The ends of its range and its default, or all of its values; never empty. */
  readonly corners: readonly JsonValue[]
  /** Values between the ends. */
  readonly inner: readonly JsonValue[]
}

/** Samples for usage that an engine may report. */
export const usageSamples: FieldSamples = { corners: [0, 1, 3.2, 1000], inner: [] }

/** Combines the values of several fields, in the order of `fields`: all with all if those are few, else the corners, and each inner value alone. */
export function combineSamples(fields: readonly FieldSamples[]): JsonValue[][] {
  const all = fields.map(({ corners, inner }) => [...corners, ...inner])
  if (all.reduce((count, values) => count * values.length, 1) <= mostSamples) return multiply(all)
  const first = all.map(([value]) => value as JsonValue)
  const single = fields.flatMap(({ inner }, index) => inner.map((value) => first.with(index, value)))
  return [...multiply(fields.map(({ corners }) => corners)), ...single.slice(0, mostSamples)]
}

function multiply(fields: readonly (readonly JsonValue[])[]): JsonValue[][] {
  let samples: JsonValue[][] = [[]]
  for (const values of fields)
    samples = samples.flatMap((sample) => values.map((value) => [...sample, value])).slice(0, mostSamples)
  return samples
}

/** Values to try for a field with this schema. */
export function sampleField(schema: JsonObject): FieldSamples {
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return { corners: schema['enum'], inner: [] }
  if ('const' in schema) return { corners: [schema['const']], inner: [] }
  const given: JsonValue[] = schema['default'] === undefined ? [] : [schema['default']]
  switch (String(schema['type'])) {
    case 'integer':
    case 'number':
      return toSamples(given, sampleNumber(schema))
    case 'string':
      return toSamples(
        given,
        sampleLengths(schema, 'Length', 10_000, (length) => 'x'.repeat(length)),
      )
    case 'boolean':
      return { corners: [true, false], inner: [] }
    case 'array': {
      const item = firstValue((schema['items'] as JsonObject | undefined) ?? {})
      return toSamples(
        given,
        sampleLengths(schema, 'Items', 1000, (length) => Array.from({ length }, () => item)),
      )
    }
    case 'object': {
      const properties = (schema['properties'] as Record<string, JsonObject> | undefined) ?? {}
      const object = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, firstValue(value)]))
      return { corners: [...given, object], inner: [] }
    }
    default:
      return { corners: given.length > 0 ? given : [null], inner: [] }
  }
}

function firstValue(schema: JsonObject): JsonValue {
  return sampleField(schema).corners[0] ?? null
}

/** @param values in rising order, not empty */
function toSamples(given: readonly JsonValue[], values: readonly JsonValue[]): FieldSamples {
  return { corners: [...given, values[0] as JsonValue, values.at(-1) as JsonValue], inner: values.slice(1, -1) }
}

/** Numbers that the schema allows: the ends, their neighbours, and the middle with its neighbour, so that some are odd. */
function sampleNumber(schema: JsonObject): number[] {
  const over = read(schema, 'exclusiveMinimum') ?? -Infinity
  const under = read(schema, 'exclusiveMaximum') ?? Infinity
  const least = read(schema, 'minimum') ?? -Infinity
  const most = read(schema, 'maximum') ?? Infinity
  const high = Math.min(most, under)
  const low = Math.max(least, over) === -Infinity ? Math.min(0, high - 1000) : Math.max(least, over)
  const top = high === Infinity ? low + 1000 : high
  const step = read(schema, 'multipleOf') ?? (schema['type'] === 'integer' ? 1 : null)
  // Without a step, something between the ends that is not whole.
  const near = step ?? (top - low) * 0.037
  const align = (value: number): number =>
    step === null ? value : Number((Math.round(value / step) * step).toPrecision(15))
  const middle = (low + top) / 2
  const legal = [low, low + near, low + 2 * near, middle, middle + near, top - near, top]
    .map(align)
    .filter((value) => value >= least && value <= most && value > over && value < under)
  // An empty range is a mistake of the schema's author and is not handled here.
  return legal.length > 0 ? [...new Set(legal)].toSorted((a, b) => a - b) : [low]
}

/** Values of the least and the greatest length, and of lengths beside the least. */
function sampleLengths(
  schema: JsonObject,
  what: 'Length' | 'Items',
  bound: number,
  make: (length: number) => JsonValue,
): JsonValue[] {
  const low = read(schema, `min${what}`) ?? 0
  const high = Math.max(low, Math.min(read(schema, `max${what}`) ?? low + bound / 10, bound))
  return [low, low + 1, low + 2, high].filter((length, index) => index === 3 || length < high).map(make)
}

function read(schema: JsonObject, name: string): number | undefined {
  return typeof schema[name] === 'number' ? schema[name] : undefined
}

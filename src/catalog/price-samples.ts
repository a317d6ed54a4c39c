// The samples that a price is tried on when the catalog loads: the corners of what the schema allows for the fields that the price reads,
// values inside it, odd and fractional ones among them, and amounts of usage.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'

const mostSamples = 256
const mostMixed = 64

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
  /** The ends of its range and its default; never empty. */
  readonly corners: readonly JsonValue[]
  /** Values between the ends. */
  readonly inner: readonly JsonValue[]
}

/** Samples for usage that an engine may report. */
export const usageSamples: FieldSamples = { corners: [0, 1, 3.2, 1000], inner: [] }

/**
 * Combines the values of several fields, in the order of `fields`: the full product if it is small enough;
 * else the product of the corners, each inner value alone, and an even spread over all values.
 */
export function combineSamples(fields: readonly FieldSamples[]): JsonValue[][] {
  const all = fields.map(({ corners, inner }) => [...corners, ...inner])
  if (all.reduce((count, values) => count * values.length, 1) <= mostSamples) return multiply(all)
  const first = all.map(([value]) => value as JsonValue)
  const single = fields.flatMap(({ inner }, index) => inner.map((value) => first.with(index, value)))
  const mixed = Array.from({ length: mostMixed }, (_, turn) =>
    all.map((values, index) => values[Math.floor(spread(turn, index) * values.length)] as JsonValue),
  )
  return [...multiply(fields.map(({ corners }) => corners)), ...single.slice(0, mostSamples), ...mixed]
}

function multiply(fields: readonly (readonly JsonValue[])[]): JsonValue[][] {
  let samples: JsonValue[][] = [[]]
  for (const values of fields)
    samples = samples.flatMap((sample) => values.map((value) => [...sample, value])).slice(0, mostSamples)
  return samples
}

/** A low-discrepancy sequence over 0 … 1, different for each field: fractional parts of multiples of an irrational number. */
function spread(turn: number, field: number): number {
  return ((turn + 1) * Math.sqrt(field * 2 + 2.3)) % 1
}

/** Values to try for a field with this schema. */
export function sampleField(schema: JsonObject): FieldSamples {
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return { corners: schema['enum'], inner: [] }
  if ('const' in schema) return { corners: [schema['const']], inner: [] }
  const given: JsonValue[] = schema['default'] === undefined ? [] : [schema['default']]
  switch (String(schema['type'])) {
    case 'integer':
    case 'number': {
      const { corners, inner } = sampleNumber(schema)
      return distinct([...given, ...corners], inner)
    }
    case 'string':
      return sampleLengths(given, toLengths(schema, 'minLength', 'maxLength', 1000, 10_000), (length) =>
        'x'.repeat(length),
      )
    case 'boolean':
      return { corners: [true, false], inner: [] }
    case 'array': {
      const item = firstValue((schema['items'] as JsonObject | undefined) ?? {})
      return sampleLengths(given, toLengths(schema, 'minItems', 'maxItems', 10, 1000), (length) =>
        Array.from({ length }, () => item),
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

function distinct(corners: readonly JsonValue[], inner: readonly JsonValue[]): FieldSamples {
  const ends = new Set(corners)
  return { corners: [...ends], inner: [...new Set(inner)].filter((value) => !ends.has(value)) }
}

/** Numbers that the schema allows. For integers and multiples, the neighbours of the ends and of the middle, so that some are odd. */
function sampleNumber(schema: JsonObject): { corners: number[]; inner: number[] } {
  const whole = schema['type'] === 'integer'
  const step = read(schema, 'multipleOf') ?? (whole ? 1 : null)
  const over = read(schema, 'exclusiveMinimum')
  const under = read(schema, 'exclusiveMaximum')
  const most = read(schema, 'maximum') ?? under
  const least = read(schema, 'minimum') ?? over ?? (most !== undefined && most < 0 ? most - 1000 : 0)
  const high = most ?? least + 1000
  const width = high - least
  // Without a step, the neighbour of an exclusive end is a value close to it.
  const near = step ?? Math.min(0.5, width / 4)
  const isLegal = (value: number): boolean =>
    value >= least &&
    value <= high &&
    value !== over &&
    value !== under &&
    !(whole && !Number.isInteger(value)) &&
    !(over !== undefined && value < over) &&
    !(under !== undefined && value > under)
  const align = (value: number, round: (value: number) => number): number =>
    step === null ? value : Number((round(value / step) * step).toPrecision(15))
  const low = align(least, Math.ceil)
  const top = align(high, Math.floor)
  const middle = align(least + width / 2, Math.floor)
  const between = [low + near, low + 2 * near, middle, middle + near, top - near]
  if (step === null) between.push(least + width * 0.37, Math.floor(least + width * 0.37))
  const corners = [low === over ? low + near : low, top === under ? top - near : top].filter(isLegal)
  const inner = between.map((value) => align(value, Math.round)).filter(isLegal)
  // An empty range is a mistake of the schema's author and is not handled here.
  return corners.length > 0 ? { corners, inner } : { corners: [least], inner }
}

interface Lengths {
  readonly low: number
  readonly high: number
}

function toLengths(schema: JsonObject, least: string, most: string, usual: number, bound: number): Lengths {
  const low = read(schema, least) ?? 0
  return { low, high: Math.min(read(schema, most) ?? low + usual, bound) }
}

function sampleLengths(
  given: readonly JsonValue[],
  { low, high }: Lengths,
  make: (length: number) => JsonValue,
): FieldSamples {
  return {
    corners: [...given, make(low), make(high)],
    inner: [low + 1, low + 2].filter((length) => length < high).map(make),
  }
}

function read(schema: JsonObject, name: string): number | undefined {
  return typeof schema[name] === 'number' ? schema[name] : undefined
}

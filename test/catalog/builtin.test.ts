// The catalog that ships: it loads, and each price is what the design says. Engines, Built in.
import { builtinCatalog } from '@mediagen/builtin/catalog.ts'
import type { JsonObject, JsonValue, Usage } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { Model } from '../../src/catalog/model.ts'
import { priceUsage } from '../../src/catalog/prices/pricing.ts'
import { readConfig } from '../../src/config.ts'
import { kinds } from './kinds.ts'

const models = loadCatalog(builtinCatalog, kinds)
const picture = 'data:image/png;base64,iVBORw0KGgo='

function find(id: string): Model {
  const model = models.find((one) => one.id === id)
  if (!model) throw new Error(`${id} does not ship`)
  return model
}

function chargeOf(id: string, input: JsonObject, usage: Usage): number | null {
  const price = find(id).usagePrice(input)
  return price && priceUsage(price, usage)
}

function quote(id: string, input: JsonObject): number {
  const checked = find(id).checkInput(input)
  if (!checked.ok) throw new Error(JSON.stringify(checked.violations))
  return find(id).quotedPrice(checked.input)
}

test.each([
  ['builtin/image/poster/text-to-image', 'builtin/image/poster', 'text-to-image', 'text-to-image'],
  ['builtin/image/art/text-to-image', 'builtin/image/art', 'text-to-image', 'text-to-image'],
  ['builtin/image/art/edit', 'builtin/image/art', 'edit', 'image-to-image'],
  ['builtin/image/upscale', 'builtin/image/upscale', 'upscale', 'image-to-image'],
])('%s ships, as a mode of its product', (id, product, mode, category) => {
  expect(find(id)).toMatchObject({ product, mode, category, modality: 'image' })
})

test.each(models.map((model) => [model.id, model] as const))(
  'the time of %s does not run out while it waits behind films',
  (_id, { timeoutMs }) => {
    // Until a process is free, and then its own work, each as long as a process may take.
    const { childSeconds } = readConfig({})
    expect(timeoutMs).toBeGreaterThan(2 * childSeconds * 1000)
  },
)

test('pictures come first, then films, then sounds', () => {
  expect([...new Set(models.map(({ modality }) => modality))]).toEqual(['image', 'video', 'audio'])
})

test('a poster costs 1 credit', () => {
  for (const size of ['square', 'print'])
    expect(quote('builtin/image/poster/text-to-image', { title: 'x', size })).toBe(1)
})

describe('art costs a credit for each two megapixels begun', () => {
  test.each([
    [64, 64],
    [1024, 1024],
    [2000, 1000],
    [2000, 1001],
    [2048, 2048],
  ])('%i × %i', (width, height) => {
    const expected = Math.ceil((width * height) / 1e6 / 2)
    expect(quote('builtin/image/art/text-to-image', { prompt: 'x', width, height })).toBe(expected)
  })
})

describe('an edit costs what it takes, and at most what it would for an image of as many megapixels as are asked for', () => {
  const sharpen = { sharpen: 1 }
  const sixteen = Array.from({ length: 16 }, () => sharpen)
  test.each([
    [{}, 1],
    [{ operations: [sharpen] }, 3],
    [{ operations: sixteen, megapixels: 50 }, 98],
    [{ operations: sixteen, megapixels: 1 }, 3],
    [{ max_width: 4096, max_height: 4096, format: 'jpeg' }, 4],
  ])('%j', (input, credits) => {
    expect(quote('builtin/image/art/edit', { image: picture, ...input })).toBe(credits)
  })

  test('charged is the work, and the least is one credit', () => {
    const charge = (work: number) => chargeOf('builtin/image/art/edit', { image: picture }, { work })
    expect([0.001, 1, 1.01, 12].map(charge)).toEqual([1, 1, 2, 12])
  })
})

test('to upscale costs a credit for each eight megapixels asked for', () => {
  expect(quote('builtin/image/upscale', { image: picture })).toBe(1)
  expect(quote('builtin/image/upscale', { image: picture, width: 4096, height: 4096 })).toBe(3)
})

describe('a film costs by its pixels, all frames together', () => {
  test.each([
    ['kenburns/image-to-video', { image: picture }, 1 + Math.ceil((1280 * 720 * 25 * 5) / 25e6)],
    ['kenburns/image-to-video', { image: picture, duration: 0.5, width: 64, height: 64 }, 2],
    ['slideshow/images-to-video', { images: [picture, picture] }, 1 + Math.ceil((1280 * 720 * 25 * 6) / 25e6)],
    ['motion/text-to-video', { prompt: 'x', fps: 30 }, 1 + Math.ceil((1280 * 720 * 30 * 6) / 18e6)],
    [
      'narrated/text-to-video',
      { title: 'four', text: 'x'.repeat(136) },
      2 + Math.ceil((1280 * 720 * 25 * (4 + 140 / 14)) / 25e6),
    ],
  ])('%s %o', (id, input, expected) => {
    expect(quote(`builtin/video/${id}`, input)).toBe(expected)
  })
})

test.each(models.map((model) => [model.id, model] as const))('%s is cheapest at its from_credits', (_id, model) => {
  expect(Number.isSafeInteger(model.fromCredits) && model.fromCredits >= 0).toBe(true)
  expect(model.priceSummary).not.toBe('')
})

test('the catalog says that the prompt of the art is not understood', () => {
  expect(find('builtin/image/art/text-to-image').description).toContain('not understood')
})

test.each(models.map((model) => [model.id, model] as const))(
  '%s has no description that is cut off: YAML takes " #" for the beginning of a comment',
  (_id, { name, description, inputSchema }) => {
    const fields = Object.values(inputSchema['properties'] as Record<string, JsonObject>)
    for (const text of [description, ...fields.map((field) => field['description'])]) expect(text).toMatch(/[.)!?]$/)
    for (const title of [name, ...fields.map((field) => field['title'])]) expect(title).toMatch(/[\p{L}\d)?]$/u)
  },
)

/** Every field of a schema with its path, however deep, and the items of its lists. */
function fieldsOf(schema: JsonObject, path = ''): readonly (readonly [path: string, field: JsonObject])[] {
  const named = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>)
  const inside = schema['items'] === undefined ? named : [...named, ['items', schema['items'] as JsonObject] as const]
  return inside.flatMap(([name, field]) => [[`${path}/${name}`, field] as const, ...fieldsOf(field, `${path}/${name}`)])
}

/** Keywords that bound what a field takes, by its type; one group of them has to be there. */
const bounds: Readonly<Record<string, readonly (readonly string[])[]>> = {
  string: [['maxLength'], ['enum']],
  integer: [['minimum', 'maximum'], ['enum']],
  number: [['minimum', 'maximum'], ['enum']],
  array: [['minItems', 'maxItems']],
  object: [['additionalProperties', 'properties']],
  boolean: [[]],
}

test.each(models.map((model) => [model.id, model] as const))(
  '%s says of every field what it is, gives examples of it and bounds it',
  (_id, { inputSchema }) => {
    for (const [path, field] of fieldsOf(inputSchema)) {
      for (const word of ['title', 'description']) expect(field[word], `${path} ${word}`).toMatch(/\S/)
      expect((field['examples'] as JsonValue[] | undefined)?.length, `${path} examples`).toBeGreaterThan(0)
      const groups = bounds[String(field['type'])] ?? []
      expect(
        groups.some((group) => group.every((word) => word in field)),
        `${path} has bounds`,
      ).toBe(true)
    }
  },
)

test.each(models.map((model) => [model.id, model] as const))('%s takes every example of its fields', (id, model) => {
  const { properties, required } = model.inputSchema as {
    properties: Record<string, { examples: JsonValue[] }>
    required: string[]
  }
  const least = Object.fromEntries(required.map((name) => [name, properties[name]?.examples[0] ?? null]))
  for (const [name, { examples }] of Object.entries(properties))
    for (const example of examples) expect(quote(id, { ...least, [name]: example }), name).toBeGreaterThan(0)
})

test('speech costs at most a credit for each 200 characters, and one for each 15 seconds that come out', () => {
  const id = 'builtin/audio/speech/text-to-speech'
  expect(quote(id, { text: 'x'.repeat(200) })).toBe(1)
  expect(quote(id, { text: 'x'.repeat(201) })).toBe(2)
  expect(chargeOf(id, { text: 'x' }, { seconds: 15 })).toBe(1)
  expect(chargeOf(id, { text: 'x' }, { seconds: 15.1 })).toBe(2)
})

test('music costs a credit for each 15 seconds begun', () => {
  for (const [duration, credits] of [
    [5, 1],
    [15, 1],
    [30, 2],
    [120, 8],
  ] as const)
    expect(quote('builtin/audio/music/text-to-audio', { prompt: 'x', duration })).toBe(credits)
})

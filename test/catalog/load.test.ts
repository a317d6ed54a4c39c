// Catalog files: what is right is loaded in order, what is wrong is named by file, model and field. Engines, The catalog file.
import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isStringOneByteRepresentation } from 'node:v8'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, describe, expect, test } from 'vitest'
import { createEntrySchema } from '../../src/catalog/entry.ts'
import { CatalogError, loadCatalog } from '../../src/catalog/load.ts'
import { priceUsage } from '../../src/catalog/prices/pricing.ts'
import { kinds } from './kinds.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-catalog-'))
afterAll(() => rmSync(folder, { recursive: true }))

const good = {
  id: 'acme/paint/text-to-image',
  name: 'Acme Paint',
  description: 'Paints what the prompt says.',
  category: 'text-to-image',
  modality: 'image',
  owned_by: 'acme',
  created: '2026-11-01',
  price: { credits: '1 + ceil(width / 1000)' } as Record<string, unknown>,
  engine: { kind: 'command', run: ['paint'] } as Record<string, unknown>,
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['prompt'],
    properties: {
      prompt: { type: 'string', minLength: 1 },
      width: { type: 'integer', minimum: 64, maximum: 2048, default: 1024 },
      depth: { type: 'integer' },
    },
  } as Record<string, unknown>,
}

let files = 0
/** Writes a catalog file; JSON is YAML. */
function write(content: unknown, extension = 'yaml'): string {
  const file = join(folder, `catalog-${++files}.${extension}`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const load = (...models: object[]) => loadCatalog([write({ models })], kinds)

test('an id takes one byte a character, whatever else is in its file', () => {
  const [model] = loadCatalog(
    [
      write(
        `models:\n- ${JSON.stringify({ ...good, id: undefined, name: '“☃”' }).replace('{', '{id: acme/paint/text-to-image, ')}`,
      ),
    ],
    kinds,
  )
  expect(model?.name).toBe('“☃”')
  expect(isStringOneByteRepresentation(model?.id ?? '')).toBe(true)
})

function refusal(paths: readonly string[]): string {
  try {
    loadCatalog(paths, kinds)
  } catch (error) {
    expect(error).toBeInstanceOf(CatalogError)
    return (error as Error).message
  }
  throw new Error('the catalog was not refused')
}

test('a model is loaded with all that it says', () => {
  const [model] = load(good)
  expect(model).toMatchObject({
    id: good.id,
    product: good.id,
    mode: 'text-to-image',
    name: 'Acme Paint',
    category: 'text-to-image',
    modality: 'image',
    ownedBy: 'acme',
    createdAtMs: Date.UTC(2026, 10, 1),
    billing: 'fixed',
    fromCredits: 2,
    timeoutMs: 600_000,
    concurrency: 1,
  })
  expect(model?.quotedPrice({ prompt: 'x', width: 2048 })).toBe(4)
})

test('product and mode may be named', () => {
  expect(load({ ...good, product: 'acme/paint', mode: 'paint' })[0]).toMatchObject({
    product: 'acme/paint',
    mode: 'paint',
  })
})

test('a model may have a version, an end and a successor, which is another model of the catalog', () => {
  const life = { version: '1.5', released: '2025-12-16', shutdown_date: '2026-12-01', replaced_by: 'acme/paint-2' }
  const [model] = load({ ...good, ...life }, { ...good, id: 'acme/paint-2' })
  expect(model).toMatchObject({
    version: '1.5',
    released: '2025-12-16',
    shutdownDate: '2026-12-01',
    replacedBy: 'acme/paint-2',
  })
  const refused = (more: object) => refusal([write({ models: [{ ...good, ...more }] })])
  expect(refused({ replaced_by: 'acme/none' })).toContain('replaced_by names "acme/none", which the catalog lacks')
  expect(refused({ released: '2026-11-02', shutdown_date: '2026-11-01' })).toContain('shutdown_date is before released')
  expect(refused({ replaced_by: good.id })).toContain('replaced_by names the model itself')
  expect(refused({ shutdown_date: 'soon' })).toContain('shutdown_date')
})

test('a model may have aliases (P249)', () => {
  const aliases = ['gpt-image-1', 'dall-e-2', 'Acme/Paint:v1']
  expect(load({ ...good, aliases })[0]?.aliases).toEqual(aliases)
  expect(load(good)[0]?.aliases).toEqual([])
})

test.each([
  [
    'another alias',
    [
      { id: 'a', aliases: ['x'] },
      { id: 'b', aliases: ['x'] },
    ],
    'model "b": aliases: "x" is a name of model "a"',
  ],
  ['a later id', [{ id: 'a', aliases: ['b'] }, { id: 'b' }], 'model "a": aliases: "b" is a name of model "b"'],
  ['the id of its model', [{ id: 'a', aliases: ['a'] }], 'model "a": aliases: "a" is a name of model "a"'],
])('an alias that is %s is refused by name (P249)', (_what, entries, words) => {
  const file = write({ models: entries.map((entry) => ({ ...good, ...entry })) })
  expect(refusal([file])).toBe(`The catalog is invalid: ${words}.`)
})

test.each([[['']], [['a b']], [['x', 'x']], ['x'], [[1]]])('aliases are names: %j is refused (P249)', (aliases) => {
  expect(refusal([write({ models: [{ ...good, aliases }] })])).toMatch(/model "acme\/paint\/text-to-image": aliases/)
})

describe("fields of OpenAI's interface (P274)", () => {
  const loadWith = (openai: object) => load({ ...good, openai })

  test('are names of fields of the input, or values that set some', () => {
    const openai = { prompt: 'prompt', size: { '512x512': { width: 512 }, auto: {} } }
    expect(loadWith(openai)[0]?.openaiFields).toEqual(openai)
    expect(load(good)[0]?.openaiFields).toEqual({})
  })

  test.each([
    [{ sizes: 'width' }, 'openai.sizes is not a known field'],
    [{ size: 7 }, 'openai.size must be'],
    [{ size: {} }, 'openai.size must'],
    [{ size: { auto: 'width' } }, 'openai.size.auto must be'],
    [{ size: 'toString' }, 'openai.size names "toString", which is no field of the input'],
    [{ size: { auto: { wide: 1 } } }, 'openai.size.auto names "wide", which is no field of the input'],
    [{ size: { auto: { width: 63 } } }, 'openai.size.auto.width must be at least 64'],
  ])('are refused by name: %j', (openai, words) => {
    expect(() => loadWith(openai)).toThrow(`model "acme/paint/text-to-image": ${words}`)
  })
})

test('a price may be a plain number', () => {
  expect(load({ ...good, price: { credits: 5 } })[0]).toMatchObject({ fromCredits: 5, priceSummary: '5 credits' })
})

test('a price billed by usage has a bound and what it comes to', () => {
  const [model] = load({ ...good, price: { at_most: 'width * 2', actual: 'ceil(usage.seconds) * 2' } })
  expect(model).toMatchObject({ billing: 'usage', fromCredits: 128 })
  expect(model?.quotedPrice({ width: 100 })).toBe(200)
  const price = model?.usagePrice({ width: 100 })
  expect(price).toEqual({ expression: 'ceil(usage.seconds) * 2', input: {} })
  expect(price && priceUsage(price, { seconds: 3.5 })).toBe(8)
})

test('checking an input applies defaults to a copy and leaves what was given as it is', () => {
  const given = { prompt: 'x' }
  expect(load(good)[0]?.checkInput(given)).toEqual({ ok: true, input: { prompt: 'x', width: 1024 } })
  expect(given).toEqual({ prompt: 'x' })
})

test('files and folders are read in their order, the files of a folder by name, others passed over', () => {
  const inner = join(folder, 'inner')
  mkdirSync(inner)
  const entry = (id: string): string => JSON.stringify({ models: [{ ...good, id }] })
  writeFileSync(join(inner, 'b.yml'), entry('b'))
  writeFileSync(join(inner, 'a.json'), entry('a'))
  writeFileSync(join(inner, 'notes.txt'), 'no catalog')
  const first = write({ models: [{ ...good, id: 'z' }] })
  expect(loadCatalog([first, inner], kinds).map(({ id }) => id)).toEqual(['z', 'a', 'b'])
})

test('in JSON the same key may stand in several objects, and braces and quotes in strings are no matter', () => {
  const description = '"id": "x", {"id": "y"} \\ \\" } {'
  const models = [
    { ...good, id: 'a', description },
    { ...good, id: 'b' },
  ]
  expect(loadCatalog([write({ models }, 'json')], kinds).map(({ id }) => id)).toEqual(['a', 'b'])
})

test('an empty list of models is a catalog', () => {
  expect(load()).toEqual([])
})

describe('a wrong field is refused with file, model and field', () => {
  const without = (name: keyof typeof good) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))

  test.each<[string, object, string]>([
    ['no id', without('id'), 'id is required'],
    ['no name', without('name'), 'name is required'],
    ['no description', without('description'), 'description is required'],
    ['no category', without('category'), 'category is required'],
    ['no modality', without('modality'), 'modality is required'],
    ['no owner', without('owned_by'), 'owned_by is required'],
    ['no date', without('created'), 'created is required'],
    ['no price', without('price'), 'price is required'],
    ['no engine', without('engine'), 'engine is required'],
    ['no input', without('input'), 'input is required'],
    ['a misspelt field', { ...good, descripton: 'x' }, 'descripton is not a known field'],
    ['an id with capitals', { ...good, id: 'Acme' }, 'id '],
    ['an id that is a route', { ...good, id: 'categories' }, 'id '],
    ['an id with an empty part', { ...good, id: 'a//b' }, 'id '],
    ['an id that climbs', { ...good, id: '../a' }, 'id '],
    ['an unknown modality', { ...good, modality: 'smell' }, 'modality must be one of "image", "video", "audio"'],
    ['no date', { ...good, created: 'yesterday' }, 'created '],
    ['two kinds of price', { ...good, price: { credits: 1, at_most: 2, actual: 1 } }, 'price'],
    ['a bound without an actual price', { ...good, price: { at_most: 2 } }, 'price'],
    ['a price that is no CEL', { ...good, price: { credits: '1 +' } }, 'price.credits '],
    ['a price of a fraction', { ...good, price: { credits: 'width / 1000' } }, 'price.credits '],
    ['a price below zero', { ...good, price: { credits: 'width - 100' } }, 'price.credits '],
    [
      'a price of a field that the schema does not guarantee',
      { ...good, price: { credits: 'depth' } },
      'price.credits reads "depth"',
    ],
    ['a price of no field', { ...good, price: { credits: 'hight' } }, 'price.credits reads "hight"'],
    [
      'an actual price of no field',
      { ...good, price: { at_most: '9', actual: 'hight' } },
      'price.actual reads "hight"',
    ],
    ['an unknown engine', { ...good, engine: { kind: 'magic' } }, 'engine.kind must be one of'],
    ['a command without a program', { ...good, engine: { kind: 'command' } }, 'engine.run is required'],
    [
      'a misspelt engine setting',
      { ...good, engine: { ...good.engine, timeout: 1 } },
      'engine.timeout is not a known field',
    ],
    ['a timeout of nothing', { ...good, engine: { ...good.engine, timeout_seconds: 0 } }, 'engine.timeout_seconds '],
    ['an input that is no object', { ...good, input: { type: 'string', properties: {} } }, 'input.type '],
    [
      'an input that is no schema',
      { ...good, input: { type: 'object', properties: { a: { type: 'text' } } } },
      'input ',
    ],
    [
      'a misspelt keyword',
      { ...good, input: { type: 'object', properties: { a: { type: 'integer', minimun: 1 } } } },
      'input ',
    ],
  ])('%s', (_what, entry, expected) => {
    const file = write({ models: [{ ...good, id: 'fine' }, entry] })
    const message = refusal([file])
    const { id } = entry as { id?: string }
    expect(message).toContain(`${file}: model ${id === undefined ? 'number 2' : `"${id}"`}: ${expected}`)
  })
})

describe('a wrong file is refused by name', () => {
  test.each([
    ['no YAML', 'models: [', /is not YAML/],
    ['where it is wrong', 'models:\n  - id: [', /is not YAML: .* \(line 2, column \d+\)/],
    ['two documents', 'models: []\n---\nmodels: []', /has more than one document/],
    ['no models', 'modles: []', /models must be a list/],
    ['nothing', '', /models must be a list/],
    ['a list', '[]', /models must be a list/],
    ['models that are no list', 'models: {}', /models must be a list/],
    ['a model that is none', 'models: [5]', /model number 1: /],
  ])('%s', (_what, content, expected) => {
    const file = write(content)
    expect(refusal([file])).toContain(file)
    expect(refusal([file])).toMatch(expected)
  })

  test.each([
    ['{"models": [\n{"id": "a", "price": {"credits": 1},\n "price" : {"credits": 2}}]}', '"price" twice (line 3)'],
    ['{"models": [], "mod\\u0065ls": []}', '"mod\\u0065ls" twice (line 1)'],
  ])('JSON with a key that one object has twice: %s', (content, expected) => {
    expect(refusal([write(content, 'json')])).toContain(`has the key ${expected}`)
    expect(refusal([write(content, 'yaml')])).toContain('duplicated mapping key')
  })

  test('a missing one', () => {
    expect(refusal([join(folder, 'none.yaml')])).toContain('none.yaml: cannot be read (no such file or directory).')
  })
})

test('an id that is taken is refused, within a file and across files', () => {
  const file = write({ models: [good, good] })
  expect(refusal([file])).toContain(`${file}: model "${good.id}": id is taken`)
  const [first, second] = [write({ models: [good] }), write({ models: [good] })]
  expect(refusal([first, second])).toContain(`${second}: model "${good.id}": id is taken`)
})

test('everything that is wrong is listed at once, each on a line of its own', () => {
  const [one, two] = [
    write({ models: [{ ...good, name: '' }] }),
    write({ models: [{ ...good, id: 'b', modality: 'x' }] }),
  ] as [string, string]
  expect(refusal([one, two]).split('\n')).toEqual([
    'The catalog is invalid:',
    `  ${one}: model "${good.id}": name must not be empty`,
    `  ${two}: model "b": modality must be one of "image", "video", "audio"`,
  ])
  const many = refusal([write({ models: Array.from({ length: 22 }, () => ({ ...good, name: '' })) })])
  expect(many.split('\n').slice(-2)).toEqual([expect.stringContaining('name must not be empty'), '  and 2 more'])
})

describe('a price that some inputs would not have is refused when it is loaded', () => {
  const field = (schema: object, credits: string) => ({
    ...good,
    price: { credits },
    input: { type: 'object', properties: { n: schema }, required: ['n'] },
  })
  test.each([
    ['a half of an odd number', { type: 'integer', minimum: 0, maximum: 100 }, 'n / 2'],
    ['a third', { type: 'integer', minimum: 0, maximum: 99 }, 'n / 3'],
    ['a half of what is odd above the middle', { type: 'integer', minimum: 0, maximum: 100 }, 'n > 50 ? n / 2 : n'],
    ['a sixth of a multiple', { type: 'integer', minimum: 0, maximum: 96, multipleOf: 8 }, 'n / 16'],
    ['a number with a fraction', { type: 'number', minimum: 0, maximum: 10 }, 'n'],
    ['twice a number with a fraction', { type: 'number', minimum: 0, maximum: 10 }, 'n * 2'],
    ['a half of a length', { type: 'string', minLength: 0, maxLength: 100 }, 'size(n) / 2'],
    ['a half of a count', { type: 'array', maxItems: 10, items: { type: 'string' } }, 'size(n) / 2'],
  ])('%s', (_what, schema, credits) => {
    expect(refusal([write({ models: [field(schema, credits)] })])).toMatch(/price\.credits .*ceil\(\)/)
  })

  test.each([
    ['a half of an even number', { type: 'integer', minimum: 0, maximum: 100, multipleOf: 2 }, 'n / 2'],
    ['a tenth of a decimal', { type: 'number', minimum: 0.1, maximum: 0.9, multipleOf: 0.1 }, 'ceil(n) * 2'],
    ['what the schema keeps from zero', { type: 'number', exclusiveMinimum: 0, maximum: 10 }, 'ceil(10 / n)'],
    ['one of a few', { type: 'integer', enum: [2, 4] }, 'n / 2'],
    ['only one', { type: 'integer', minimum: 3, maximum: 3 }, 'n / 3'],
    ['below a bound', { type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 4 }, '6 / n'],
  ])('%s is loaded', (_what, schema, credits) => {
    expect(load(field(schema, credits))).toHaveLength(1)
  })

  test('also when the price reads so many fields that not all can be combined', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const integer = { type: 'integer', minimum: 0, maximum: 100 }
    const input = { type: 'object', required: names, properties: Object.fromEntries(names.map((n) => [n, integer])) }
    for (const odd of names) {
      const credits = [...names.filter((name) => name !== odd), `${odd} / 2`].join(' + ')
      expect(refusal([write({ models: [{ ...good, price: { credits }, input }] })])).toContain('price.credits')
    }
    const [sum] = load({ ...good, price: { credits: names.join(' + ') }, input })
    expect(sum?.fromCredits).toBe(0)
  })
})

describe('a price billed by usage is tried on usage when it is loaded', () => {
  test.each([
    ['usage.seconds * 2', /price\.actual .*gives 6\.4.*ceil\(\).*"usage":\{"seconds":3\.2\}/],
    ['ceil(usage.seconds) - 1', /price\.actual .*gives -1/],
    ['ceil(10 / usage.seconds)', /price\.actual /],
    ['usage.nope.deeper * 2 + true', /price\.actual /],
    ['ceil(usage.seconds) + true', /price\.actual /],
    ['ceil(usage.seconds) + usage.images', /price\.actual .*ceil\(\)/],
    ['usage', /price\.actual /],
    ['ceil(usage.seconds) + width / 2', /price\.actual .*ceil\(\)/],
  ])('%s is refused', (actual, words) => {
    expect(refusal([write({ models: [{ ...good, price: { at_most: '9', actual } }] })])).toMatch(words)
  })

  test.each(['ceil(usage.seconds * 2)', 'ceil(usage.seconds) * width + ceil(usage.images)', '7'])(
    '%s is loaded',
    (actual) => {
      expect(load({ ...good, price: { at_most: '9', actual } })).toHaveLength(1)
    },
  )
})

test.each([
  ['"constructor":{"type":"string"}', 'input has a field "constructor", a name that every object has'],
  ['"a":{"$ref":"#/properties/a"}', 'input.properties.a.$ref leads back to itself and never ends'],
  [
    '"seed":{"default":6687881544318117707}',
    'input.properties.seed.default must be a number that JSON carries exactly',
  ],
])('a schema that no model can live with is refused by its field: %s', (properties, words) => {
  const entry = JSON.stringify({ ...good, price: { credits: 1 }, input: { type: 'object', properties: {} } })
  const text = `{"models":[${entry.replace('"properties":{}', `"properties":{${properties}}`)}]}`
  expect(refusal([write(text)])).toContain(words)
})

test('an input without a price is reported with the model, the field and the expression', () => {
  const [model] = load({ ...good, price: { credits: 'width == 777 ? 0.5 : 1' } })
  expect(() => model?.quotedPrice({ width: 777 })).toThrow(
    /price\.credits of acme\/paint\/text-to-image: "width == 777/,
  )
})

test('an input whose price from usage would fail is refused before the work', () => {
  const [model] = load({ ...good, price: { at_most: '9', actual: 'ceil(max(0, usage.seconds / (width - 777)))' } })
  expect(model?.quotedPrice({ width: 2000 })).toBe(9)
  expect(() => model?.quotedPrice({ width: 777 })).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^price\.actual of acme\/paint\/text-to-image: .*divided by 0/),
      values: { width: 777 },
    }),
  )
})

test('the form of catalog entries is a schema, though no start holds it against the schema of schemas', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false })
  expect(ajv.validateSchema(createEntrySchema(kinds)), ajv.errorsText()).toBe(true)
})

// From a model's input schema to the fields of its form.
import { builtinCatalog } from '@mediagen/builtin/catalog.ts'
import { expect, test } from 'vitest'
import { loadCatalog } from '../../src/catalog/load.ts'
import { type Field, toField, toForm } from '../../web/form-model.ts'
import type { JsonObject } from '../../web/records.ts'
import { kinds } from '../catalog/kinds.ts'

const field = (schema: JsonObject, name = 'x', root: JsonObject = {}): Field => toField(name, schema, true, root)

test('each kind of schema has its kind of field', () => {
  expect(field({ type: 'string', maxLength: 160 })).toMatchObject({ kind: 'text', long: false, maxLength: 160 })
  expect(field({ type: 'string', maxLength: 2000 })).toMatchObject({ kind: 'text', long: true })
  expect(field({ type: 'string' }, 'prompt')).toMatchObject({ kind: 'text', long: true })
  expect(field({ type: 'string', pattern: '^#[0-9a-f]{6}$' })).toMatchObject({ kind: 'color' })
  expect(field({ type: 'string', format: 'media' })).toMatchObject({ kind: 'media', accept: 'image/*,video/*,audio/*' })
  expect(field({ type: 'string', format: 'media', contentMediaType: 'image/*' })).toMatchObject({ accept: 'image/*' })
  expect(field({ type: 'boolean' })).toMatchObject({ kind: 'switch' })
  expect(field({ type: 'boolean', const: true })).toMatchObject({ kind: 'constant', value: true })
  expect(field({ type: 'integer', minimum: 64, maximum: 2048 })).toMatchObject({
    kind: 'number',
    integer: true,
    min: 64,
    max: 2048,
    step: 1,
    slider: true,
  })
  expect(field({ type: 'integer', minimum: 0, maximum: 2147483647 })).toMatchObject({ kind: 'number', slider: false })
  expect(field({ type: 'number', minimum: 0, maximum: 4 })).toMatchObject({
    kind: 'number',
    integer: false,
    step: 0.01,
  })
  expect(field({ enum: ['png', 'webp'] })).toMatchObject({ kind: 'choice', layout: 'chips', options: ['png', 'webp'] })
  expect(field({ enum: Array.from({ length: 12 }, (_, index) => index) })).toMatchObject({
    kind: 'choice',
    layout: 'list',
  })
  expect(field({ type: 'array', items: { type: 'string' }, maxItems: 3 })).toMatchObject({
    kind: 'list',
    maxItems: 3,
    item: { kind: 'text' },
  })
  expect(field({ type: 'object', properties: { a: { type: 'boolean' } } })).toMatchObject({
    kind: 'object',
    fields: [{ kind: 'switch', name: 'a' }],
  })
})

test('what no field fits is written as JSON, never dropped', () => {
  expect(field({ type: 'object' })).toMatchObject({ kind: 'json' })
  expect(field({})).toMatchObject({ kind: 'json' })
  expect(field({ anyOf: [{ type: 'string' }, { type: 'number' }] })).toMatchObject({ kind: 'json' })
  expect(field({ enum: [{ a: 1 }, 'b'] })).toMatchObject({ kind: 'json' })
})

test('words, defaults and examples come from the schema; a field without a title gets one from its name', () => {
  expect(
    field({ type: 'string', title: 'Prompt', description: 'Any words.', default: 'a', examples: ['b', 'c'] }),
  ).toMatchObject({ title: 'Prompt', description: 'Any words.', fallback: 'a', examples: ['b', 'c'] })
  expect(field({ type: 'string' }, 'max_width')).toMatchObject({
    title: 'Max width',
    fallback: undefined,
    examples: [],
  })
})

test('references, single-member unions and "or null" are seen through', () => {
  const root: JsonObject = { components: { schemas: { Size: { type: 'integer', minimum: 1, maximum: 8 } } } }
  expect(field({ $ref: '#/components/schemas/Size', title: 'Size' }, 'x', root)).toMatchObject({
    kind: 'number',
    max: 8,
    title: 'Size',
  })
  expect(field({ allOf: [{ $ref: '#/components/schemas/Size' }], default: 2 }, 'x', root)).toMatchObject({
    kind: 'number',
    fallback: 2,
  })
  expect(field({ anyOf: [{ type: 'string', maxLength: 9 }, { type: 'null' }] })).toMatchObject({
    kind: 'text',
    maxLength: 9,
  })
  expect(field({ type: ['integer', 'null'], minimum: 3 })).toMatchObject({ kind: 'number', min: 3 })
  expect(field({ $ref: '#/nowhere' }, 'x', root)).toMatchObject({ kind: 'json' })
})

test('a schema that refers to itself ends', () => {
  const root: JsonObject = { tree: { type: 'object', properties: { child: { $ref: '#/tree' } } } }
  expect(JSON.stringify(field({ $ref: '#/tree' }, 'x', root))).toContain('"kind":"json"')
  const loop: JsonObject = { a: { $ref: '#/a' } }
  expect(field({ $ref: '#/a' }, 'x', loop)).toMatchObject({ kind: 'json' })
})

test('a field that the schema says is rarely changed is advanced, unless it is required (P81)', () => {
  const rare = { type: 'integer', 'x-advanced': true }
  expect(toField('x', rare, false, {})).toMatchObject({ advanced: true })
  expect(toField('x', rare, true, {})).toMatchObject({ advanced: false })
  expect(toField('x', { type: 'integer' }, false, {})).toMatchObject({ advanced: false })
})

test('every model that ships has a form without a field of JSON', () => {
  const models = loadCatalog(builtinCatalog, kinds)
  expect(models.length).toBeGreaterThan(2)
  for (const model of models) {
    const form = toForm({ openapi: model.openapi })
    expect(form?.fields.map(({ name }) => name)).toEqual(Object.keys(model.inputSchema['properties'] as object))
    expect(JSON.stringify(form)).not.toContain('"kind":"json"')
  }
})

test('the operations of an edit are a list of picks', () => {
  const edit = loadCatalog(builtinCatalog, kinds).find(({ id }) => id === 'builtin/image/art/edit')
  const operations = toForm({ openapi: edit?.openapi ?? {} })?.fields.find(({ name }) => name === 'operations')
  expect(operations).toMatchObject({ kind: 'list', maxItems: 16, item: { kind: 'pick' } })
})

test('a document without an object schema has no form', () => {
  expect(toForm({ openapi: {} })).toBeNull()
  expect(
    toForm({
      openapi: {
        paths: { '/m': { post: { requestBody: { content: { 'application/json': { schema: { type: 'string' } } } } } } },
      },
    }),
  ).toBeNull()
})

// What a form sends, what it misses, and which field a pointer means.
import { expect, test } from 'vitest'
import { type ObjectField, toField } from '../../web/form-model.ts'
import { composeObject, findMissing, type FormNode, locate, startingValue } from '../../web/form-value.ts'
import type { Json, JsonObject } from '../../web/records.ts'

const object = (schema: JsonObject, required = true): ObjectField =>
  toField('o', { type: 'object', ...schema }, required, {}) as ObjectField
const compose = (field: ObjectField, values: Record<string, Json>): JsonObject | undefined =>
  composeObject(field, new Map(Object.entries(values)))

test('a value that equals its default is left out, another is sent', () => {
  const field = object({
    required: ['prompt'],
    properties: {
      prompt: { type: 'string', default: 'a' },
      width: { type: 'integer', default: 1024 },
      tags: { type: 'array', items: {}, default: [] },
    },
  })
  expect(compose(field, { prompt: 'a', width: 1024, tags: [] })).toEqual({ prompt: 'a' })
  expect(compose(field, { prompt: 'a', width: 512, tags: ['b'] })).toEqual({ prompt: 'a', width: 512, tags: ['b'] })
})

test('a schema that asks for keys gets its defaults too', () => {
  const adjust = object({
    minProperties: 1,
    properties: { brightness: { type: 'number', default: 1 }, hue: { type: 'integer', default: 0 } },
  })
  expect(compose(adjust, { brightness: 1, hue: 0 })).toEqual({ brightness: 1, hue: 0 })
  expect(compose(adjust, { brightness: 2, hue: 0 })).toEqual({ brightness: 2 })
})

test('an empty object is sent only where one is required', () => {
  expect(compose(object({ properties: { a: { type: 'string' } } }, false), {})).toBeUndefined()
  expect(compose(object({ properties: { a: { type: 'string' } } }), {})).toEqual({})
})

test('what is missing is found by pointer, also in parts of a list', () => {
  const operation = {
    type: 'object',
    maxProperties: 1,
    properties: {
      blur: { type: 'number' },
      crop: {
        type: 'object',
        required: ['width', 'a/b'],
        properties: { width: { type: 'integer' }, 'a/b': { type: 'integer' } },
      },
    },
  }
  const form = object({
    required: ['image'],
    properties: { image: { type: 'string' }, operations: { type: 'array', items: operation } },
  })
  expect(findMissing(form, {})).toEqual(['/image'])
  expect(findMissing(form, { image: 'x', operations: [{ blur: 2 }, { crop: { width: 5 } }, null] })).toEqual([
    '/operations/1/crop/a~1b',
    '/operations/2',
  ])
  const images = object({ properties: { images: { type: 'array', minItems: 2, items: { type: 'string' } } } })
  expect(findMissing(images, { images: ['a'] })).toEqual(['/images'])
  expect(findMissing(images, { images: ['a', 'b'] })).toEqual([])
  expect(findMissing(images, {})).toEqual([])
  expect(findMissing(form, { image: 'x' })).toEqual([])
  const logo = object({ properties: { logo: { type: 'string', format: 'media' } } })
  expect(findMissing(logo, {})).toEqual([])
  expect(findMissing(logo, { logo: null })).toEqual(['/logo'])
})

test('a part that is added works at once', () => {
  const start = (schema: JsonObject): Json | undefined => startingValue(toField('x', schema, true, {}))
  expect(start({ type: 'number', minimum: 0.3, examples: [6] })).toBe(6)
  expect(start({ type: 'number', minimum: 0.3 })).toBe(0.3)
  expect(start({ enum: ['horizontal', 'vertical'] })).toBe('horizontal')
  expect(start({ const: true })).toBe(true)
  expect(start({ type: 'object', properties: { a: { type: 'string' } }, examples: [{ a: 'b' }] })).toEqual({ a: 'b' })
})

test('a pointer leads to its field, or to the nearest one around it', () => {
  interface Named extends FormNode<Named> {
    readonly name: string
  }
  const leaf = (name: string): Named => ({ name, child: () => undefined })
  const branch = (name: string, parts: Record<string, Named>): Named => ({ name, child: (segment) => parts[segment] })
  const root = branch('root', {
    operations: branch('operations', { '0': branch('first', { blur: leaf('blur') }) }),
    'a/b': leaf('slash'),
  })
  expect(locate(root, '/input/operations/0/blur').name).toBe('blur')
  expect(locate(root, '/input/operations/0/nope').name).toBe('first')
  expect(locate(root, '/input/operations/7').name).toBe('operations')
  expect(locate(root, '/input/a~1b').name).toBe('slash')
  expect(locate(root, '/operations/0').name).toBe('first')
  expect(locate(root, '/input').name).toBe('root')
  expect(locate(root, '').name).toBe('root')
})

test('every kind of field has a starting value or none, and does not throw', () => {
  const schemas: JsonObject[] = [
    { type: 'string' },
    { type: 'boolean' },
    { type: 'array', items: {} },
    {},
    { type: 'string', format: 'media' },
  ]
  expect(schemas.map((schema) => startingValue(toField('x', schema, true, {})))).toEqual(schemas.map(() => undefined))
})

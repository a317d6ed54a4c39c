// The input schemas of models: multiples as they are written (P194), and schemas that no model can live with.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { checkInputSchema } from '../../src/catalog/schema-faults.ts'
import { createSchemaCompiler } from '../../src/catalog/schema.ts'

const { compileInput } = createSchemaCompiler([])

test.each([
  [0.1, [0.3, 0.7, -0.7, 0, 1.1, 1e15, 123_456_789.1, 4.3], [0.35, 0.30000000000000004, -0.05, 1e-7]],
  [0.01, [1.15, 4.35, 8.2, -1.15, 0.07, 33.33], [1.155, 0.005]],
  [1e-7, [3e-7, 0.0000005, 1], [1.5e-7, 1e-8]],
  [2.5, [7.5, -2.5, 0], [7.4, 1]],
  [8, [512, -8, 0, 9_007_199_254_740_984], [513, 0.8]],
  [1e300, [3e300], [1]],
])('of %s multiples are %j, and not %j', (multipleOf, multiples, others) => {
  const check = compileInput({ type: 'object', properties: { n: { type: 'number', multipleOf } } })
  for (const n of multiples) expect(check({ n }), String(n)).toEqual({ ok: true, input: { n } })
  for (const n of others)
    expect(check({ n }), String(n)).toEqual({
      ok: false,
      violations: [{ pointer: '/input/n', detail: `must be a multiple of ${multipleOf}` }],
    })
})

test('a default that is a multiple is applied, in lists, too', () => {
  const strength = { type: 'number', multipleOf: 0.1, default: 0.3 }
  const check = compileInput({ type: 'object', properties: { strength, more: { type: 'array', items: strength } } })
  expect(check({ more: [0.7] })).toEqual({ ok: true, input: { strength: 0.3, more: [0.7] } })
})

function refusal(schema: object): string | null {
  try {
    checkInputSchema(JSON.parse(typeof schema === 'string' ? schema : JSON.stringify(schema)) as JsonObject)
    return null
  } catch (error) {
    const { field, message } = error as { field: string; message: string }
    return `${field} ${message}`
  }
}

describe.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])('a field named %s', (name) => {
  const properties = Object.fromEntries([[name, { type: 'integer', default: 1 } as JsonValue]])
  test.each([
    ['input', { type: 'object', properties }],
    ['input', { type: 'object', properties: {}, required: [name] }],
    ['input.properties.size', { type: 'object', properties: { size: { type: 'object', properties } } }],
    ['input.$defs.size.items', { type: 'object', $defs: { size: { type: 'array', items: { properties } } } }],
    ['input.allOf.0', { type: 'object', properties: {}, allOf: [{ properties }] }],
  ])('is refused in %s', (field, schema) => {
    expect(refusal(schema)).toBe(`${field} has a field "${name}", a name that every object has; give it another`)
  })
})

describe('references without end are refused', () => {
  const a = { $ref: '#/$defs/a' }
  test.each([
    ['of a field to itself', { properties: { a: { $ref: '#/properties/a' } } }],
    ['of two to each other', { $defs: { a: { $ref: '#/$defs/b' }, b: a }, properties: { x: a } }],
    ['through anyOf', { $defs: { a: { anyOf: [{ type: 'string' }, a] } }, properties: { x: a } }],
    ['through oneOf and not', { $defs: { a: { oneOf: [{ not: a }] } }, properties: { x: a } }],
    ['through if and dependentSchemas', { $defs: { a: { if: { dependentSchemas: { x: a } } } } }],
    ['to the root', { properties: {}, allOf: [{ $ref: '#' }] }],
    ['by an anchor', { $defs: { a: { $anchor: 'here', anyOf: [{ $ref: '#here' }] } } }],
    ['by a dynamic anchor', { $dynamicAnchor: 'node', allOf: [{ $dynamicRef: '#node' }] }],
    ['by an id', { $id: 'https://example.com/input', allOf: [{ $ref: 'https://example.com/input' }] }],
  ])('%s', (_, schema) => {
    expect(refusal({ type: 'object', ...schema })).toMatch(/^input.* leads back to itself and never ends$/)
  })
})

test.each([
  { properties: { tree: { type: 'array', items: { $ref: '#/properties/tree' } } } },
  { $defs: { a: { type: 'string' } }, properties: { x: { $ref: '#/$defs/a' }, y: { $ref: '#/$defs/a' } } },
  { properties: { x: { type: 'object', additionalProperties: { $ref: '#' } } } },
  { properties: { x: { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/properties/x' } }] } } },
  { properties: { x: true, y: false, seed: { type: 'integer', maximum: 18446744073709552000 } } },
])('a schema that ends is accepted: %j', (schema) => {
  expect(refusal({ type: 'object', ...schema })).toBeNull()
})

test.each([
  ['input.properties.seed.default', '{"seed":{"default":6687881544318117707}}'],
  ['input.properties.seed.enum.1', '{"seed":{"enum":[1,-9007199254740993]}}'],
  ['input.properties.seed.const', '{"seed":{"const":1e30}}'],
  ['input.properties.size.default.width', '{"size":{"default":{"width":1e400}}}'],
  ['input.properties.seed.examples.0', '{"seed":{"examples":[9007199254740992]}}'],
])('a number that no input can carry is refused at %s', (field, properties) => {
  const text = `{"type":"object","properties":${properties}}`
  expect(refusal(text as never)).toMatch(`${field} must be a number that JSON carries exactly`)
})

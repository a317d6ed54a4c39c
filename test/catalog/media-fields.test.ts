// Every value of an input whose schema says `format: media` is found, and no other.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { toFieldName } from '@mediagen/engine/media.ts'
import { expect, test } from 'vitest'
import { createMediaFinder } from '../../src/catalog/media-fields.ts'

const media = { type: 'string', format: 'media' }
const a = 'data:,a'
const b = 'data:,b'

test.each<[string, JsonObject, JsonObject, Record<string, string>]>([
  ['a field', { properties: { image: media } }, { image: a }, { '/image': a }],
  ['a field that is absent', { properties: { image: media } }, {}, {}],
  ['no text in a field of another format', { properties: { text: { type: 'string' }, image: media } }, { text: a }, {}],
  [
    'items of an array',
    { properties: { images: { type: 'array', items: media } } },
    { images: [a, b] },
    { '/images/0': a, '/images/1': b },
  ],
  [
    'the first items, and the rest',
    { properties: { list: { prefixItems: [{ type: 'string' }, media], items: { properties: { url: media } } } } },
    { list: [a, b, { url: a }] },
    { '/list/1': b, '/list/2/url': a },
  ],
  [
    'nested objects, with names that a pointer escapes',
    { properties: { scenes: { type: 'array', items: { properties: { 'a/b~c': media } } } } },
    { scenes: [{ 'a/b~c': a }, {}] },
    { '/scenes/0/a~1b~0c': a },
  ],
  [
    'behind $ref, $defs and allOf',
    { $defs: { picture: { allOf: [media] } }, properties: { image: { $ref: '#/$defs/picture' } } },
    { image: a },
    { '/image': a },
  ],
  [
    'alternatives: what has the form of a reference',
    { properties: { image: { anyOf: [media, { enum: ['none'] }] }, other: { anyOf: [media, { enum: ['none'] }] } } },
    { image: 'none', other: a },
    { '/other': a },
  ],
  [
    'maps',
    { properties: { by: { patternProperties: { '^x': media }, additionalProperties: { properties: { y: media } } } } },
    { by: { x1: a, z: { y: b } } },
    { '/by/x1': a, '/by/z/y': b },
  ],
  [
    'a schema that refers to itself',
    {
      $defs: {
        node: { properties: { image: media, next: { $ref: '#/$defs/node' } }, allOf: [{ $ref: '#/$defs/node' }] },
      },
      $ref: '#/$defs/node',
    },
    { image: a, next: { image: b } },
    { '/image': a, '/next/image': b },
  ],
])('%s', (_name, schema, input, expected) => {
  const found = createMediaFinder(schema)(input)
  expect(Object.fromEntries(found.map(({ pointer, reference }) => [pointer, reference]))).toEqual(expected)
})

test('a $ref that could hide a reference is refused when the catalog loads', () => {
  const schema = { properties: { image: { $ref: '#picture' } }, $defs: { picture: { $anchor: 'picture', ...media } } }
  expect(() => createMediaFinder(schema)).toThrow('$ref "#picture"')
})

test.each([
  ['/image', 'image'],
  ['/images/0', 'images[0]'],
  ['/scenes/2/back~1ground', 'scenes[2].back/ground'],
])('%s is called %s', (pointer, name) => {
  expect(toFieldName(pointer)).toBe(name)
})

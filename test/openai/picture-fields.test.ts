// Which fields of a model take the pictures of a request (P262).
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { MediagenError } from '../../src/core/errors.ts'
import { findPictureFields, placePictures } from '../../src/openai/images/picture-fields.ts'

const picture = { type: 'string', format: 'media', contentMediaType: 'image/*' }
const pictures = { type: 'array', items: picture }

function place(
  properties: JsonObject,
  count: number,
  { mask = false, rest = {}, openai = {} }: { mask?: boolean; rest?: JsonObject; openai?: JsonObject } = {},
) {
  const images = Array.from({ length: count }, (_, index) => `https://a.example/${index}.png`)
  const model = { id: 'a/b', inputSchema: { properties, ...rest }, openaiFields: openai }
  try {
    return placePictures(model, { images, mask: mask ? 'https://a.example/m.png' : null })
  } catch (error) {
    expect(error).toBeInstanceOf(MediagenError)
    return (error as MediagenError).details.violations?.map(({ pointer, detail }) => `${pointer} ${detail}`)
  }
}
const [first, second, mask] = ['0', '1', 'm'].map((name) => `https://a.example/${name}.png`)

test('the only one, whatever its name', () => {
  expect(place({ prompt: {}, photo: picture }, 1)).toEqual({ photo: first })
  expect(place({ photos: pictures }, 1)).toEqual({ photos: [first] })
  expect(place({ photos: pictures }, 2)).toEqual({ photos: [first, second] })
  expect(place({ photo: picture, song: { ...picture, contentMediaType: 'audio/*' } }, 1)).toEqual({ photo: first })
  expect(place({ photo: { type: 'string', format: 'media' } }, 1)).toEqual({ photo: first })
})

test('the one that the catalog names', () => {
  const two = { image: picture, style: picture, paint: picture }
  expect(place(two, 1, { openai: { image: 'style' } })).toEqual({ style: first })
})

test('of several the required one, or the one with the usual name', () => {
  const two = { tail: picture, start: picture }
  expect(place(two, 1, { rest: { required: ['start'] } })).toEqual({ start: first })
  expect(place({ style: picture, image_url: picture }, 1)).toEqual({ image_url: first })
  expect(place({ style: picture, image: picture, images: pictures }, 1)).toEqual({ image: first })
  expect(place({ style: picture, image: picture, images: pictures }, 2)).toEqual({ images: [first, second] })
  expect(place(two, 1)).toEqual([
    '/image may be any of several fields of a/b; send it as JSON by its name: tail, start',
  ])
})

test('a mask is for a field of its own', () => {
  expect(place({ image: picture, mask_url: picture }, 1, { mask: true })).toEqual({ image: first, mask_url: mask })
  expect(place({ image: picture, mask: picture }, 1)).toEqual({ image: first })
  expect(place({ image: picture }, 1, { mask: true })).toEqual(['/mask is no field of a/b, which takes no mask'])
})

test('none, or not as many', () => {
  expect(place({ prompt: {} }, 1)).toEqual(['/image is no field of a/b, which takes no picture'])
  expect(place({ image: picture }, 2)).toEqual(['/image must be one picture: a/b takes no list'])
  expect(place({ prompt: {} }, 0)).toEqual({})
})

test('schemas that refer to others, and to themselves', () => {
  const $defs = { picture, loop: { anyOf: [{ $ref: '#/$defs/loop' }] } }
  expect(place({ image: { $ref: '#/$defs/picture' } }, 1, { rest: { $defs } })).toEqual({ image: first })
  expect(place({ images: { type: 'array', items: { $ref: '#/$defs/picture' } } }, 2, { rest: { $defs } })).toEqual({
    images: [first, second],
  })
  expect(
    place({ image: { anyOf: [picture, { type: 'null' }] }, other: { $ref: '#/$defs/loop' } }, 1, { rest: { $defs } }),
  ).toEqual({ image: first })
})

test('every model of pictures in our catalogs takes one, or says that it takes none', () => {
  const catalogs = [
    join(import.meta.dirname, '../../catalogs'),
    join(import.meta.dirname, '../../packages/builtin/catalog'),
  ]
  const files = catalogs.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => join(folder, name)),
  )
  const models = files.flatMap((file) => (load(readFileSync(file, 'utf8')) as { models?: any[] }).models ?? [])
  const edits = models.filter(
    ({ modality, category }: JsonObject) => modality === 'image' && category === 'image-to-image',
  )
  expect(edits.length).toBeGreaterThan(3)
  for (const { id, input, openai: openaiFields = {} } of edits) {
    expect([id, findPictureFields(input).pictures.length]).not.toEqual([id, 0])
    expect(
      placePictures({ id, inputSchema: input, openaiFields }, { images: ['https://a.example/b.png'], mask: null }),
    ).not.toEqual({})
  }
})

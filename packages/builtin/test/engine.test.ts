// The engine through its port, with real processes: every model of the catalog file makes a picture that can be decoded.

import { createHash } from 'node:crypto'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { entries } from '../catalog/entries.ts'
import { dataUri, type PictureEngine, solid, startPictureEngine } from './picture-engine.ts'

let pictures: PictureEngine

beforeAll(async () => {
  pictures = await startPictureEngine()
})

afterAll(() => pictures[Symbol.asyncDispose]())

const run: PictureEngine['run'] = (...parameters) => pictures.run(...parameters)

async function decode(
  bytes: Buffer,
): Promise<{ width: number; height: number; format: string | undefined; deviation: number }> {
  const [{ width, height, format }, stats] = await Promise.all([sharp(bytes).metadata(), sharp(bytes).stats()])
  return { width, height, format, deviation: Math.max(...stats.channels.slice(0, 3).map(({ stdev }) => stdev)) }
}

test('every entry of the catalog files names an existing renderer', async () => {
  for (const entry of entries) expect(await pictures.engine.unready(entry.engine)).toBeNull()
  expect(await pictures.engine.unready({ kind: 'builtin', renderer: 'constructor' })).toContain('"constructor"')
})

test.each([
  ['square', 1080, 1080],
  ['banner', 1500, 500],
])('a poster in the size %s', async (size, width, height) => {
  const { bytes, name, progress } = await run('poster/text-to-image', {
    title: 'Lato w mieście — Η θάλασσα — Лето — 夏の夜市',
    subtitle: 'Buổi sáng 서울의 밤',
    badge: 'Środa 🎉',
    footer: 'Łódź · 台北',
    theme: 'bauhaus',
    size,
  })
  expect(name).toBe('output.png')
  expect(await decode(bytes)).toMatchObject({
    width,
    height,
    format: 'png',
    deviation: expect.toSatisfy((deviation: number) => deviation > 10),
  })
  expect(progress.length).toBeGreaterThan(0)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

test('a poster names the characters that it cannot set', async () => {
  await expect(run('poster/text-to-image', { title: 'Hello 你 🎉 ქა ខ្មែរ' })).rejects.toMatchObject({
    name: 'EngineError',
    code: 'invalid_input',
    message: expect.stringMatching(/^title .*“ქ” \(U\+10E5\).*“ខ្មែ” \(U\+1781 U\+17D2 U\+1798 U\+17C2\)/),
  })
})

test('markup in a poster is only words', async () => {
  const { bytes } = await run('poster/text-to-image', {
    title: '</text><script>alert(1)</script> & "$&" \\ %s',
    theme: 'swiss',
  })
  expect((await decode(bytes)).deviation).toBeGreaterThan(10)
})

test('art: the same seed gives the same bytes, another seed gives others', async () => {
  const runs = await Promise.all(
    [7, 7, 8].map((seed) => run('art/text-to-image', { prompt: 'a quiet ocean', seed, width: 256, height: 192 })),
  )
  const [first, again, other] = runs.map(({ bytes }) => createHash('sha256').update(bytes).digest('hex'))
  expect(again).toBe(first)
  expect(other).not.toBe(first)
})

test.each([
  'ridges',
  'flow',
  'glass',
  'truchet',
  'orbits',
  'aurora',
  'blocks',
  'ink',
  'nebula',
  'midcentury',
  'waves',
  'forest',
])('art: the style %s paints at every proportion', async (style) => {
  for (const [width, height] of [
    [64, 64],
    [400, 90],
    [90, 400],
  ] as const) {
    const { bytes } = await run('art/text-to-image', { prompt: 'study', style, width, height })
    expect(await decode(bytes)).toMatchObject({
      width,
      height,
      deviation: expect.toSatisfy((deviation: number) => deviation > 4),
    })
  }
})

test.each([
  ['png', 'output.png', 'png'],
  ['jpeg', 'output.jpg', 'jpeg'],
  ['webp', 'output.webp', 'webp'],
  ['avif', 'output.avif', 'heif'],
])('art as %s', async (format, name, decoded) => {
  const picture = await run('art/text-to-image', { prompt: 'x', width: 128, height: 128, format })
  expect(picture.name).toBe(name)
  expect((await decode(picture.bytes)).format).toBe(decoded)
})

test('edit: operations work in their order', async () => {
  const image = dataUri(await solid(300, 200, '#c04020'))
  const { bytes } = await run('art/edit', {
    image,
    operations: [
      { crop: { left: 10, top: 10, width: 200, height: 100 } },
      { rotate: { angle: 90 } },
      { resize: { width: 50 } },
      { grayscale: true },
    ],
  })
  expect(await decode(bytes)).toMatchObject({ width: 50, height: 100 })
  const { channels } = await sharp(bytes).stats()
  expect(Math.abs((channels[0]?.mean ?? 0) - (channels[2]?.mean ?? 255))).toBeLessThan(2)
})

test.each<JsonObject>([
  { resize: { width: 60, height: 60, fit: 'cover', position: 'attention' } },
  { resize: { width: 60, height: 60, fit: 'contain', position: 'attention', background: '#00ff00' } },
  { flip: 'both' },
  { blur: 0.3 },
  { blur: 200 },
  { sharpen: 10 },
  { tint: '#b08d57' },
  { adjust: { contrast: 2, hue: -30 } },
  { text: { text: 'Zażółć gęślą jaźń', size: 0.8 } },
  { text: { text: 'A', position: 'top-right', background: '#00000080' } },
])('edit: %j', async (operation) => {
  const { bytes } = await run('art/edit', {
    image: dataUri(await solid(120, 80, '#3366aa')),
    operations: [operation],
    format: 'webp',
  })
  expect((await decode(bytes)).format).toBe('webp')
})

test('edit: what comes out fits the limits that were paid for', async () => {
  const { bytes } = await run('art/edit', {
    image: dataUri(await solid(800, 400, '#333333')),
    max_width: 200,
    max_height: 200,
  })
  expect(await decode(bytes)).toMatchObject({ width: 200, height: 100 })
})

test('edit: text that is drawn can be seen', async () => {
  const { bytes } = await run('art/edit', {
    image: dataUri(await solid(300, 200, '#000000')),
    operations: [{ text: { text: 'Привет', position: 'center', size: 0.3 } }],
  })
  expect((await decode(bytes)).deviation).toBeGreaterThan(20)
})

test('edit: photos stand upright and lose their metadata', async () => {
  const photo = await sharp(await solid(60, 30, '#888888'))
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer()
  const { bytes } = await run('art/edit', { image: dataUri(photo, 'image/jpeg'), format: 'jpeg' })
  expect(await sharp(bytes).metadata()).toMatchObject({ width: 30, height: 60 })
  expect((await sharp(bytes).metadata()).exif).toBeUndefined()
})

test('edit refuses a damaged image and one with too many pixels', async () => {
  const art = await run('art/text-to-image', { prompt: 'x', width: 200, height: 200 })
  await expect(run('art/edit', { image: dataUri(art.bytes.subarray(0, 4000)) })).rejects.toMatchObject({
    code: 'invalid_media',
    message: expect.stringContaining('damaged'),
  })
  const bomb = await solid(8000, 7000, '#ffffff')
  await expect(run('art/edit', { image: dataUri(bomb) })).rejects.toMatchObject({
    code: 'invalid_media',
    message: expect.stringContaining('8000 × 7000'),
  })
})

test('edit refuses operations that would leave the picture or the memory', async () => {
  const image = dataUri(await solid(40, 1000, '#ffffff'))
  await expect(run('art/edit', { image, operations: [{ crop: { width: 50, height: 50 } }] })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('operations[0].crop'),
  })
  await expect(
    run('art/edit', { image, operations: [{ resize: { width: 4096 } }], megapixels: 50 }),
  ).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'operations[0].resize would need 4096 × 102400 pixels, more than the 50 megapixels requested.',
  })
})

test.each<[string, JsonObject, RegExp]>([
  ['a larger image', {}, /^image is 1500 × 1000, more than the 1 megapixels .* Request 2 \(megapixels\)\.$/],
])('edit refuses what is more than was asked for: %s', async (_what, input, message) => {
  const image = dataUri(await solid(1500, 1000, '#ffffff'))
  await expect(run('art/edit', { image, megapixels: 1, ...input })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(message),
  })
})

test.each<JsonObject>([
  { resize: { width: 1200 } },
  { resize: { width: 1200, height: 900, fit: 'cover' } },
  { resize: { width: 1200, height: 900, fit: 'contain' } },
  { resize: { width: 1200, height: 900, fit: 'fill' } },
  { resize: { width: 1200, height: 1200, fit: 'inside' } },
  { rotate: { angle: 20 } },
])('edit refuses operations that make more of an image than was asked for: %j', async (operation) => {
  const image = dataUri(await solid(1100, 900, '#ffffff'))
  const [name] = Object.keys(operation)
  await expect(run('art/edit', { image, megapixels: 1, operations: [operation] })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(new RegExp(`^operations\\[0\\]\\.${name} would need .* Request 2 \\(megapixels\\)`)),
  })
})

test('edit sharpens edges and leaves colours, flat ground and transparency as they are', async () => {
  const halves = await sharp(await solid(40, 40, '#404850'))
    .composite([{ input: await solid(20, 40, '#a0a8b0'), left: 20, top: 0 }])
    .png()
    .toBuffer()
  const { bytes } = await run('art/edit', { image: dataUri(halves), operations: [{ sharpen: 2 }] })
  const { data } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  const at = (x: number) => [...data.subarray((20 * 40 + x) * 4, (20 * 40 + x) * 4 + 4)]
  expect(at(3)).toEqual([0x40, 0x48, 0x50, 255])
  expect(at(36)).toEqual([0xa0, 0xa8, 0xb0, 255])
  const [dark, light] = [at(19), at(20)]
  expect(dark[0]).toBeLessThan(0x40 - 20)
  expect(light[0]).toBeGreaterThan(0xa0 + 10)
  for (const [red = 0, green = 0, blue = 0] of [dark, light]) expect([green - red, blue - green]).toEqual([8, 8])
})

test('an aborted run ends with the reason of its signal, and the engine goes on', async () => {
  const controller = new AbortController()
  const running = run('art/text-to-image', { prompt: 'x', width: 2048, height: 2048 }, controller.signal)
  controller.abort(new Error('cancelled'))
  await expect(running).rejects.toThrow('cancelled')
  await expect(run('art/text-to-image', { prompt: 'x', width: 64, height: 64 })).resolves.toMatchObject({
    name: 'output.png',
  })
})

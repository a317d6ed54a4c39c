// The model `upscale`: sizes, what is refused, and that edges get no halos.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { renderUpscale } from '../src/upscale/upscale.ts'
import { dataUri, type PictureEngine, solid, startPictureEngine } from './picture-engine.ts'

let pictures: PictureEngine

beforeAll(async () => {
  pictures = await startPictureEngine()
})

afterAll(() => pictures[Symbol.asyncDispose]())

async function upscale(image: Buffer, input: JsonObject, type = 'image/png'): Promise<Buffer> {
  return (await pictures.run('upscale', { image: dataUri(image, type), ...input })).bytes
}

/** Left half dark, right half light. */
async function edge(width: number, height: number): Promise<Buffer> {
  const right = { input: await solid(width / 2, height, '#c0a080'), left: width / 2, top: 0 }
  return sharp(await solid(width, height, '#402810'))
    .composite([right])
    .png()
    .toBuffer()
}

describe('the result is as large as width, height and factor allow', () => {
  test.each<[JsonObject, number, number]>([
    [{}, 2048, 1024],
    [{ width: 800, height: 100 }, 200, 100],
    [{ factor: 2 }, 120, 60],
    [{ factor: 1.5, width: 80, height: 80 }, 80, 40],
    [{ width: 61, height: 31 }, 61, 31],
  ])('60 × 30 with %j becomes %i × %i', async (input, width, height) => {
    expect(await sharp(await upscale(await edge(60, 30), input)).metadata()).toMatchObject({ width, height })
  })
})

test('a picture of one pixel, and one of one row', async () => {
  expect(await sharp(await upscale(await solid(1, 1, '#123456'), { width: 16, height: 16 })).metadata()).toMatchObject({
    width: 16,
    height: 16,
  })
  expect(
    await sharp(await upscale(await solid(200, 1, '#123456'), { width: 400, height: 400 })).metadata(),
  ).toMatchObject({ width: 400, height: 2 })
})

test('a picture that is large enough already is refused with both sizes', async () => {
  await expect(upscale(await solid(300, 40, '#123456'), { width: 300, height: 300 })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(/300 × 40 .*300 × 300/),
  })
})

test('a photo that lies on its side is turned before it is measured', async () => {
  const photo = await sharp(await edge(60, 30))
    .removeAlpha()
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer()
  const metadata = await sharp(await upscale(photo, { width: 90, height: 120 }, 'image/jpeg')).metadata()
  expect(metadata).toMatchObject({ width: 60, height: 120 })
})

describe('sharpening', () => {
  async function columns(sharpness: number): Promise<number[]> {
    const { data, info } = await sharp(await upscale(await edge(40, 40), { factor: 4, sharpness }))
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    return Array.from({ length: info.width }, (_, x) => data[(80 * info.width + x) * 3] as number)
  }

  test.each([0, 0.5, 1])('of %d leaves no halo: nothing leaves the range of the edge', async (sharpness) => {
    const values = await columns(sharpness)
    expect([Math.min(...values), Math.max(...values)]).toEqual([0x40, 0xc0])
  })

  test('makes an edge narrower', async () => {
    const widths = await Promise.all(
      [0, 1].map(
        async (sharpness) => (await columns(sharpness)).filter((value) => value > 0x48 && value < 0xb8).length,
      ),
    )
    expect(widths[1]).toBeLessThan(widths[0] as number)
  })
})

test('transparency is kept, and colours at its edge get no dark rim', async () => {
  const half = await sharp({ create: { width: 40, height: 40, channels: 4, background: '#00000000' } })
    .composite([{ input: await solid(20, 40, '#ff8000'), left: 20, top: 0 }])
    .png()
    .toBuffer()
  const { data, info } = await sharp(await upscale(half, { factor: 4 }))
    .raw()
    .toBuffer({ resolveWithObject: true })
  expect(info.channels).toBe(4)
  for (let i = 0; i < data.length; i += 4) {
    if ((data[i + 3] as number) < 128) continue
    expect(data[i]).toBeGreaterThan(240)
    expect(data[i + 2]).toBeLessThan(20)
  }
  expect([data[3], data[data.length - 1]]).toEqual([0, 255])
})

test('progress moves at least ten times', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'upscale-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [source, file] = [join(folder, 'source.png'), join(folder, 'output')]
  await writeFile(source, await edge(60, 30))
  const progress: number[] = []
  // Processes tell of progress now and then; the renderer itself tells of each step.
  await renderUpscale({
    input: { width: 240, height: 240, sharpness: 0.5, format: 'png' },
    media: new Map([['/image', source]]),
    bounds: usualPictureBounds,
    ffmpeg: null,
    file,
    onProgress: (fraction) => void progress.push(fraction),
  })
  expect(new Set(progress).size).toBeGreaterThanOrEqual(10)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

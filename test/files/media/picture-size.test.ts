// The size of a picture is read from its header, whatever stands before it.
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPictureSize } from '../../../src/files/media/picture-size.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-sizes-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function sizeOf(bytes: Buffer, contentType: string) {
  const path = join(folder, 'picture')
  await writeFile(path, bytes)
  await using file = await open(path)
  return await readPictureSize(file, contentType)
}

const draw = (width = 301, height = 203) => sharp({ create: { width, height, channels: 4, background: '#80808080' } })

test.each([
  ['PNG', 'image/png', () => draw().png()],
  ['JPEG', 'image/jpeg', () => draw().jpeg()],
  ['progressive JPEG', 'image/jpeg', () => draw().jpeg({ progressive: true })],
  [
    'JPEG behind metadata',
    'image/jpeg',
    () =>
      draw()
        .withXmp(`<x>${'long '.repeat(9000)}</x>`)
        .withMetadata()
        .jpeg(),
  ],
  ['lossy WebP', 'image/webp', () => draw().removeAlpha().webp()],
  ['WebP with alpha', 'image/webp', () => draw().webp()],
  ['lossless WebP', 'image/webp', () => draw().webp({ lossless: true })],
  ['AVIF', 'image/avif', () => draw().avif({ effort: 0 })],
  ['GIF', 'image/gif', () => draw().gif()],
  ['TIFF', 'image/tiff', () => draw().tiff()],
])('of %s', async (_name, contentType, make) => {
  const bytes = await make().toBuffer()
  expect(await sizeOf(bytes, contentType)).toEqual({ width: 301, height: 203 })
  // If the header is cut anywhere, the size is right or null.
  for (let length = 0; length < Math.min(bytes.length, 200); length++)
    expect([null, 301]).toContain((await sizeOf(bytes.subarray(0, length), contentType))?.width ?? null)
})

test('of a GIF is that of its first frame where this is larger than the screen', async () => {
  const bytes = await draw().gif().toBuffer()
  bytes.writeUInt16LE(1, 6)
  bytes.writeUInt16LE(1, 8)
  expect(await sizeOf(bytes, 'image/gif')).toEqual({ width: 301, height: 203 })
})

test('is unknown for a file that is not a picture', async () => {
  expect(await sizeOf(Buffer.from('RIFF'), 'audio/wav')).toBeNull()
})

// Every picture model in every format, decoded by a program that has nothing to do with what encoded it.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLongRun } from './long-run.ts'
import { dataUri, type PictureEngine, solid, startPictureEngine } from './picture-engine.ts'

const execute = promisify(execFile)
const hasFfmpeg = await execute('ffmpeg', ['-version']).then(
  () => true,
  () => false,
)
if (!hasFfmpeg) console.warn('ffmpeg is not installed: pictures are not decoded by an independent decoder')

const formats = ['png', 'jpeg', 'webp', 'avif'] as const
let pictures: PictureEngine
let folder: string

beforeAll(async () => {
  pictures = await startPictureEngine()
  folder = await mkdtemp(join(tmpdir(), 'picture-formats-'))
})

afterAll(async () => {
  await pictures[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const image = dataUri(await solid(60, 40, '#c04020'))
const models: readonly (readonly [id: string, input: JsonObject, width: number, height: number])[] = [
  ['poster/text-to-image', { title: 'Night 夜市', size: 'landscape' }, 1200, 630],
  ['art/text-to-image', { prompt: 'a quiet ocean', width: 320, height: 200 }, 320, 200],
  ['art/edit', { image, operations: [{ resize: { width: 90 } }] }, 90, 60],
  ['upscale', { image, factor: 3 }, 180, 120],
]
const cases = models.flatMap(([id, input, width, height], index) =>
  formats
    .filter((_, place) => isLongRun || place === index)
    .map((format) => [id, format, { ...input, format }, width, height] as const),
)

test.skipIf(!hasFfmpeg).each(cases)('%s as %s', async (id, _format, input, width, height) => {
  const { bytes, name } = await pictures.run(id, input)
  const isAvif = name.endsWith('.avif')
  const file = join(folder, `${id.replaceAll('/', '-')}-${name}`)
  await writeFile(file, isAvif ? readAv1(bytes) : bytes)
  // Raw pixels of the first frame: as many as there should be, and not all the same.
  const { stdout } = await execute(
    'ffmpeg',
    [
      '-v',
      'error',
      ...(isAvif ? ['-f', 'obu'] : []),
      '-i',
      file,
      '-frames:v',
      '1',
      '-f',
      'rawvideo',
      '-pix_fmt',
      'rgb24',
      '-',
    ],
    { encoding: 'buffer', maxBuffer: 1e8 },
  )
  expect(stdout.length).toBe(width * height * 3)
  const [{ channels }, expected] = await Promise.all([
    sharp(stdout, { raw: { width, height, channels: 3 } }).stats(),
    sharp(bytes).stats(),
  ])
  for (const [index, { mean }] of channels.entries())
    expect(Math.abs(mean - (expected.channels[index]?.mean ?? -100))).toBeLessThan(4)
})

/** What an AVIF of one opaque picture is around: Debian's ffmpeg knows AV1, but not this container. */
function readAv1(avif: Buffer): Buffer {
  for (let at = 0; at < avif.length; at += avif.readUInt32BE(at))
    if (avif.toString('latin1', at + 4, at + 8) === 'mdat') return avif.subarray(at + 8, at + avif.readUInt32BE(at))
  throw new Error('The file has no box mdat')
}

describe('transparency', () => {
  test.each(formats)('in an edit as %s', async (format) => {
    const see = await solid(40, 40, '#ff000080')
    const { bytes } = await pictures.run('art/edit', { image: dataUri(see), format })
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true })
    const pixel = [...data.subarray(0, info.channels)]
    if (format === 'jpeg') {
      expect(info.channels).toBe(3)
      for (const [index, value] of [255, 127, 127].entries())
        expect(Math.abs((pixel[index] ?? 0) - value)).toBeLessThan(6)
    } else {
      for (const [index, value] of [255, 0, 0, 128].entries())
        expect(Math.abs((pixel[index] ?? 0) - value)).toBeLessThan(6)
    }
  })
})

test('a profile of other colours is turned to sRGB and left behind', async () => {
  const wide = await sharp(await solid(16, 16, '#00c000'))
    .removeAlpha()
    .withIccProfile('p3')
    .png()
    .toBuffer()
  const { bytes } = await pictures.run('art/edit', { image: dataUri(wide), format: 'png' })
  const [metadata, { data }] = await Promise.all([
    sharp(bytes).metadata(),
    sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true }),
  ])
  expect(metadata.icc).toBeUndefined()
  // Sharp brought the sRGB green into P3 when it embedded the profile; brought back it is the same green.
  for (const [index, value] of [0, 0xc0, 0].entries()) expect(Math.abs((data[index] ?? 0) - value)).toBeLessThan(4)
})

test.each(models)('%s: the same input gives the same bytes', async (id, input) => {
  const [one, other] = await Promise.all([pictures.run(id, input), pictures.run(id, input)])
  expect(one.bytes.equals(other.bytes)).toBe(true)
})

// What the built-in engines' encoders make is measured, decoded and given a preview; what is cut short or damaged is refused.
// P17, P19.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cutShort, damage, garble, look, makeFilm, makeSound, toneAfterSilence } from './recordings.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-recordings-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

const refusal = (words: RegExp) => ({ code: 'output_invalid', message: words, retryable: false })
const soundFormats = [
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mpeg'],
  ['flac', 'audio/flac'],
  ['ogg', 'audio/ogg'],
  ['m4a', 'audio/mp4'],
] as const

describe('films', () => {
  test.each(['mp4', 'webm'] as const)('%s: measured, and its poster is a frame that is not black', async (format) => {
    for (const sound of [null, toneAfterSilence(2)]) {
      const seen = await look(await makeFilm(folder, format, sound))
      expect(seen).toMatchObject({
        contentType: `video/${format}`,
        extension: format,
        width: 96,
        height: 64,
        hasPreview: true,
      })
      expect(seen.durationSeconds).toBeCloseTo(2, 1)
      expect(String(seen.durationSeconds)).toMatch(/^\d+(\.\d{1,3})?$/)
      expect(seen.blurhash).toMatch(/^.{20,40}$/)
      const { data, info } = await sharp(seen.preview).raw().toBuffer({ resolveWithObject: true })
      expect([info.width, info.height]).toEqual([96, 64])
      const at = (x: number) => [...data.subarray((32 * 96 + x) * info.channels).subarray(0, 3)]
      const [red, blue] = [at(24), at(72)]
      expect(red[0]).toBeGreaterThan(220)
      expect(red[2]).toBeLessThan(40)
      expect(blue[0]).toBeLessThan(40)
      expect(blue[2]).toBeGreaterThan(220)
    }
  })

  test.each(['mp4', 'webm'] as const)('%s: cut short anywhere, it is refused in words', async (format) => {
    const path = await makeFilm(folder, format, toneAfterSilence(2))
    for (const share of [0.05, 0.3, 0.6, 0.9, 0.99])
      await expect(cutShort(path, share).then((cut) => look(cut))).rejects.toMatchObject(
        refusal(/^Output out (is cut short \(video\/|is a damaged file|is of an unknown type)/),
      )
  })

  test('mp4: frames of noise are refused', async () => {
    const path = await makeFilm(folder, 'mp4', null)
    await expect(damage(path, 0.1, 1).then((damaged) => look(damaged))).rejects.toMatchObject(refusal(/damaged/))
  })

  test('webm: noise in its clusters is refused', async () => {
    const path = await makeFilm(folder, 'webm', null)
    await expect(damage(path, 0.3, 0.8).then((damaged) => look(damaged))).rejects.toMatchObject(
      refusal(/^Output out (is a damaged file|is cut short|claims to last)/),
    )
  })

  test.each(['mp4', 'webm'] as const)(
    '%s: whole, with a picture, and noise where its sound should be',
    async (format) => {
      const path = await makeFilm(folder, format, toneAfterSilence(2))
      await expect(garble(path, 'audio').then((garbled) => look(garbled))).rejects.toMatchObject(
        refusal(/^Output out (is a damaged file|has sound of which only 0\.\d s can be decoded)/),
      )
    },
  )

  test('a frame that is larger than any may be is refused', async () => {
    const path = await makeFilm(folder, 'webm', null)
    const { inspectOutput } = await import('@mediagen/media/probe/inspect.ts')
    const inspect = (pixels: number, side: number) =>
      inspectOutput({ path, name: 'out', previewPath: `${path}.p`, bounds: { pixels, side }, ffmpegPath: null })
    await expect(inspect(96 * 64 - 1, 96)).rejects.toMatchObject(refusal(/frames of more than 6143 pixels/))
    await expect(inspect(96 * 64, 95)).rejects.toMatchObject(refusal(/frames with a side of more than 95 pixels/))
  })
})

describe('sounds', () => {
  test.each(soundFormats)('%s: measured, decoded and drawn', async (format, contentType) => {
    const seen = await look(await makeSound(folder, format))
    expect(seen).toMatchObject({ contentType, extension: format, width: null, height: null, blurhash: null })
    expect(seen.durationSeconds).toBeGreaterThan(2.95)
    expect(seen.durationSeconds).toBeLessThan(3.1)
    expect(seen.hasPreview).toBe(true)
    expect(await sharp(seen.preview).metadata()).toMatchObject({ format: 'webp', width: 512, height: 128 })
    // Silence is drawn low, the tone high.
    const { data, info } = await sharp(seen.preview).extractChannel('alpha').raw().toBuffer({ resolveWithObject: true })
    const inked = (from: number, to: number) =>
      data.filter((alpha, at) => alpha > 128 && at % info.width >= from && at % info.width < to).length
    expect(inked(0, 240)).toBeGreaterThan(0)
    expect(inked(272, 512)).toBeGreaterThan(inked(0, 240) * 10)
  })

  test.each(soundFormats)('%s: cut short, it is refused in words', async (format) => {
    const path = await makeSound(folder, format)
    for (const share of [0.3, 0.6, 0.9])
      await expect(cutShort(path, share).then((cut) => look(cut))).rejects.toMatchObject(
        refusal(/^Output out (is cut short|is a damaged file|claims to last 3\.\d s, but contains only)/),
      )
  })

  test.each(['mp3', 'flac', 'ogg', 'm4a'] as const)('%s: with a part of noise it is refused', async (format) => {
    const path = await makeSound(folder, format)
    await expect(damage(path, 0.4, 0.6).then((damaged) => look(damaged))).rejects.toMatchObject(refusal(/^Output out /))
  })
})

/** A box of an MP4 file. */
function box(type: string, ...content: string[]): Buffer {
  const body = Buffer.from(content.join(''), 'latin1')
  const size = Buffer.alloc(4)
  size.writeUInt32BE(body.length + 8)
  return Buffer.concat([size, Buffer.from(type, 'latin1'), body])
}

describe('files that only look like recordings', () => {
  test.each([
    ['an MP4 of nothing but its first box', box('ftyp', 'isom\0\0\0\0isommp42'), /holds no video and no sound/],
    [
      'an MP4 whose box ends beyond it',
      Buffer.concat([box('ftyp', 'isom\0\0\0\0isommp42'), Buffer.from('\x7f\xff\xff\xffmoov')]),
      /cut short/,
    ],
    [
      'a WebM of nothing but its header',
      Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701', 'hex'),
      /cut short|damaged|holds no/,
    ],
    [
      'MP3 frames without sound',
      Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(500)]),
      /damaged|cannot be decoded|holds no|lasts/,
    ],
    [
      'an ADTS frame that ends beyond the file',
      Buffer.concat([Buffer.from('fff150801fbffc', 'hex'), Buffer.alloc(50)]),
      /cut short/,
    ],
    [
      'FLAC without a frame',
      Buffer.concat([Buffer.from('fLaC\x80\0\0\x22', 'latin1'), Buffer.alloc(34)]),
      /damaged|nothing in it|holds no/,
    ],
    [
      'Ogg without a sound',
      Buffer.concat([Buffer.from('OggS\0\x06', 'latin1'), Buffer.alloc(20), Buffer.from('\x01\x13OpusHead', 'latin1')]),
      /damaged|holds no|cut short/,
    ],
  ] as const)('%s', async (name, content, words) => {
    const path = join(folder, name.replaceAll(' ', '-'))
    await writeFile(path, content)
    await expect(look(path)).rejects.toMatchObject({ code: 'output_invalid', message: words })
  })

  test('a WAV that says that it is longer than it is', async () => {
    const path = await makeSound(folder, 'wav')
    await expect(cutShort(path, 0.99).then((cut) => look(cut))).rejects.toMatchObject(refusal(/cut short/))
  })
})

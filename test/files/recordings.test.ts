// What the built-in engines' encoders make is measured, decoded and given a preview; what is cut short or damaged is refused.
// P17, P19, P220.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeTrueLengths } from '../../src/files/media/wave-lengths.ts'
import { box, cutShort, damage, ffmpeg, garble, look, makeFilm, makeSound, toneAfterSilence } from './recordings.ts'

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
    const { inspectOutput } = await import('../../src/files/media/probe/inspect.ts')
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

describe('WAV files that were streamed', () => {
  test.each([
    ['2^31 − 1', 0x7fff_ffff, 0x7fff_ffff],
    ['a little less than 2^31', 0x7fff_f024, 0x7fff_f000],
    ['two billion', 2_000_000_036, 2_000_000_000],
    ['2^32 − 1', 0xffff_ffff, 0xffff_ffff],
    ['nothing', 0, 0],
    ['an hour', 172_800_036, 172_800_000],
  ])('lengths that say %s are replaced by the true ones', async (_, riff, data) => {
    const path = await makeSound(folder, 'wav')
    const whole = await readFile(path)
    const streamed = Buffer.from(whole)
    streamed.writeUInt32LE(riff, 4)
    streamed.writeUInt32LE(data, streamed.indexOf('data') + 4)
    await writeFile(path, streamed)
    await writeTrueLengths(path)
    expect(await readFile(path)).toEqual(whole)
    expect((await look(path)).durationSeconds).toBeCloseTo(3, 2)
  })

  const id = (text: string) => Buffer.from(text, 'latin1')
  const words = (...lengths: readonly number[]) => Buffer.from(Uint32Array.from(lengths).buffer)

  /** A second of silence at 8000 samples of two bytes a second. */
  const toWave = (form: string, lengths: Buffer, samples: number, data: number) =>
    Buffer.concat([
      id(form),
      lengths,
      id('fmt '),
      words(16, 0x0001_0001, 8000, 16_000, 0x0010_0002),
      id('fact'),
      words(4, samples),
      id('data'),
      words(data),
      Buffer.alloc(16_000),
    ])
  const toLarge = (form: number, data: number, samples: number) =>
    Buffer.concat([words(0xffff_ffff), id('WAVEds64'), words(28, form, 0, data, 0, samples, 0, 0)])
  const toPlain = (form: number) => Buffer.concat([words(form), id('WAVE')])
  const large = toWave('RF64', toLarge(16_084, 16_000, 8000), 8000, 0xffff_ffff)

  test.each([
    ['of 64 bits that are nothing', toWave('RF64', toLarge(0, 0, 0), 0xffff_ffff, 0xffff_ffff), large],
    ['of 64 bits that are true', large, large],
    [
      'and a number of samples',
      toWave('RIFF', toPlain(0xffff_ffff), 0xffff_ffff, 0xffff_ffff),
      toWave('RIFF', toPlain(16_048), 8000, 16_000),
    ],
    [
      'and something behind them',
      Buffer.concat([toWave('RIFF', toPlain(16_048), 8000, 16_000), id('TAG')]),
      Buffer.concat([toWave('RIFF', toPlain(16_048), 8000, 16_000), id('TAG')]),
    ],
  ])('P220: lengths %s', async (_, streamed, whole) => {
    const path = join(folder, 'lengths.wav')
    await writeFile(path, streamed)
    await writeTrueLengths(path)
    expect(await readFile(path)).toEqual(whole)
    expect(await look(path)).toMatchObject({ contentType: 'audio/wav', durationSeconds: 1 })
  })

  test('P220: a file with lengths of 64 bits that was cut short is refused', async () => {
    const path = join(folder, 'cut.wav')
    await writeFile(path, large.subarray(0, 12_000))
    await writeTrueLengths(path)
    await expect(look(path)).rejects.toMatchObject(refusal(/claims to last 1.0 s, but contains only 0.7 s/))
  })

  test('a file that lacks a half is not given the length of the rest', async () => {
    const cut = await cutShort(await makeSound(folder, 'wav'), 0.5)
    await writeTrueLengths(cut)
    await expect(look(cut)).rejects.toMatchObject(refusal(/cut short/))
  })

  test.each(['flac', 'mp3'] as const)('%s is left as it is', async (format) => {
    const path = await makeSound(folder, format)
    const before = await readFile(path)
    await writeTrueLengths(path)
    expect(await readFile(path)).toEqual(before)
  })
})

/** A page of an Ogg file of one stream; readers that need no checksum ignore that it is wrong. RFC 3533, 6. */
function oggPage(flags: number, body: Buffer): Buffer {
  const lengths = Array.from({ length: Math.floor(body.length / 255) + 1 }, (_, index) =>
    Math.min(255, body.length - index * 255),
  )
  const head = Buffer.alloc(27)
  head.write('OggS')
  head.writeUInt8(flags, 5)
  head.writeUInt8(lengths.length, 26)
  return Buffer.concat([head, Buffer.from(lengths), body])
}

test('FLAC in Ogg is measured and decoded', async () => {
  const flac = await readFile(await makeSound(folder, 'flac'))
  // The marker and the stream information, then everything else in pages of less than 255 × 255 bytes.
  const start = Buffer.concat([Buffer.from('\x7fFLAC\x01\0\0\x01', 'latin1'), flac.subarray(0, 42)])
  const pieces = Array.from({ length: Math.ceil((flac.length - 42) / 60_000) }, (_, index) =>
    flac.subarray(42 + index * 60_000, 42 + (index + 1) * 60_000),
  )
  const pages = [oggPage(2, start), ...pieces.map((piece, index) => oggPage(index + 1 < pieces.length ? 0 : 4, piece))]
  const path = join(folder, 'flac.ogg')
  await writeFile(path, Buffer.concat(pages))
  const seen = await look(path)
  expect(seen).toMatchObject({ contentType: 'audio/ogg', extension: 'ogg', hasPreview: true })
  expect(seen.durationSeconds).toBeCloseTo(3, 2)
})

test('what an encoder of MP3 adds to a sound is no sound', async () => {
  const seconds = (samples: number) => Math.round((samples / 44_100) * 1000) / 1000
  // 40 frames of silence of MPEG-1 layer III at 64 kbit/s, 44.1 kHz, mono, each of 208 bytes and 1152 samples; before them the info frame.
  const silence = Buffer.alloc(208)
  silence.writeUInt32BE(0xfffb50c4)
  const info = Buffer.from(silence)
  info.write('Info', 21)
  info.writeUInt32BE(1, 25)
  info.writeUInt32BE(40, 29)
  info.write('LAME3.100', 33)
  info.writeUIntBE((576 << 12) | 1404, 33 + 21, 3)
  const frames = Array.from({ length: 40 }, () => silence)
  const path = join(folder, 'gap.mp3')
  await writeFile(path, Buffer.concat([info, ...frames]))
  expect((await look(path)).durationSeconds).toBe(seconds(44_100))
  await writeFile(path, Buffer.concat(frames))
  expect((await look(path)).durationSeconds).toBe(seconds(40 * 1152))
})

describe('what comes after a sound is no part of it', () => {
  const junk = [Buffer.alloc(3, 0xff), Buffer.alloc(500, 0xfe), Buffer.alloc(100), Buffer.from('\r\n--boundary--\r\n')]

  test.each(['m4a', 'ogg', 'mp3'] as const)('%s: bytes of anything', async (format) => {
    const path = await makeSound(folder, format)
    const { durationSeconds } = await look(path)
    const content = await readFile(path)
    for (const [index, bytes] of junk.entries()) {
      await writeFile(`${path}.${index}`, Buffer.concat([content, bytes]))
      expect(await look(`${path}.${index}`)).toMatchObject({ durationSeconds })
    }
  })

  test('flac: a tag', async () => {
    const path = await makeSound(folder, 'flac')
    await writeFile(path, Buffer.concat([await readFile(path), Buffer.from('TAG'.padEnd(128))]))
    for (const ffmpegPath of [null, ffmpeg?.ffmpeg ?? null])
      expect(await look(path, ffmpegPath)).toMatchObject({ contentType: 'audio/flac', durationSeconds: 3 })
  })

  test('ogg: a last page that is not marked as the last is a whole end, and half of a page is none', async () => {
    const path = await makeSound(folder, 'ogg')
    const content = await readFile(path)
    content.writeUInt8(0, content.lastIndexOf('OggS') + 5)
    await writeFile(path, content)
    expect((await look(path)).durationSeconds).toBeCloseTo(3, 1)
    await writeFile(path, content.subarray(0, -20))
    await expect(look(path)).rejects.toMatchObject(refusal(/cut short/))
  })
})

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

// Pictures as outputs: recognised, decoded to the end, measured as they are shown, and made small; everything else refused.
// P17, P19, P219.
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { decode } from 'blurhash'
import sharp, { type Sharp } from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inspectOutput } from '../../../src/files/media/probe/inspect.ts'
import { inspectPicture } from '../../../src/files/media/probe/pictures/picture.ts'

let base: string
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'mediagen-pictures-'))
})
afterAll(async () => {
  await rm(base, { recursive: true, force: true })
})

let count = 0
async function probe(content: Buffer, pixels = 1_000_000, side = 32_768) {
  const path = join(base, String(count++))
  await writeFile(path, content)
  const previewPath = `${path}.webp`
  const request = { path, name: 'out', previewPath, bounds: { pixels, side }, ffmpegPath: null }
  return { ...(await inspectOutput(request)), previewPath }
}

/** A picture of noise, which hardly compresses, so half of its bytes contain about half of its pixels. */
function draw(width = 64, height = 48) {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
  return sharp({ create: { width, height, channels: 3, background: '#fff', noise } })
}

function toWords(...numbers: readonly number[]): Buffer {
  const words = Buffer.alloc(4 * numbers.length)
  numbers.forEach((number, index) => words.writeUInt32BE(number, 4 * index))
  return words
}

/** A chunk of a PNG. */
function toChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data])
  return Buffer.concat([toWords(data.length), content, toWords(crc32(content))])
}

async function drawAnimation(format: 'gif' | 'webp', count = 3) {
  const frames = await Promise.all(Array.from({ length: count }, async () => await draw().png().toBuffer()))
  const animation = sharp(frames, { join: { animated: true } })
  return await animation[format]().toBuffer()
}

describe('pictures', () => {
  test.each([
    ['png', 'image/png', 'png'],
    ['jpeg', 'image/jpeg', 'jpg'],
    ['webp', 'image/webp', 'webp'],
    ['avif', 'image/avif', 'avif'],
    ['gif', 'image/gif', 'gif'],
    ['tiff', 'image/tiff', 'tiff'],
  ] as const)('%s: recognised, measured, decoded to the end', async (format, contentType, extension) => {
    const content = await draw().toFormat(format).toBuffer()
    expect(await probe(content)).toMatchObject({ contentType, extension, width: 64, height: 48, durationSeconds: null })
    const damaged = content.subarray(0, Math.floor(content.length * 0.6))
    await expect(probe(damaged)).rejects.toMatchObject({ code: 'output_invalid', message: /damaged/ })
  })

  test.each(['gif', 'webp'] as const)('an animated %s has the size of one frame', async (format) => {
    const content = await drawAnimation(format)
    expect(await probe(content)).toMatchObject({ width: 64, height: 48 })
  })

  test.each(['gif', 'webp'] as const)(
    'MEDIAGEN_MAX_PIXELS: a bound for each frame of an animated %s, and twenty times as many for all',
    async (format) => {
      const bound = 64 * 48
      const content = await drawAnimation(format, 20)
      expect(await probe(content, bound)).toMatchObject({ width: 64, height: 48 })
      await expect(probe(await drawAnimation(format), bound - 1)).rejects.toMatchObject({
        message: `Output out is larger than ${bound - 1} pixels.`,
      })
      await expect(probe(await drawAnimation(format, 21), bound)).rejects.toMatchObject({
        message: `Output out has frames of more than ${bound * 20} pixels together.`,
      })
    },
  )

  test('an animated PNG is a PNG', async () => {
    const content = await draw().png().toBuffer()
    // After the header: one frame, played for ever. https://www.w3.org/TR/png-3/#acTL-chunk
    const animation = Buffer.from('000000086163544c000000010000000019a1f6ec', 'hex')
    const seen = await probe(Buffer.concat([content.subarray(0, 33), animation, content.subarray(33)]))
    expect(seen).toMatchObject({ contentType: 'image/png', extension: 'png', width: 64, height: 48 })
  })

  test.each(['mif1', 'msf1', 'miaf', 'MA1B', 'avis'])('AVIF of the major brand %s', async (brand) => {
    const content = await draw().avif().toBuffer()
    content.write(brand, 8, 'latin1')
    expect(await probe(content)).toMatchObject({ contentType: 'image/avif', extension: 'avif', width: 64 })
  })

  test.each([
    ['whole', (content: Buffer) => content, null],
    ['with a broken checksum', (content: Buffer) => content.with(content.indexOf('fdAT') + 30, 99), /damaged picture/],
    ['cut short', (content: Buffer) => content.subarray(0, content.indexOf('fdAT') + 30), /damaged picture/],
  ] as const)('the second frame of an animated PNG, %s', async (_, change, message) => {
    const [first, second] = [await draw().png().toBuffer(), await draw().png().toBuffer()]
    const control = (number: number) => toChunk('fcTL', toWords(number, 64, 48, 0, 0, 0x0001_000a, 0))
    const data = second.subarray(second.indexOf('IDAT') + 4, second.indexOf('IEND') - 8)
    const content = Buffer.concat([
      first.subarray(0, 33),
      toChunk('acTL', toWords(2, 0)),
      control(0),
      first.subarray(33, first.indexOf('IEND') - 4),
      control(1),
      toChunk('fdAT', Buffer.concat([toWords(2), data])),
      toChunk('IEND', Buffer.alloc(0)),
    ])
    const seen = probe(Buffer.from(change(content)))
    // Browsers stop playing at the frame that is broken.
    if (message) await expect(seen).rejects.toMatchObject({ code: 'output_invalid', message })
    else expect(await seen).toMatchObject({ contentType: 'image/png', width: 64, height: 48 })
  })

  test.each(['png', 'jpeg', 'webp'] as const)('P219: %s may repeat a prompt with tags', async (format) => {
    const prompt = '<!doctype html><html><script>alert(1)</script><svg onload=alert(1)> %PDF-1.7'
    const content = await draw()
      .toFormat(format)
      .withExif({ IFD0: { ImageDescription: prompt } })
      .toBuffer()
    expect(content.includes(prompt)).toBe(true)
    expect(await probe(content)).toMatchObject({ contentType: `image/${format}` })
  })

  test.each([
    ['HTML', (content: Buffer) => Buffer.concat([Buffer.from('<!--'), content.subarray(4)])],
    ['ZIP', (content: Buffer) => Buffer.concat([content, Buffer.from(`PK\x05\x06${'\0'.repeat(18)}`)])],
  ])('P219: a picture that is %s too is refused, as it is where it is an input', async (other, change) => {
    await expect(probe(change(await draw().avif().toBuffer()))).rejects.toMatchObject({
      code: 'output_invalid',
      message: `Output out is image/avif and ${other} at the same time.`,
    })
  })

  test('an animation that was cut short is refused', async () => {
    // Only WebP: a GIF plays up to where it was cut, for libvips as for browsers.
    const content = await drawAnimation('webp')
    await expect(probe(content.subarray(0, Math.floor(content.length * 0.9)))).rejects.toMatchObject({
      code: 'output_invalid',
    })
  })

  test('a turned photograph is measured as it is shown', async () => {
    expect(await probe(await draw().jpeg().withMetadata({ orientation: 6 }).toBuffer())).toMatchObject({
      width: 48,
      height: 64,
    })
  })

  test('sixteen bits a channel and transparency', async () => {
    const content = await draw().ensureAlpha(0.5).toColourspace('rgb16').png().toBuffer()
    expect(await probe(content)).toMatchObject({ width: 64, height: 48 })
  })

  test('one that is too large is not decoded', async () => {
    const content = await sharp({ create: { width: 9000, height: 9000, channels: 3, background: '#000' } })
      .png()
      .toBuffer()
    await expect(probe(content, 50_000_000)).rejects.toMatchObject({
      code: 'output_invalid',
      message: 'Output out is larger than 50000000 pixels.',
    })
  })

  test('one with a side that is too long is not decoded', async () => {
    const content = await draw(300, 2).png().toBuffer()
    await expect(probe(content, 1_000_000, 299)).rejects.toMatchObject({
      code: 'output_invalid',
      message: 'Output out has a side of more than 299 pixels.',
    })
    expect(await probe(content, 1_000_000, 300)).toMatchObject({ width: 300 })
  })
})

/** The red, green and blue of a point of a picture, which is given as a share of its sides. */
async function colorAt(path: string, across: number, down: number): Promise<number[]> {
  const { data, info } = await sharp(path).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const at = (Math.floor(down * info.height) * info.width + Math.floor(across * info.width)) * info.channels
  return [...data.subarray(at, at + 3)]
}

/** A red half, and beside it a blue one. */
async function drawHalves(width: number, height: number) {
  const blue = { create: { width: width / 2, height, channels: 3, background: '#0000ff' } } as const
  return sharp(
    await sharp({ create: { width, height, channels: 3, background: '#ff0000' } })
      .composite([{ input: blue, left: width / 2, top: 0 }])
      .png()
      .toBuffer(),
  )
}

const near = (value: number) => expect.toSatisfy((found: number) => Math.abs(found - value) < 30, `about ${value}`)

describe('previews', () => {
  test('at most 512 pixels on the long side, in the same proportions; a smaller picture keeps its size', async () => {
    const large = await probe(await (await drawHalves(1600, 400)).jpeg().toBuffer(), 1e7)
    expect(await sharp(large.previewPath).metadata()).toMatchObject({ format: 'webp', width: 512, height: 128 })
    expect(await colorAt(large.previewPath, 0.25, 0.5)).toEqual([near(255), near(0), near(0)])
    expect(await colorAt(large.previewPath, 0.75, 0.5)).toEqual([near(0), near(0), near(255)])
    const small = await probe(await draw().png().toBuffer())
    expect(await sharp(small.previewPath).metadata()).toMatchObject({ format: 'webp', width: 64, height: 48 })
  })

  test('a rotated photograph is turned upright', async () => {
    const photograph = await (await drawHalves(300, 200)).withMetadata({ orientation: 6 }).jpeg().toBuffer()
    const { previewPath } = await probe(photograph)
    expect(await sharp(previewPath).metadata()).toMatchObject({ width: 200, height: 300 })
    expect(await colorAt(previewPath, 0.5, 0.25)).toEqual([near(255), near(0), near(0)])
    expect(await colorAt(previewPath, 0.5, 0.75)).toEqual([near(0), near(0), near(255)])
    expect((await sharp(previewPath).metadata()).orientation).toBeUndefined()
  })

  test.each(['gif', 'webp'] as const)('of an animated %s the first frame', async (format) => {
    const { previewPath } = await probe(await drawAnimation(format))
    const metadata = await sharp(previewPath, { pages: -1 }).metadata()
    expect([metadata.width, metadata.height, metadata.pages ?? 1]).toEqual([64, 48, 1])
  })

  test('transparency is kept', async () => {
    const { previewPath } = await probe(await draw().ensureAlpha(0.5).png().toBuffer())
    expect(await sharp(previewPath).metadata()).toMatchObject({ hasAlpha: true })
  })

  test('the blurhash shows where which colour is', async () => {
    const { blurhash } = await probe(await (await drawHalves(400, 300)).png().toBuffer())
    const pixels = decode(blurhash ?? '', 8, 6)
    const at = (x: number, y: number) => [...pixels.subarray((y * 8 + x) * 4, (y * 8 + x) * 4 + 3)]
    const [red, blue] = [at(1, 3), at(6, 3)]
    expect(red[0]).toBeGreaterThan(200)
    expect(red[2]).toBeLessThan(120)
    expect(blue[2]).toBeGreaterThan(200)
    expect(blue[0]).toBeLessThan(120)
  })

  test.each([
    [400, 300, 4, 3],
    [300, 400, 3, 4],
    [300, 300, 3, 4],
    [2000, 100, 9, 1],
  ])('a blurhash of %i × %i has %i × %i components', async (width, height, across, down) => {
    const { blurhash } = await probe(await (await drawHalves(width, height)).png().toBuffer())
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~'
    const size = digits.indexOf(blurhash?.[0] ?? '')
    expect([(size % 9) + 1, Math.floor(size / 9) + 1]).toEqual([across, down])
  })

  test('the picture is decoded once, for its check and its preview, unless it is large', async () => {
    const bounds = { pixels: 50_000_000, side: 32_768 }
    const inspect = async (picture: Sharp) => {
      const path = join(base, 'decoded.png')
      await picture.png({ compressionLevel: 1 }).toFile(path)
      const { preview } = await inspectPicture(path, 'out', 'png', bounds)
      await rm(path)
      return preview?.resize(8).toBuffer()
    }
    await expect(inspect(await drawHalves(400, 300))).resolves.toHaveProperty('length')
    await expect(inspect(await drawHalves(4000, 4001))).rejects.toThrow(/missing/)
  })

  test.each([
    ['of sixteen bits', 'png', 'rgb16'],
    ['for print', 'jpeg', 'cmyk'],
  ] as const)('the colours of a picture %s are those that are seen', async (_, format, space) => {
    const halves = await (await drawHalves(400, 300)).png().toBuffer()
    const content = await sharp(halves).toColourspace(space).toFormat(format).toBuffer()
    const { previewPath } = await probe(content)
    const reference = join(base, 'reference.webp')
    await sharp(content).webp().toFile(reference)
    for (const x of [0.25, 0.75])
      expect(await colorAt(previewPath, x, 0.5)).toEqual((await colorAt(reference, x, 0.5)).map((value) => near(value)))
  })

  test('a refused output has no preview', async () => {
    const content = await draw().png().toBuffer()
    const path = join(base, 'refused')
    await writeFile(path, content.subarray(0, 2000))
    const request = {
      path,
      name: 'out',
      previewPath: `${path}.webp`,
      bounds: { pixels: 1e6, side: 32_768 },
      ffmpegPath: null,
    }
    await expect(inspectOutput(request)).rejects.toMatchObject({ code: 'output_invalid' })
    expect(existsSync(request.previewPath)).toBe(false)
  })
})

describe('everything else is refused', () => {
  test.each([
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['SVG with a declaration', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['HTML', '<!DOCTYPE html><script>alert(1)</script>'],
    ['JSON', '{"a": 1}'],
    ['text', 'hello'],
    ['PDF', '%PDF-1.7\n'],
    ['ZIP', 'PK\x03\x04' + '\0'.repeat(60)],
    ['QuickTime of nothing but its first box', '\0\0\0\x14ftypqt  \0\0\0\0qt  '],
    ['the first bytes of a PNG', '\x89PNG\r\n\x1a\n'],
    ['a PNG header without a picture', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\b\x02\0\0\0'],
  ])('%s', async (_, content) => {
    const message = expect.stringMatching(/^Output out (is|holds) .+\.$/)
    await expect(probe(Buffer.from(content, 'latin1'))).rejects.toMatchObject({ code: 'output_invalid', message })
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { probeMedia } from '../../src/assets/probe.ts'

let base: string
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'mediagen-probe-'))
})
afterAll(async () => {
  await rm(base, { recursive: true, force: true })
})

let count = 0
async function probe(content: Buffer, maxPixels = 1_000_000) {
  const path = join(base, String(count++))
  await writeFile(path, content)
  return await probeMedia(path, 'out', maxPixels)
}

/** A picture that does not compress to nothing, so that half of its bytes are half of its pixels. */
function draw(width = 64, height = 48) {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
  return sharp({ create: { width, height, channels: 3, background: '#fff', noise } })
}

async function drawAnimation(format: 'gif' | 'webp') {
  const frames = await Promise.all([1, 2, 3].map(async () => await draw().png().toBuffer()))
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
  ] as const)('%s: recognised, measured, decoded to the end', async (format, contentType, extension) => {
    const content = await draw().toFormat(format).toBuffer()
    expect(await probe(content)).toEqual({ contentType, extension, width: 64, height: 48, durationSeconds: null })
    const damaged = content.subarray(0, Math.floor(content.length * 0.6))
    await expect(probe(damaged)).rejects.toMatchObject({ code: 'output_invalid', message: /damaged/ })
  })

  test.each(['gif', 'webp'] as const)('an animated %s has the size of one frame', async (format) => {
    const content = await drawAnimation(format)
    expect(await probe(content)).toMatchObject({ width: 64, height: 48 })
    await expect(probe(content, 64 * 48 * 2)).rejects.toMatchObject({
      message: 'Output out is larger than 6144 pixels.',
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
})

/** A box of an MP4 file. */
function box(type: string, ...content: string[]): Buffer {
  const body = Buffer.from(content.join(''), 'latin1')
  const size = Buffer.alloc(4)
  size.writeUInt32BE(body.length + 8)
  return Buffer.concat([size, Buffer.from(type, 'latin1'), body])
}

function wave(): Buffer {
  const header = Buffer.alloc(44 + 800)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + 800, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.write('data', 36)
  header.writeUInt32LE(800, 40)
  return header
}

const ebmlHeader = Buffer.from(
  '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701',
  'hex',
)
const oggOpus = Buffer.concat([
  Buffer.from('OggS\0\x02'),
  Buffer.alloc(20),
  Buffer.from('\x01\x13'),
  Buffer.from('OpusHead'),
])
const flac = Buffer.concat([Buffer.from('fLaC\0\0\0\x22'), Buffer.alloc(100)])
const mp3 = Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(500)])
const aac = Buffer.concat([Buffer.from('fff150801fbffc', 'hex'), Buffer.alloc(500)])

describe('video and sound', () => {
  test.each([
    ['mp4', box('ftyp', 'isom\0\0\0\0isommp42'), 'video/mp4', 'mp4'],
    ['m4a', box('ftyp', 'M4A \0\0\0\0isommp42'), 'audio/mp4', 'm4a'],
    ['webm', ebmlHeader, 'video/webm', 'webm'],
    ['wav', wave(), 'audio/wav', 'wav'],
    ['mp3', mp3, 'audio/mpeg', 'mp3'],
    ['aac', aac, 'audio/aac', 'aac'],
    ['flac', flac, 'audio/flac', 'flac'],
    ['ogg', oggOpus, 'audio/ogg', 'ogg'],
  ])('%s', async (_, content, contentType, extension) => {
    const media = { contentType, extension, width: null, height: null, durationSeconds: null }
    expect(await probe(content)).toEqual(media)
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
    ['QuickTime', box('ftyp', 'qt  \0\0\0\0qt  ').toString('latin1')],
    ['the first bytes of a PNG', '\x89PNG\r\n\x1a\n'],
    ['a PNG header without a picture', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\b\x02\0\0\0'],
  ])('%s', async (_, content) => {
    const message = expect.stringMatching(/^Output out is .+\.$/)
    await expect(probe(Buffer.from(content, 'latin1'))).rejects.toMatchObject({ code: 'output_invalid', message })
  })
})

// Files that are not what they seem: each is refused in words that name the field, before it costs memory, and the credits are back.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync, gzipSync } from 'node:zlib'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withBuiltin } from '../../test-app.ts'
import { type MediaApp, openHost, startMediaApp } from './media-app.ts'

const edit = 'builtin/image/art/edit'
let media: MediaApp

beforeAll(async () => {
  media = await startMediaApp(
    { MEDIAGEN_MAX_BODY_BYTES: '10000000', MEDIAGEN_MEDIA_ALLOW_HOSTS: '127.0.0.1' },
    withBuiltin,
  )
})
afterAll(() => media[Symbol.asyncDispose]())

const toUri = (bytes: Buffer | string): string => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`

function toChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** A black-and-white PNG, whole and valid: an eighth of a byte a pixel before, some ten thousandth after compression. */
function toPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 1
  const pixels = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height))
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([signature, toChunk('IHDR', header), toChunk('IDAT', pixels), toChunk('IEND', Buffer.alloc(0))])
}

/** A photo-like picture in a format, with something to compress. */
async function toPicture(format: 'png' | 'jpeg' | 'webp' | 'avif' | 'gif' | 'tiff'): Promise<Buffer> {
  const noise = {
    create: {
      width: 300,
      height: 200,
      channels: 3,
      background: '#808080',
      noise: { type: 'gaussian', mean: 128, sigma: 40 },
    },
  } as const
  return await sharp(noise).toFormat(format).toBuffer()
}

test('MEDIAGEN_MAX_PIXELS: pixel bombs are recognised by their headers', async () => {
  const jpeg = await toPicture('jpeg')
  // Height and width follow the marker of the frame.
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]))
  const largeJpeg = Buffer.from(jpeg)
  largeJpeg.writeUInt16BE(65_000, frame + 5)
  largeJpeg.writeUInt16BE(65_000, frame + 7)
  const largeGif = await toPicture('gif')
  largeGif.writeUInt16LE(65_535, 6)
  largeGif.writeUInt16LE(65_535, 8)
  // The first frame, after the palette.
  const descriptor = largeGif.indexOf(Buffer.from([0x2c, 0, 0, 0, 0]))
  largeGif.writeUInt16LE(65_535, descriptor + 5)
  largeGif.writeUInt16LE(65_535, descriptor + 7)
  const bombs: [string, Buffer][] = [
    ['20000 × 20000', toPng(20_000, 20_000)],
    ['200000 × 300', toPng(200_000, 300)],
    ['65000 × 65000', largeJpeg],
    ['65535 × 65535', largeGif],
  ]
  for (const [size, bytes] of bombs) {
    expect(bytes.length).toBeLessThan(100_000)
    expect(await media.refusal({ image: toUri(bytes) }, edit)).toEqual({
      code: 'invalid_media',
      message: `image is ${size}, which is more than the 50 megapixels that are accepted.`,
      retryable: false,
    })
  }
})

test('MEDIAGEN_MAX_SIDE_PIXELS: a picture that is one pixel wide and has fifty million rows costs no process its time', async () => {
  const bomb = toPng(1, 50_000_000)
  const words = 'is 1 × 50000000, and no side may be longer than 32768 pixels.'
  for (const model of [edit, undefined])
    expect(await media.refusal({ image: toUri(bomb) }, model)).toEqual({
      code: 'invalid_media',
      message: `image ${words}`,
      retryable: false,
    })
  const upload = await fetch(`${media.app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${media.app.account.key}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(bomb),
  })
  expect([upload.status, await upload.json()]).toMatchObject([
    400,
    { code: 'invalid_media', detail: `The file ${words}` },
  ])
  // What is as long as it may be is taken.
  await media.run({ image: toUri(toPng(1, 32_768)) })
})

test('a PNG that claims more pixels than there can be is refused', async () => {
  const header = toPng(8, 8)
  header.writeUInt32BE(0x7fffffff, 16)
  header.writeUInt32BE(0x7fffffff, 20)
  expect((await media.refusal({ image: toUri(header) }, edit)).code).toBe('invalid_media')
})

test('truncated pictures are refused', async () => {
  for (const format of ['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'] as const) {
    const bytes = await toPicture(format)
    for (const part of [0.9, 0.5, 0.05]) {
      const image = toUri(bytes.subarray(0, Math.floor(bytes.length * part)))
      const { code, message } = await media.refusal({ image }, edit)
      expect([format, part, code]).toEqual([format, part, 'invalid_media'])
      expect(message).toMatch(/^image (cannot be decoded|must be an image)/)
    }
  }
})

test('SVG is refused in every guise, and nothing that it refers to is fetched', async () => {
  await using host = await openHost((_request, response) => void response.end('no'))
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
    <image xlink:href="${host.url}/a.png"/><image href="file:///etc/passwd"/><style>@import url(${host.url}/b.css)</style></svg>`
  const entities = `<!DOCTYPE svg [<!ENTITY x SYSTEM "${host.url}/c">]>`
  for (const guise of [
    svg,
    `<?xml version="1.0"?>${svg}`,
    `<?xml version="1.0"?>${entities}${svg}`,
    `\ufeff\n\n  ${svg}`,
    `<!-- ${'x'.repeat(300)} -->${svg}`,
  ]) {
    const { code, message } = await media.refusal({ image: toUri(guise) }, edit)
    expect([code, message]).toEqual([
      'invalid_media',
      expect.stringMatching(/^image must be .*(SVG|XML|not recognised)/),
    ])
  }
  // Compressed, it is no picture either.
  expect(await media.refusal({ image: toUri(gzipSync(svg)) }, edit)).toMatchObject({
    code: 'invalid_media',
    message: expect.stringMatching(/^image must be .*gzip/),
  })
  expect(host.connections).toBe(0)
})

test('a picture whose text has tags is no more than a picture', async () => {
  const [png, gif] = [await toPicture('png'), await toPicture('gif')]
  const prompt = Buffer.from('<html><script>alert(1)</script><svg onload=alert(1)></html> %PDF-1.7\n')
  const text = toChunk('tEXt', Buffer.concat([Buffer.from('prompt\0'), prompt]))
  const comment = Buffer.concat([Buffer.from([0x21, 0xfe, prompt.length]), prompt, Buffer.from([0])])
  for (const bytes of [
    Buffer.concat([png.subarray(0, 33), text, png.subarray(33)]),
    Buffer.concat([gif.subarray(0, 13), comment, gif.subarray(13)]),
  ])
    await media.run({ image: toUri(bytes) }, edit)
})

test('TIFF, and AVIF of brands that sharp does not know, are edited like other pictures', async () => {
  const sequence = await toPicture('avif')
  sequence.write('avis', 8)
  for (const bytes of [await toPicture('tiff'), sequence]) await media.run({ image: toUri(bytes) }, edit)
})

test('a picture that is something else as well is refused', async () => {
  const png = await toPicture('png')
  const zip = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(18)])
  const files: [string, Buffer][] = [
    ['image/avif and HTML', Buffer.concat([Buffer.from('<!--'), (await toPicture('avif')).subarray(4)])],
    ['image/png and ZIP', Buffer.concat([png, zip])],
    ['image/png and ZIP', Buffer.concat([png, zip, Buffer.from('and a comment')])],
    ['image/jpeg and ZIP', Buffer.concat([await toPicture('jpeg'), zip])],
  ]
  for (const [what, bytes] of files)
    expect(await media.refusal({ image: toUri(bytes) })).toEqual({
      code: 'invalid_media',
      message: `image is ${what} at the same time, which is not accepted.`,
      retryable: false,
    })
})

test.each([
  ['HTML', '<!doctype html><html></html>', /HTML/],
  ['a program', Buffer.from('\x7fELF\x02\x01\x01'.padEnd(200, '\0'), 'latin1'), /application\/x-elf|not recognised/],
  ['a ZIP archive', Buffer.from('PK\x03\x04'.padEnd(200, '\0'), 'latin1'), /application\/zip|not recognised/],
  ['PDF', '%PDF-1.7\n', /application\/pdf/],
  ['Photoshop', Buffer.from('8BPS\0\x01'.padEnd(100, '\0'), 'latin1'), /image\/vnd\.adobe\.photoshop/],
  ['PostScript', '%!PS-Adobe-3.0 EPSF-3.0\n', /application\/(eps|postscript)/],
  ['a playlist that names other files', '#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n', /not recognised/],
  ['text', 'just words', /not recognised/],
  ['zeros', Buffer.alloc(5000), /not recognised/],
])('%s is no media', async (_name, bytes, words) => {
  const { code, message } = await media.refusal({ images: [toUri(bytes)] })
  expect([code, message]).toEqual([
    'invalid_media',
    expect.stringMatching(/^images\[0\] must be an image, a video or a sound/),
  ])
  expect(message).toMatch(words)
})

test('a video is no picture', async () => {
  const mp4 = Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp42\0\0\0\x08mdat', 'latin1')
  expect((await media.refusal({ image: toUri(mp4) }, edit)).message).toMatch(/^image must be an image .* video\/mp4/)
})

test('more references than a hundred are refused', async () => {
  const image = toUri(readFileSync(join(import.meta.dirname, '../../models/picture.png')))
  expect((await media.refusal({ images: Array.from({ length: 101 }, () => image) })).message).toContain('100 files')
})

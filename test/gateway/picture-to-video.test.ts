// A picture that is handed in becomes a video: quoted, made, probed and downloaded over REST.
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'

const model = 'builtin/video/kenburns/image-to-video'

test('a data URI becomes a video that can be downloaded', async () => {
  await using app = await startTestApp({}, withBuiltin)
  const picture = await sharp({ create: { width: 120, height: 80, channels: 3, background: '#3366aa' } })
    .composite([
      { input: Buffer.from('<svg width="60" height="60"><circle cx="30" cy="30" r="28" fill="#fc6"/></svg>') },
    ])
    .png()
    .toBuffer()
  const image = `data:image/png;base64,${picture.toString('base64')}`
  const { status, body } = await app.generate(model, { image, duration: 1, width: 128, height: 96 }, { wait: true })
  expect(status).toBe(200)
  expect(body).toMatchObject({ status: 'succeeded', progress: 1, error: null, billing: { quoted: 2, charged: 2 } })
  const [output] = body.outputs
  expect(output).toMatchObject({ content_type: 'video/mp4', width: 128, height: 96 })
  expect(output.duration_seconds).toBeCloseTo(1, 2)
  const file = await fetch(output.url)
  expect(file.headers.get('content-type')).toBe('video/mp4')
  const bytes = Buffer.from(await file.arrayBuffer())
  expect(bytes.length).toBe(output.bytes)
  expect(bytes.toString('latin1', 4, 8)).toBe('ftyp')
  // Its poster: a frame of the film, and the colours of that while it loads.
  expect(output.blurhash).toMatch(/^.{20,40}$/)
  const poster = await fetch(output.preview_url)
  expect(poster.status).toBe(200)
  const { format, width, height } = await sharp(Buffer.from(await poster.arrayBuffer())).metadata()
  expect([poster.headers.get('content-type'), format, width, height]).toEqual(['image/webp', 'webp', 128, 96])
})

test('a file that is not a picture fails the job with a reason and releases the credits', async () => {
  await using app = await startTestApp({}, withBuiltin)
  const image = `data:image/png;base64,${Buffer.from('not a picture').toString('base64')}`
  const { body } = await app.generate(model, { image }, { wait: true })
  expect(body).toMatchObject({ status: 'failed', error: { code: 'invalid_media', retryable: false } })
  expect(body.error.message).toMatch(/^image /)
  expect(body.billing).toMatchObject({ charged: 0, released: body.billing.quoted })
})

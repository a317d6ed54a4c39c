// Media that is handed in reaches the engine as a local file; what is no media fails the job and costs nothing (P106, P107).
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'

const root = resolve(import.meta.dirname, '../..')
const picture = readFileSync(join(root, 'test/models/picture.png'))
const model = 'acme/thumbnail/image-to-image'

const catalog = `models:
  - id: acme/thumbnail/image-to-image
    name: Thumbnail
    description: Shrinks a picture.
    category: image-to-image
    modality: image
    owned_by: acme
    created: 2026-11-01
    price: { credits: '1 + floor(width / 1000)' }
    engine: { kind: command, run: [node, thumbnail.mjs], timeout_seconds: 60, concurrency: 2 }
    input:
      type: object
      additionalProperties: false
      required: [image]
      properties:
        image: { type: string, format: media, title: Image, description: A picture. }
        width: { type: integer, minimum: 16, maximum: 2048, default: 256 }
`
const program = `import { readFileSync } from 'node:fs'
import sharp from 'sharp'

const { input, media } = JSON.parse(readFileSync(0, 'utf8'))
await sharp(media['/image']).resize(input.width).toFile('thumbnail.png')
`

let folder: string
let app: TestApp

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mediagen-thumbnail-'))
  writeFileSync(join(folder, 'my-models.yaml'), catalog)
  writeFileSync(join(folder, 'thumbnail.mjs'), program)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  app = await startTestApp({ MEDIAGEN_CATALOG: join(folder, 'my-models.yaml') })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('a program shrinks a picture that was handed in', async () => {
  const image = `data:image/png;base64,${picture.toString('base64')}`
  const { body: job } = await app.generate(model, { image, width: 16 })
  expect(job).toMatchObject({ status: 'succeeded', error: null })
  expect(job.outputs).toHaveLength(1)
  const file = await fetch(job.outputs[0].url)
  expect(await sharp(Buffer.from(await file.arrayBuffer())).metadata()).toMatchObject({ width: 16, format: 'png' })
})

test('a file that is not media fails the job with a message that names the field, and releases the credits', async () => {
  const before = (await app.send('/v1/wallet')).body
  const { body: job } = await app.generate(model, { image: 'data:image/png,<svg xmlns="http://www.w3.org/2000/svg"/>' })
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_media', message: expect.stringMatching(/^image must be .*SVG/), retryable: false },
    billing: { charged: 0 },
  })
  expect((await app.send('/v1/wallet')).body).toEqual(before)
})

test('a reference of another form is refused before a job exists', async () => {
  const answer = await app.send('/v1/quotes', { body: { model, input: { image: 'picture.png' } } })
  expect(answer.status).toBe(400)
  expect(answer.body).toMatchObject({ code: 'invalid_input', errors: [{ pointer: '/input/image' }] })
})

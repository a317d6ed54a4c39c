// Samples of models: their records, and GET /samples/… (P72, P73, P74, P81, P123, P130).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { afterAll, expect, test } from 'vitest'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import { paintEntry } from '../catalog/paint-entry.ts'
import { startTestApp } from '../test-app.ts'
import { sendRaw } from './raw-http.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-samples-'))
const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))
writeFileSync(join(folder, 'cat.png'), picture)
const model = (id: string, more: object = {}) => ({
  ...paintEntry,
  id,
  input: {
    ...paintEntry.input,
    properties: {
      ...paintEntry.input.properties,
      image: { type: 'string', format: 'media' },
      style: { enum: ['oil'], 'x-enum-samples': { oil: 'cat.png' } },
    },
  },
  ...more,
})
const sample = { file: 'cat.png', input: { prompt: 'a cat', image: 'cat.png' }, width: 8, height: 8 }
writeFileSync(
  join(folder, 'models.yaml'),
  JSON.stringify({ models: [model('a/with', { samples: [sample] }), model('a/without')] }),
)
const app = await startTestApp({ MEDIAGEN_CATALOG: join(folder, 'models.yaml') })
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const { body: list } = await app.send('/v1/models')
const { url } = list.data[0].samples[0]

test('a list has the samples of each model, without their inputs', () => {
  expect(list.data[0].samples).toEqual([
    {
      title: 'a cat',
      url: expect.stringMatching(/^http:\/\/[^/]+\/samples\/[0-9a-f]{32}\.png$/),
      content_type: 'image/png',
      width: 8,
      height: 8,
      duration_seconds: null,
      preview_url: null,
      input: null,
    },
  ])
  expect(list.data[1].samples).toEqual([])
})

test('the detail has the inputs, and one of them can be sent as it is', async () => {
  const { body } = await app.send('/v1/models/a/with')
  const [{ input, ...rest }] = body.samples
  expect({ ...rest, input: null }).toEqual(list.data[0].samples[0])
  expect(input).toEqual({ prompt: 'a cat', image: `data:image/png;base64,${picture.toString('base64')}` })
  expect((await app.quote('a/with', input)).credits).toBe(1)
})

test('over gRPC they are the same', async () => {
  const catalog = createClient(CatalogService, app.app.services)
  const headers = { authorization: `Bearer ${app.account.key}` }
  const { models } = await catalog.listModels({}, { headers })
  expect(models[0]?.samples[0]).toMatchObject({ title: 'a cat', url })
  expect(models[0]?.samples[0]?.input).toBeUndefined()
  const { model: read } = await catalog.getModel({ model: 'a/with' }, { headers })
  expect(read?.samples[0]?.input).toMatchObject({ prompt: 'a cat' })
})

test('a sample is read without a key, and may be cached for ever', async () => {
  const response = await fetch(url)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(response.headers.get('content-security-policy')).toContain('sandbox')
  expect(Buffer.from(await response.arrayBuffer()).equals(picture)).toBe(true)
})

test('a part of a sample is served, and its head', async () => {
  const part = await fetch(url, { headers: { range: 'bytes=1-3' } })
  expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
    206,
    `bytes 1-3/${picture.length}`,
    'PNG',
  ])
  const head = await fetch(url, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(picture.length)])
  const headers = { 'if-none-match': head.headers.get('etag') ?? '' }
  expect((await sendRaw(url, { path: new URL(url).pathname, headers })).status).toBe(304)
})

test('the file of an option is at the path that the document of the model says', async () => {
  const { body } = await app.send('/v1/models/a/without')
  const schema = body.openapi.paths['/a/without'].post.requestBody.content['application/json'].schema
  const path = schema.properties.style['x-enum-samples'].oil
  expect(new URL(path, url).href).toBe(url)
})

test.each(['none.png', '..%2Fmodels.yaml', '%2Fetc%2Fpasswd', 'models.yaml', '__proto__'])(
  'no other file is served: %s',
  async (name) => {
    const { status, body } = await sendRaw(new URL(url).origin, { path: `/samples/${name}` })
    expect([status, body.code]).toEqual([404, name.includes('/') ? 'route_not_found' : 'asset_not_found'])
  },
)

// GET /v1/models/{model}: the details of a model and its input schema (P71, P78, P80, P83).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import { afterAll, expect, test } from 'vitest'
import { startTestApp, testCatalog, withBuiltin } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

const validator = new Validator()
const models = testCatalog.split(':').flatMap((path) => (load(readFileSync(path, 'utf8')) as any).models)
const listed: { id: string }[] = (await app.send('/v1/models')).body.data
const operationOf = (openapi: any) => Object.values<any>(Object.values<any>(openapi.paths)[0])[0]
const schemaOf = (openapi: any) => operationOf(openapi).requestBody.content['application/json'].schema

test('the detail is the entry of the list, the inputs of its samples, openapi, and that it is ready', async () => {
  for (const entry of listed) {
    const { status, body } = await app.send(`/v1/models/${entry.id}`)
    const { openapi, ...rest } = body
    const samples = rest.samples.map((sample: object) => ({ ...sample, input: null }))
    expect([status, { ...rest, samples }]).toEqual([200, { ...entry, unready_reason: null }])
    for (const { input } of rest.samples) expect(input).toBeTypeOf('object')
    expect(openapi).toBeTypeOf('object')
  }
})

test.each(listed.map(({ id }) => id))('openapi of %s is valid OpenAPI 3.1', async (id) => {
  const { openapi } = (await app.send(`/v1/models/${id}`)).body
  expect(openapi.openapi).toMatch(/^3\.1\./)
  expect(await validator.validate(openapi)).toEqual({ valid: true })
})

test.each(listed.map(({ id }) => id))(
  'openapi of %s has one path, one operation, one JSON request body',
  async (id) => {
    const { openapi } = (await app.send(`/v1/models/${id}`)).body
    expect(Object.keys(openapi.paths)).toHaveLength(1)
    expect(Object.keys(Object.values<object>(openapi.paths)[0] ?? {})).toHaveLength(1)
    expect(Object.keys(operationOf(openapi).requestBody.content)).toEqual(['application/json'])
    expect(operationOf(openapi).requestBody.required).toBe(true)
  },
)

test('the schema of the request body is the input schema as the catalog writes it, with titles, defaults and examples', async () => {
  for (const { id, input } of models) {
    expect(schemaOf((await app.send(`/v1/models/${id}`)).body.openapi)).toEqual(input)
  }
})

test('a client can check inputs with the schema alone and agrees with the server', async () => {
  const { openapi } = (await app.send('/v1/models/test/instant/text-to-image')).body
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  const validate = ajv.compile(schemaOf(openapi))
  for (const input of [
    { prompt: 'x' },
    { prompt: '' },
    { prompt: 'x', width: 64 },
    { prompt: 'x', width: 63 },
    {},
    { prompt: 'x', y: 1 },
  ]) {
    const { status } = await app.send('/v1/quotes', { body: { model: 'test/instant/text-to-image', input } })
    expect(status).toBe(validate(input) ? 200 : 400)
  }
})

test('every example and every default of the models that ship is a legal value', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  for (const { id } of listed.filter((entry) => entry.id.startsWith('builtin/'))) {
    const { openapi } = (await app.send(`/v1/models/${id}`)).body
    for (const [name, schema] of Object.entries<any>(schemaOf(openapi).properties)) {
      expect([id, name, schema.title, schema.description]).toEqual([id, name, expect.any(String), expect.any(String)])
      const validate = ajv.compile(schema)
      const values = [...(schema.examples ?? []), ...('default' in schema ? [schema.default] : [])]
      for (const value of values) expect([id, name, value, validate(value)]).toEqual([id, name, value, true])
    }
  }
})

test('a model that exists but is not ready still answers with its detail', async () => {
  const { status, body } = await app.send('/v1/models/test/unready/video-to-video')
  expect(status).toBe(200)
  expect(body).toMatchObject({ id: 'test/unready/video-to-video', openapi: expect.any(Object) })
})

test.each(['test', 'test/instant', 'nothing', 'test/instant/text-to-image/more'])(
  'there is no model %s',
  async (id) => {
    const answer = await app.send(`/v1/models/${id}`)
    expectProblem(answer, app.url, 'model_not_found')
    expect(answer.body.detail).toContain(id)
  },
)

test('an id as long as the catalog allows can be asked for', async () => {
  const id = `${'a'.repeat(99)}/${'b'.repeat(100)}`
  const catalog = join(app.folder, 'long.json')
  const { writeFileSync } = await import('node:fs')
  writeFileSync(catalog, JSON.stringify({ models: [{ ...models[0], id }] }))
  await using long = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_CATALOG: catalog })
  for (const written of [id, encodeURIComponent(id)]) {
    const { status, body } = await long.send(`/v1/models/${written}`)
    expect([status, body.id]).toEqual([200, id])
  }
})

test('the detail needs models:read', async () => {
  const key = await app.createKey(app.account.accountId, ['generate'])
  for (const id of ['test/instant/text-to-image', 'test/none']) {
    const { status, body } = await app.send(`/v1/models/${id}`, { key })
    expect([status, body.permission]).toEqual([403, 'models:read'])
  }
})

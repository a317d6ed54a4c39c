// GET /openapi.json: the whole REST interface, as valid OpenAPI 3.1, and true. docs/contract.md, section 2.
import { Validator } from '@seriousme/openapi-schema-validator'
import formats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { sendRaw } from './raw-http.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())

const { body: document } = await app.send('/openapi.json', { key: null })
const interfaceRoutes = [
  'POST /v1/quotes',
  'POST /v1/generate',
  'POST /v1/run',
  'POST /v1/images/generations',
  'POST /v1/images/edits',
  'POST /v1/audio/speech',
  'GET /v1/audio/voices',
  'GET /v1/models',
  'GET /v1/models/{model}',
  'GET /v1/models/categories',
  'GET /v1/jobs/{job_id}',
  'GET /v1/jobs',
  'POST /v1/jobs/{job_id}/cancel',
  'GET /v1/jobs/{job_id}/bundle',
  'GET /v1/jobs/{job_id}/events',
  'GET /v1/wallet',
  'GET /v1/usage',
  'GET /v1/account',
  'GET /v1/account/keys',
  'GET /v1/key',
  'POST /v1/keys',
  'PATCH /v1/keys/{key_id}',
  'DELETE /v1/keys/{key_id}',
  'GET /v1/wallet/entries',
  'GET /v1/webhooks',
  'POST /v1/webhooks',
  'GET /v1/webhooks/{webhook_id}',
  'DELETE /v1/webhooks/{webhook_id}',
  'GET /v1/webhooks/{webhook_id}/deliveries',
  'POST /v1/webhooks/{webhook_id}/rotate-secret',
  'POST /v1/webhooks/{webhook_id}/test',
  'POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
  'GET /v1/files',
  'POST /v1/files',
  'GET /v1/files/{file_id}',
  'DELETE /v1/files/{file_id}',
  'DELETE /v1/jobs/{job_id}',
]
// What needs no key. A pure gateway leaves the files to the core, so the core's own document tells of them.
const openRoutes = [
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /openapi.json',
  'GET /problems',
  'GET /problems/{code}',
]
const coreUrl = app.app.httpUrl
const coreDocument: any = await (await fetch(`${coreUrl}/openapi.json`)).json()

function listOperations(paths: Record<string, object>): string[] {
  return Object.entries<object>(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
}

/** Checks a value against a schema of the document. */
function check(schema: object, value: unknown): unknown {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  const validate = ajv.compile({ ...schema, components: document.components })
  return validate(value) ? [] : validate.errors
}

test('is valid OpenAPI 3.1, by a published validator', async () => {
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true })
})

test('names the public address of the server', () => {
  expect(document.servers).toEqual([{ url: app.url }])
})

test('has an operation for each route of the interface and the contract, and no other', () => {
  const documented = listOperations(document.paths).filter((route) => !/\/(assets|samples)\//.test(route))
  expect(documented.toSorted()).toEqual([...interfaceRoutes, ...openRoutes].toSorted())
})

test('what needs no key is documented as it is served: files and health', async () => {
  const routes = listOperations(coreDocument.paths).filter((route) => !route.includes(' /v1/'))
  expect(routes.toSorted()).toEqual(['GET /assets/{key}', 'GET /samples/{name}', ...openRoutes].toSorted())
  for (const route of routes) {
    const path = route.slice(4)
    const operation = coreDocument.paths[path].get
    expect(operation.security).toEqual([])
    const { status } = await sendRaw(coreUrl, { path })
    expect([path, status, Object.keys(operation.responses)]).toEqual([
      path,
      path.includes('{') ? 404 : 200,
      expect.arrayContaining([String(status)]),
    ])
    expect((await sendRaw(coreUrl, { path, method: 'POST' })).status).toBe(405)
  }
})

test('every operation has an id of its own', () => {
  const ids = Object.values<any>(coreDocument.paths).flatMap((item) =>
    Object.values<any>(item).map((operation) => operation.operationId),
  )
  expect(new Set(ids).size).toBe(listOperations(coreDocument.paths).length)
})

describe('operations match the routes', () => {
  const paths = Object.keys(document.paths)
  test.each(paths)('%s takes the methods that the document lists', async (path) => {
    const real = path
      .replace('{model}', 'test/instant/text-to-image')
      .replace('{job_id}', 'job_x')
      .replace('{code}', 'internal')
    const taken: string[] = []
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, body } = await sendRaw(app.url, { method, path: real })
      expect(body?.code).not.toBe('route_not_found')
      if (status !== 405) taken.push(method.toLowerCase())
    }
    expect(taken).toEqual(Object.keys(document.paths[path]))
  })

  test.each(interfaceRoutes)('%s needs a key, and the document says so', async (route) => {
    const [method = '', path = ''] = route.split(' ')
    const real = path.replace('{model}', 'test/instant/text-to-image').replace('{job_id}', 'job_x')
    expect((await sendRaw(app.url, { method, path: real })).body.code).toBe('authentication_required')
    expect(document.security).toEqual([{ key: [] }])
    expect(document.paths[path][method.toLowerCase()].responses['401']).toBeDefined()
  })

  test.each([
    ['/v1/models', 'get', ['search', 'category', 'grouped', 'limit', 'offset']],
    ['/v1/jobs', 'get', ['status', 'model', 'idempotency_key', 'search', 'label', 'limit', 'offset']],
    ['/v1/wallet/entries', 'get', ['limit', 'offset']],
    ['/v1/generate', 'post', ['wait']],
    ['/v1/run', 'post', ['wait']],
    ['/v1/models/categories', 'get', []],
    ['/v1/models/{model}', 'get', []],
  ])('%s lists its query parameters', (path, method, names) => {
    const parameters = (document.paths[path][method].parameters ?? []).filter(
      (parameter: any) => parameter.in === 'query',
    )
    expect(parameters.map((parameter: any) => parameter.name)).toEqual(names)
  })

  test('limits and defaults are those of the interface', () => {
    const parameters = document.paths['/v1/models'].get.parameters
    const schemaOf = (name: string) => parameters.find((parameter: any) => parameter.name === name).schema
    expect(schemaOf('limit')).toEqual({ type: 'integer', format: 'int32', minimum: 1, maximum: 500, default: 100 })
    expect(schemaOf('offset')).toEqual({
      type: 'integer',
      format: 'int32',
      minimum: 0,
      maximum: 2 ** 31 - 1,
      default: 0,
    })
    expect(schemaOf('grouped')).toEqual({ type: 'boolean', default: false })
    const [key] = document.paths['/v1/generate'].post.parameters
    expect(key).toMatchObject({ name: 'Idempotency-Key', in: 'header', required: true })
  })
})

describe('answers match the schemas', () => {
  const schemaOf = (path: string, method: string, status: string) =>
    document.paths[path][method].responses[status].content['application/json'].schema

  test.each([
    ['/v1/models', '/v1/models'],
    ['/v1/models', '/v1/models?grouped=true'],
    ['/v1/models/categories', '/v1/models/categories'],
    ['/v1/models/{model}', '/v1/models/test/instant/text-to-image'],
    ['/v1/jobs', '/v1/jobs'],
    ['/v1/wallet', '/v1/wallet'],
    ['/v1/wallet/entries', '/v1/wallet/entries'],
  ])('%s answers %s as documented', async (path, real) => {
    await app.generate('test/instant/text-to-image', { prompt: 'x' })
    const { status, body } = await app.send(real)
    expect(status).toBe(200)
    expect(check(schemaOf(path, 'get', '200'), body)).toEqual([])
  })

  test('quotes and jobs, also those that failed, are as documented', async () => {
    const quote = await app.quote('test/instant/text-to-image', { prompt: 'x' })
    expect(check(schemaOf('/v1/quotes', 'post', '200'), quote)).toEqual([])
    for (const model of ['test/instant/text-to-image', 'test/failing/text-to-image']) {
      const { body } = await app.generate(model, { prompt: 'x' })
      expect(check(schemaOf('/v1/generate', 'post', '200'), body)).toEqual([])
    }
  })

  test('every refusal of a start is documented under its status, by its code', async () => {
    const model = 'test/instant/text-to-image'
    const quote = await app.quote(model, { prompt: 'x' })
    const start = (headers: Record<string, string>, body: object, account?: object) =>
      app.send('/v1/generate', { method: 'POST', headers, body, ...account })
    const valid = { model, input: { prompt: 'x' }, quote_id: quote.quote_id }
    const key = { 'idempotency-key': crypto.randomUUID() }
    await start(key, valid)
    const fresh = () => ({ 'idempotency-key': crypto.randomUUID() })
    const answers = await Promise.all([
      start(fresh(), { ...valid, model: 'no/such/model' }),
      start(fresh(), { ...valid, quote_id: 'quote_x' }),
      start(fresh(), { ...valid, input: { prompt: 'y' } }),
      start(key, { ...valid, input: { prompt: 'y' } }),
      start({ 'idempotency-key': 'x'.repeat(256) }, valid),
      start({}, valid),
      start(fresh(), valid, { key: null }),
      start(fresh(), valid, { key: 'mgk_unknown' }),
      start(fresh(), { ...valid, wat: 1 }),
    ])
    expect(answers.map(({ body }) => body.code)).toEqual([
      'model_not_found',
      'quote_not_found',
      'quote_mismatch',
      'idempotency_key_reused',
      'idempotency_key_invalid',
      'idempotency_key_required',
      'authentication_required',
      'invalid_api_key',
      'invalid_request',
    ])
    const { responses } = document.paths['/v1/generate'].post
    for (const { status, body } of answers) expect(responses[status].description).toContain(`(\`${body.code}\`)`)
  })

  test('problems are as documented', async () => {
    const answers = await Promise.all([
      app.send('/v1/quotes', { body: {} }),
      app.send('/v1/wallet', { key: null }),
      app.send('/v1/jobs/job_x'),
      app.generate('test/instant/text-to-image', { prompt: 'x' }, { account: await app.createAccount(0) }),
    ])
    for (const { body } of answers) expect(check(document.components.schemas.Problem, body)).toEqual([])
  })
})

test('the headers of a start, a refusal without a key and a new endpoint are documented as they are sent', async () => {
  const started = await app.generate('test/instant/text-to-image', { prompt: 'x' }, { wait: false })
  const refused = await app.send('/v1/wallet', { key: null })
  const created = await app.send('/v1/webhooks', { body: { url: 'https://example.com/hooks' } })
  const absent = new Set(['Idempotent-Replayed', 'Deprecation', 'Sunset'])
  for (const [{ status, headers }, { responses }] of [
    [started, document.paths['/v1/generate'].post],
    [refused, document.paths['/v1/wallet'].get],
    [created, document.paths['/v1/webhooks'].post],
  ] as const) {
    const documented = Object.keys(responses[status].headers).filter((name) => !absent.has(name))
    expect(documented.length).toBeGreaterThan(1)
    for (const name of documented) expect([name, headers.has(name)]).toEqual([name, true])
  }
})

test('P286: the answers that carry a receipt are documented with its header', () => {
  const operations = [
    ...['/v1/generate', '/v1/run', '/v1/images/generations', '/v1/images/edits', '/v1/audio/speech'].map(
      (path) => document.paths[path].post,
    ),
    document.paths['/v1/jobs/{job_id}'].get,
    document.paths['/v1/jobs/{job_id}/cancel'].post,
  ]
  for (const { operationId, responses } of operations)
    expect([operationId, Object.keys(responses[200].headers)]).toEqual([
      operationId,
      expect.arrayContaining(['Mediagen-Receipt']),
    ])
})

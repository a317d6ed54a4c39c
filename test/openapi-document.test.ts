// The OpenAPI document by itself: titles, examples, formats, headers, webhooks. test/gateway/openapi.test.ts holds it
// against a server.
import formats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { readOpenapi } from '../docs/make.ts'
import { AccountService } from '../gen/mediagen/v1/account_pb.ts'
import { CatalogService } from '../gen/mediagen/v1/catalog_pb.ts'
import { FilesService } from '../gen/mediagen/v1/files_pb.ts'
import { GenerationService } from '../gen/mediagen/v1/generation_pb.ts'
import { QuotesService } from '../gen/mediagen/v1/quotes_pb.ts'
import { WalletService } from '../gen/mediagen/v1/wallet_pb.ts'
import { WebhooksService } from '../gen/mediagen/v1/webhooks_pb.ts'
import { isErrorCode, retryable } from '../src/core/errors.ts'
import { jobStatuses, terminalStatuses } from '../src/core/jobs/job.ts'

const document: any = await readOpenapi()
const { components } = document
const operations: [string, any, string][] = Object.entries<any>(document.paths).flatMap(([path, item]) =>
  Object.entries<any>(item).map(
    ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation, toPointer('paths', path, method)] as const,
  ),
) as never

/** The schema without room for unknown fields, so that an example cannot have one that the schema lacks. */
function strictly(schema: any): any {
  if (Array.isArray(schema)) return schema.map(strictly)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'example' ? value : strictly(value)]),
  )
  return 'properties' in schema && !('additionalProperties' in schema)
    ? { ...inner, additionalProperties: false }
    : inner
}

function toPointer(...segments: string[]): string {
  return segments
    .map((segment) => `/${encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('')
}

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats.default(ajv)
ajv.addSchema({ ...strictly(document), $id: 'document' })

/** What is wrong with a value by the schema at this place of the document. */
function check(pointer: string, value: unknown): unknown {
  return ajv.validate({ $ref: `document#${pointer}` }, value) ? [] : ajv.errors
}

describe('what a reader sees', () => {
  test.each(operations)('%s has a short title, a description and a known group', (_route, operation) => {
    expect(operation.summary).toMatch(/^[A-Z][^.]{3,59}$/)
    expect(operation.description).toMatch(/\.$/)
    expect(document.tags.map(({ name }: { name: string }) => name)).toContain(operation.tags[0])
  })

  test.each(operations)('%s has valid examples of its request and of every answer', (_route, operation, pointer) => {
    const bodies: [string, any][] = Object.entries<any>(operation.responses).map(([status, response]) => [
      toPointer('responses', status),
      response,
    ])
    for (const [place, body] of [...bodies, ['/requestBody', operation.requestBody] as const]) {
      for (const [type, { example, examples }] of Object.entries<any>(body?.content ?? {})) {
        // The content of a file is no text.
        if (/^(?:multipart|image|video|audio|\*)|octet-stream|zip/.test(type)) continue
        const given = examples ? Object.keys(examples).map((name) => components.examples[name].value) : [example]
        expect(given.length).toBeGreaterThan(0)
        for (const value of given)
          expect(check(`${pointer}${place}${toPointer('content', type, 'schema')}`, value)).toEqual([])
      }
    }
    for (const [index, { name, required, example }] of (operation.parameters ?? []).entries())
      if (required) expect([name, check(`${pointer}/parameters/${index}/schema`, example)]).toEqual([name, []])
  })

  test.each(operations)('%s says that every answer has a request id', (_route, { responses }) => {
    for (const { headers } of Object.values<any>(responses)) expect(headers).toHaveProperty('X-Request-Id')
  })

  test('the events of the example are jobs', () => {
    const { content } = document.paths['/v1/jobs/{job_id}/events'].get.responses[200]
    const stream: string = content['text/event-stream'].example
    const data = [...stream.matchAll(/^data: (.*)$/gm)].map(([, text = '']) => JSON.parse(text))
    expect(data.map(({ status }) => status)).toEqual(['running', 'succeeded'])
    for (const job of data) expect(check('/components/schemas/Job', job)).toEqual([])
  })

  test('states and codes are enums, times and addresses have formats', () => {
    const { Job, Problem, Quote, Delivery, Entry } = components.schemas
    expect(Job.properties.status.enum).toEqual(jobStatuses)
    expect(Problem.properties.code.enum).toEqual(Object.keys(retryable))
    expect(Delivery.properties.status.enum).toContain('delivered')
    expect(Entry.properties.kind.enum).toContain('hold')
    expect(Quote.properties).toMatchObject({ credits: { format: 'int64' }, expires_at: { format: 'date-time' } })
    for (const schema of Object.values<any>(components.schemas))
      for (const [name, property] of Object.entries<any>(schema.properties))
        if (/_at$|^kept_until$/.test(name)) expect([name, property.format]).toEqual([name, 'date-time'])
        else if (/(^|_)url$/.test(name)) expect([name, property.format]).toEqual([name, expect.stringMatching(/^uri/)])
  })

  test('each refusal has an example with its own code', () => {
    for (const [code, { value }] of Object.entries<any>(components.examples)) {
      expect(isErrorCode(code)).toBe(true)
      expect([value.code, value.type.split('/').at(-1)]).toEqual([code, code])
    }
  })
})

test('every rpc that the document names exists', () => {
  const services = [
    QuotesService,
    GenerationService,
    CatalogService,
    WalletService,
    AccountService,
    WebhooksService,
    FilesService,
  ]
  const methods = new Set(services.flatMap(({ methods, typeName }) => methods.map(({ name }) => `${typeName}/${name}`)))
  const named = operations.flatMap(([, operation]) => operation['x-rpc'] ?? [])
  expect(named.filter((rpc) => !methods.has(rpc))).toEqual([])
  // Of all routes under /v1 only the upload of a file and what OpenAI's interface has are not one message.
  expect(named).toHaveLength(operations.filter(([route]) => route.includes(' /v1/')).length - 5)
})

describe('webhooks', () => {
  const webhooks = Object.entries<any>(document.webhooks)

  test('are described for every event', () => {
    expect(webhooks.map(([name]) => name)).toEqual([
      ...terminalStatuses.map((status) => `job.${status}`),
      'webhook.test',
    ])
  })

  test.each(webhooks)('%s has a valid example, and the headers of its signature', (name, { post }) => {
    const { example } = post.requestBody.content['application/json']
    const schema = toPointer('webhooks', name, 'post', 'requestBody', 'content', 'application/json', 'schema')
    expect(check(schema, example)).toEqual([])
    expect(example.type).toBe(name)
    // A test tells of no job.
    expect(example.data.status).toBe(name === 'webhook.test' ? undefined : name.slice('job.'.length))
    const headers = post.parameters.map((parameter: { name: string }) => parameter.name)
    expect(headers).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature'])
  })
})

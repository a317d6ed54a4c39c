// GET /openapi.json: the OpenAPI 3.1 document of the REST interface, from the schemas of the routes themselves.
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { ErrorCode } from '@mediagen/core/errors.ts'
import type { RoutePermission } from './access.ts'
import { problemKinds } from './problem-kinds.ts'
import type { Query } from './query.ts'
import { problemSchema } from './schemas.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** What the document says about a route. Routes without it are not part of the interface. */
    operation?: Operation
  }
}

/** What the document says about a route beyond its schemas. */
export interface Operation {
  /** Unique in the document. */
  readonly id: string
  readonly summary: string
  /** Descriptions of the parameters in the path; the last one is the wildcard, if the path has one. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Query
  readonly headers?: Query
  /** The content of a body that is not JSON. */
  readonly content?: object
  /** Answers by status: those without a response schema, and what else there is to say about the others. */
  readonly answers?: Readonly<Record<string, object>>
  /** Codes of refusals, in addition to those of every route with a key and of every route with a body. */
  readonly errors?: readonly ErrorCode[]
}

type Schema = Readonly<Record<string, unknown>>

const refusalsOfAll: readonly ErrorCode[] = ['internal']
const refusalsWithKey: readonly ErrorCode[] = [
  'invalid_request',
  'authentication_required',
  'invalid_api_key',
  'missing_permission',
  'rate_limited',
  'shutting_down',
  'overloaded',
  'storage_unavailable',
]
const refusalsWithBody: readonly ErrorCode[] = ['request_timeout', 'payload_too_large', 'unsupported_media_type']

const operation: Operation = {
  id: 'getOpenapi',
  summary: 'The OpenAPI document of the REST interface.',
  answers: { 200: { description: 'The document.', content: json({ type: 'object' }) } },
}

/** Collects the operations of all routes that are added from here on; call what it returns to add the route. */
export function collectOperations(app: FastifyInstance, publicUrl: () => string): () => void {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, object> = {}
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const { operation } = schema ?? {}
    // Fastify adds HEAD to every GET.
    if (!operation || typeof method !== 'string' || method === 'HEAD') return
    const [wildcard = ''] = Object.keys(operation.path ?? {}).slice(-1)
    const path = url.replaceAll(/:(\w+)/g, '{$1}').replace('*', `{${wildcard}}`)
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation, schema, config?.permission) }
  })

  function describe(operation: Operation, schema: RouteOptions['schema'], permission?: RoutePermission): object {
    const { id, summary, content = schema?.body ? json(schema.body) : undefined } = operation
    const parameters = listParameters(operation)
    const codes = [
      ...refusalsOfAll,
      ...(permission ? refusalsWithKey : []),
      ...(content ? refusalsWithBody : []),
      ...(operation.errors ?? []),
    ]
    return {
      operationId: id,
      summary,
      ...describePermission(permission),
      ...(parameters.length > 0 && { parameters }),
      ...(content && { requestBody: { required: true, content } }),
      responses: { ...describeAnswers(operation, schema?.response as Schema | undefined), ...describeRefusals(codes) },
    }
  }

  function describeAnswers({ answers = {} }: Operation, bySchema: Schema = {}): Record<string, unknown> {
    const statuses = Object.keys({ ...bySchema, ...answers }).filter((status) => status !== '2xx')
    return Object.fromEntries(
      statuses.map((status) => {
        const schema = (bySchema[status] ?? bySchema['2xx']) as Schema | undefined
        const known = schema && { description: schema['description'], content: json(schema) }
        return [status, refer({ ...known, ...answers[status] })]
      }),
    )
  }

  function describeRefusals(codes: readonly ErrorCode[]): Record<string, object> {
    const content = { 'application/problem+json': { schema: refer(problemSchema) } }
    const byStatus = Map.groupBy(codes, (code) => problemKinds[code].http)
    return Object.fromEntries(
      [...byStatus].map(([status, group]) => [
        status,
        { description: group.map((code) => `${problemKinds[code].title} (\`${code}\`)`).join('; '), content },
      ]),
    )
  }

  /** The schema with references in place of all schemas with a title, which become components of the document. */
  function refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(refer)
    if (typeof schema !== 'object' || schema === null) return schema
    const named = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, refer(value)]))
    const { title } = named
    if (typeof title !== 'string') return named
    schemas[title] = named
    return { $ref: `#/components/schemas/${title}` }
  }

  const write = (): string =>
    JSON.stringify({
      openapi: '3.1.1',
      info: {
        title: 'mediagen',
        version: '1',
        description: 'Media generation: quotes, generations and a model catalog.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl() }],
      security: [{ key: [] }],
      paths,
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `mgk_…`.' } },
        schemas,
      },
    })

  return () => {
    // Created once: anyone may request it without a key, and all pending answers share the same bytes.
    let document: Buffer | undefined
    app.get('/openapi.json', { schema: { operation } }, (_request, reply) => {
      document ??= Buffer.from(write())
      return reply.type('application/json; charset=utf-8').send(document)
    })
  }
}

/** A body of JSON. */
export function json(schema: unknown): object {
  return { 'application/json': { schema } }
}

function describePermission(permission: RoutePermission | undefined): object {
  if (permission === undefined) return { security: [] }
  if (permission === 'any') return { description: 'Needs a valid key and no particular permission.' }
  return { description: `Needs the permission ${permission}.` }
}

function listParameters({ path = {}, headers = {}, query = {} }: Operation): object[] {
  const list = (where: 'header' | 'query', parameters: Query): object[] =>
    Object.entries(parameters).map(([name, { description, schema, required }]) => ({
      name,
      in: where,
      required,
      description,
      schema,
    }))
  const inPath = Object.entries(path).map(([name, description]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
  }))
  return [...inPath, ...list('header', headers), ...list('query', query)]
}

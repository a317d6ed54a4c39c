// Makes the OpenAPI 3.1 document from what routes say about themselves, with examples, headers and webhooks.
import { describeAnswer, describeBody } from './add-examples.ts'
import { exampleOfParameter } from './examples.ts'
import { headers, headersOf } from './headers.ts'
import { findTag, tags } from './tags.ts'
import { describeWebhooks } from './webhooks.ts'

/** A parameter of an operation. */
interface Parameter {
  readonly description: string
  readonly schema: object
  readonly required?: true
}

type Parameters = Readonly<Record<string, Parameter>>

/** What a route says about itself beyond its schemas. `Code` is a code of a refusal. */
export interface Operation<Code extends string = string> {
  /** Unique in the document; the name of the rpc that does the same, if there is one. */
  readonly id: string
  /** Its first sentence is the title. */
  readonly summary: string
  /** Descriptions of the parameters in the path; the last one is the wildcard, if the path has one. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Parameters
  readonly headers?: Parameters
  /** The content of a body that is not JSON. */
  readonly content?: object
  /** Answers by status: those without a response schema, and what else there is to say about the others. */
  readonly answers?: Readonly<Record<string, object>>
  /** Codes of refusals, in addition to those of every route with a key and of every route with a body. */
  readonly errors?: readonly Code[]
}

/** A route of the interface. */
export interface Route {
  readonly method: string
  /** As Fastify writes it: `:name` is a parameter, `*` is the rest of the path. */
  readonly url: string
  readonly operation: Operation
  /** JSON Schema of the body, and of the answers by status. */
  readonly body?: unknown
  readonly response?: Readonly<Record<string, unknown>>
  /** The permission that a key needs; `any` if any key will do, undefined if none is needed. */
  readonly permission: string | undefined
}

/** A refusal. */
interface Problem {
  readonly title: string
  /** HTTP status. */
  readonly http: number
  readonly help: string
  readonly retryable: boolean
}

/** What the document says about all routes. */
export interface DocumentDeps {
  /** Address of the server. */
  readonly url: string
  /** All refusals by code. */
  readonly problems: Readonly<Record<string, Problem>>
  readonly problemSchema: object
  /** Names of the webhooks. */
  readonly events: readonly string[]
}

const refusalsOfAll = ['internal', 'invalid_request']
const refusalsWithKey = [
  'authentication_required',
  'invalid_api_key',
  'missing_permission',
  'rate_limited',
  'shutting_down',
  'overloaded',
  'storage_unavailable',
]
const refusalsWithBody = ['request_timeout', 'payload_too_large', 'unsupported_media_type']

const about = `Prices a generation before it starts, makes it, and bills what it made.

Ask for a quote (\`POST /v1/quotes\`), start the generation with its \`quote_id\` (\`POST /v1/generate\`), or do both in one call (\`POST /v1/run\`), and wait for its end: \`wait=true\`, the events of the job, or a webhook. \`GET /v1/models/{model}\` has the input schema of each model.

Fields may be added to records, but none is renamed. Branch on the \`code\` of a problem, and treat a code that you do not know by its HTTP status.`

/** A body of JSON. */
export function json(schema: unknown): object {
  return { 'application/json': { schema } }
}

/** Creates the document. */
export function createDocument(routes: readonly Route[], deps: DocumentDeps): object {
  const schemas: Record<string, object> = {}
  const paths: Record<string, Record<string, object>> = {}
  const refusals = new Set<string>()
  for (const route of routes) {
    const [wildcard = ''] = Object.keys(route.operation.path ?? {}).slice(-1)
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}').replace('*', `{${wildcard}}`)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(route, path) }
  }

  function describe({ operation, body, response = {}, permission }: Route, path: string): object {
    const { id, errors = [], content = body ? json(body) : undefined } = operation
    const { name, service } = findTag(path)
    const parameters = listParameters(operation)
    const codes = [
      ...refusalsOfAll,
      ...(permission ? refusalsWithKey : []),
      ...(content ? refusalsWithBody : []),
      ...errors,
    ]
    return {
      operationId: id,
      tags: [name],
      ...describeSummary(operation.summary, permission),
      ...(permission === undefined && { security: [] }),
      // An extension: the rpc that does the same.
      ...(service && !operation.content && { 'x-rpc': `mediagen.v1.${service}/${id[0]?.toUpperCase()}${id.slice(1)}` }),
      ...(parameters.length > 0 && { parameters }),
      ...(content && { requestBody: { required: true, content: describeBody(id, content) } }),
      responses: { ...describeAnswers(operation, response), ...describeRefusals(codes) },
    }
  }

  function describeAnswers({ id, answers = {} }: Operation, bySchema: NonNullable<Route['response']>): object {
    const statuses = Object.keys({ ...bySchema, ...answers }).filter((status) => status !== '2xx')
    return Object.fromEntries(
      statuses.map((status) => {
        const schema = (bySchema[status] ?? bySchema['2xx']) as { description?: string } | undefined
        const known = schema && { description: schema.description, content: json(schema) }
        const answer = describeAnswer(id, status, { ...known, ...answers[status] })
        return [status, { ...(refer(answer) as object), headers: headersOf(id, status) }]
      }),
    )
  }

  function describeRefusals(codes: readonly string[]): Record<string, object> {
    for (const code of codes) refusals.add(code)
    const byStatus = Map.groupBy(codes, (code) => String(deps.problems[code]?.http))
    return Object.fromEntries(
      [...byStatus].map(([status, group]) => {
        const examples = Object.fromEntries(group.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
        const content = { 'application/problem+json': { schema: refer(deps.problemSchema), examples } }
        const description = group.map((code) => `${deps.problems[code]?.title} (\`${code}\`)`).join('; ')
        return [status, { description, headers: headersOf('', status), content }]
      }),
    )
  }

  /** The schema with references in place of all schemas with a title, which become components of the document. */
  function refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(refer)
    if (typeof schema !== 'object' || schema === null) return schema
    // An example is data, whatever its fields are called.
    const named = Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, key === 'example' ? value : refer(value)]),
    )
    const { title } = named
    if (typeof title !== 'string') return named
    schemas[title] = named
    return { $ref: `#/components/schemas/${title}` }
  }

  return {
    openapi: '3.1.1',
    info: {
      title: 'mediagen',
      version: '1',
      summary: 'Media generation: quotes, generations and a model catalog.',
      description: about,
      contact: { name: 'The operator of this server', url: deps.url },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: deps.url }],
    security: [{ key: [] }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths,
    webhooks: describeWebhooks(deps.events),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `mgk_…`.' } },
      headers,
      examples: describeProblems(deps, refusals),
      schemas,
    },
  }
}

/** The first sentence is the title; the rest, and what the key needs, is the description. */
function describeSummary(text: string, permission: string | undefined): { summary: string; description: string } {
  const [, summary = text, rest = ''] = /^(.*?)\.(?: (.*))?$/s.exec(text) ?? []
  const needs =
    permission === undefined
      ? 'Needs no key.'
      : permission === 'any'
        ? 'Needs a valid key and no particular permission.'
        : `Needs the permission \`${permission}\`.`
  return { summary, description: [rest, needs].filter(Boolean).join(' ') }
}

function describeProblems({ url, problems }: DocumentDeps, codes: ReadonlySet<string>): object {
  const request_id = headers['X-Request-Id'].example
  const used = Object.entries(problems).filter(([code]) => codes.has(code))
  return Object.fromEntries(
    used.map(([code, { title, http: status, help: detail, retryable }]) => {
      const value = { type: `${url}/problems/${code}`, title, status, detail, code, retryable, request_id }
      return [code, { summary: title, value }]
    }),
  )
}

function listParameters({ path = {}, headers = {}, query = {} }: Operation): object[] {
  const list = (where: 'header' | 'query', parameters: Parameters): object[] =>
    Object.entries(parameters).map(([name, { description, schema, required }]) => ({
      name,
      in: where,
      required,
      description,
      schema,
      ...(required && exampleOfParameter(name)),
    }))
  const inPath = Object.entries(path).map(([name, description]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
    ...exampleOfParameter(name),
  }))
  return [...inPath, ...list('header', headers), ...list('query', query)]
}

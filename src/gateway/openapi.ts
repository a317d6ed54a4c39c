// GET /openapi.json: the OpenAPI 3.1 document of the whole REST interface, from the same schemas that serialize the answers.
import type { FastifyInstance } from 'fastify'
import type { ErrorCode } from '../core/errors.ts'
import { problemKinds } from './problem-kinds.ts'
import { assetOperations, json, openOperations, type Operation, operations, ref } from './openapi-operations.ts'
import * as schemas from './schemas.ts'

/** What every route with a key may refuse. */
const everywhere: readonly ErrorCode[] = [
  'invalid_request',
  'authentication_required',
  'invalid_api_key',
  'missing_permission',
  'rate_limited',
  'internal',
  'shutting_down',
  'overloaded',
  'storage_unavailable',
]

/** What not every server serves. */
interface Served {
  readonly assets: boolean
  readonly metrics: boolean
}

/** Creates the document for a server at `publicUrl`. */
export function createRestOpenapi(publicUrl: string, serves: Served): object {
  const paths: Record<string, Record<string, object>> = {}
  const all = { ...operations, ...(serves.assets && assetOperations), ...openOperations }
  for (const [name, operation] of Object.entries<Operation>(all)) {
    const [method, path] = name.split(' ') as [string, string]
    if (path === '/metrics' && !serves.metrics) continue
    paths[path] = { ...paths[path], [method.toLowerCase()]: toOperation(operation) }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'mediagen',
      version: '1',
      description: 'Media generation: quotes, generations and a model catalog.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, `mgk_…`.' } },
      schemas: {
        Quote: schemas.quoteSchema,
        Job: schemas.jobSchema,
        JobList: schemas.jobListSchema,
        ModelList: schemas.modelListSchema,
        ModelDetail: schemas.modelDetailSchema,
        ProductList: schemas.productListSchema,
        CategoryList: schemas.categoryListSchema,
        Wallet: schemas.walletSchema,
        EntryList: schemas.entryListSchema,
        Webhook: schemas.webhookSchema,
        CreatedWebhook: schemas.createdWebhookSchema,
        WebhookList: schemas.webhookListSchema,
        DeliveryList: schemas.deliveryListSchema,
        File: schemas.fileSchema,
        FileList: schemas.fileListSchema,
        Problem: schemas.problemSchema,
      },
    },
  }
}

/** Adds the route. */
export function addOpenapiRoute(app: FastifyInstance, publicUrl: () => string, serves: Served): void {
  // Made once: nobody needs a key to ask for it, and however many answers wait to be read, they are the same bytes.
  let document: Buffer | undefined
  app.get('/openapi.json', (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(createRestOpenapi(publicUrl(), serves)))
    return reply.type('application/json; charset=utf-8').send(document)
  })
}

function toOperation(operation: Operation): object {
  const isOpen = operation.permission === null
  const codes = [...(isOpen ? (['internal'] as const) : everywhere), ...(operation.errors ?? [])]
  const byStatus = Map.groupBy(codes, (code) => problemKinds[code].http)
  const refusals = Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: group.map((code) => `${problemKinds[code].title} (\`${code}\`)`).join('; '),
        content: { 'application/problem+json': { schema: ref('Problem') } },
      },
    ]),
  )
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(isOpen && { security: [] }),
    ...(operation.permission && {
      description:
        operation.permission === 'any'
          ? 'Needs a valid key and no particular permission.'
          : `Needs the permission ${operation.permission}.`,
    }),
    ...(operation.parameters && { parameters: operation.parameters }),
    ...(operation.body && { requestBody: { required: true, content: json(operation.body) } }),
    ...(operation.content && { requestBody: { required: true, content: operation.content } }),
    responses: { ...operation.answers, ...refusals },
  }
}

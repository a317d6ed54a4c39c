// /v1/models: the catalog. docs/contract.md, section 1, Lists.
import { create, type JsonObject } from '@bufbuild/protobuf'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  CategorySchema,
  ListModelsRequestSchema,
  type ListModelsResponse,
  type Model,
  ModelSchema,
  ProductSchema,
} from '../../../gen/mediagen/v1/catalog_pb.ts'
import { MediagenError } from '../../core/errors.ts'
import { compressLarge } from '../compress.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { json } from '../openapi/document.ts'
import { flag, page, readQuery, text } from '../query.ts'
import { toList, toListOf, toRecord } from '../records.ts'
import { categoryListSchema, modelDetailSchema, modelListSchema, productListSchema } from '../schemas/schemas.ts'

const listQuery = {
  search: text('Words; each matches the name, the description or the model id.', 200),
  category: text('Filters by task, for example text-to-image.', 200),
  grouped: flag('One entry per product with its modes instead of one per model id.'),
  ...page,
}

// In one process the core answers with the same messages each time, so the JSON of each model and each page is cached.
const modelJson = new WeakMap<Model, string>()
const detailJson = new WeakMap<Model, { readonly reason: string | null; readonly json: Buffer }>()
const pageJson = new WeakMap<ListModelsResponse, Buffer>()

// The latest lists that were asked for, by path and query as they were sent: most clients ask for the same few.
const mostLists = 64
const longestUrl = 256
const lists = new Map<string, ReturnType<typeof readNewList>>()

/** Adds the routes. */
export function addModelRoutes(app: FastifyInstance, core: CoreClient): void {
  app.get(
    '/v1/models',
    {
      config: { permission: 'models:read' },
      onSend: compressLarge,
      schema: {
        operation: {
          id: 'listModels',
          summary: 'List models. Those that are ready to use, in catalog order.',
          query: listQuery,
          answers: {
            200: {
              description: 'A page of models, or of products when grouped.',
              content: json({ anyOf: [modelListSchema, productListSchema] }),
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { grouped, query, message } = readList(request)
      reply.type('application/json; charset=utf-8')
      if (grouped) {
        const { products, total } = await core.catalog.listProducts(query, forward(request))
        return JSON.stringify(toListOf(ProductSchema, products, total, query))
      }
      return toPageJson(await core.catalog.listModels(message, forward(request)), query)
    },
  )

  app.get(
    '/v1/models/categories',
    {
      config: { permission: 'any' },
      schema: {
        operation: { id: 'listCategories', summary: 'List the task categories of the catalog.' },
        response: { 200: categoryListSchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { categories } = await core.catalog.listCategories({}, forward(request))
      return toListOf(CategorySchema, categories, categories.length, { limit: categories.length, offset: 0 })
    },
  )

  // A model id is in the path with its slashes; Fastify has decoded %2F in the wildcard.
  app.get<{ Params: { '*': string } }>(
    '/v1/models/*',
    {
      config: { permission: 'models:read' },
      onSend: compressLarge,
      schema: {
        operation: {
          id: 'getModel',
          summary:
            'Read a model and its input schema. `openapi` is an OpenAPI document with one operation, whose request body is the input of the model.',
          path: { model: 'Model id, in the path as it is, slashes included.' },
          errors: ['model_not_found'],
        },
        response: { 200: modelDetailSchema },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      const id = request.params['*']
      if (id === '')
        throw new MediagenError(
          'route_not_found',
          'The path ends where a model id belongs. GET /v1/models lists the models.',
        )
      const { model, openapi, unreadyReason = null } = await core.catalog.getModel({ model: id }, forward(request))
      reply.type('application/json; charset=utf-8')
      return toDetailJson(model, openapi, unreadyReason)
    },
  )
}

/** @throws MediagenError `invalid_request` */
function readList(request: FastifyRequest): ReturnType<typeof readNewList> {
  const { url } = request
  const known = lists.get(url)
  if (known) return known
  const list = readNewList(request)
  if (lists.size >= mostLists) lists.clear()
  if (url.length <= longestUrl) lists.set(url, list)
  return list
}

function readNewList(request: FastifyRequest) {
  const { grouped, ...query } = readQuery(request, listQuery)
  return { grouped, query, message: create(ListModelsRequestSchema, query) }
}

function toPageJson(page: ListModelsResponse, request: { limit: number; offset: number }): Buffer {
  const known = pageJson.get(page)
  if (known) return known
  const { data, ...envelope } = toList(page.models.map(toModelJson), page.total, request)
  const made = Buffer.from(`${JSON.stringify(envelope).slice(0, -1)},"data":[${data.join(',')}]}`)
  pageJson.set(page, made)
  return made
}

function toDetailJson(model: Model | undefined, openapi: JsonObject | undefined, reason: string | null): Buffer {
  const known = model && detailJson.get(model)
  if (known?.reason === reason) return known.json
  const record = { ...toRecord(ModelSchema, model), unready_reason: reason, openapi }
  const json = Buffer.from(JSON.stringify(record))
  if (model) detailJson.set(model, { reason, json })
  return json
}

function toModelJson(model: Model): string {
  const known = modelJson.get(model)
  if (known !== undefined) return known
  const made = JSON.stringify(toRecord(ModelSchema, model))
  modelJson.set(model, made)
  return made
}

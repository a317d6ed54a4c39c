// /v1/models: the catalog. docs/contract.md, section 1, Lists.
import type { FastifyInstance } from 'fastify'
import fastJson from 'fast-json-stringify'
import { LRUCache } from 'lru-cache'
import type { Model } from '../../gen/mediagen/v1/catalog_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { type CoreClient, forward } from './core-client.ts'
import { boolean, page, readQuery, text } from './query.ts'
import { toCategoryRecord, toList, toModelRecord, toProductRecord } from './records.ts'
import { categoryListSchema, modelSchema, productListSchema } from './schemas.ts'

const json = 'application/json; charset=utf-8'
const stringifyModel = fastJson(modelSchema)
const stringifyProducts = fastJson(productListSchema)
// In one process the core returns the same message objects repeatedly; their JSON is made once.
const modelJson = new WeakMap<Model, string>()
const pageBytesKept = 16 * 1024 * 1024

/** Adds the routes. */
export function addModelRoutes(app: FastifyInstance, core: CoreClient): void {
  const pages = createPageBook()

  app.get('/v1/models', { config: { permission: 'models:read' } }, async (request, reply) => {
    const query = readQuery(request, { search: text, category: text, grouped: boolean(false), ...page })
    const { search, category, limit, offset } = query
    if (query.grouped) {
      const { products, total } = await core.catalog.listProducts({ search, category, limit, offset }, forward(request))
      return reply.type(json).send(stringifyProducts(toList(products.map(toProductRecord), total, query)))
    }
    const { models, total } = await core.catalog.listModels({ search, category, limit, offset }, forward(request))
    const { data, ...envelope } = toList(models, total, query)
    return reply.type(json).send(pages.write(JSON.stringify(envelope), data))
  })

  app.get(
    '/v1/models/categories',
    { config: { permission: 'any' }, schema: { response: { 200: categoryListSchema } } },
    async (request) => {
      readQuery(request, {})
      const { categories } = await core.catalog.listCategories({}, forward(request))
      return toList(categories.map(toCategoryRecord), categories.length, { limit: categories.length, offset: 0 })
    },
  )

  // A model id is in the path with its slashes; Fastify has decoded %2F in the wildcard.
  app.get<{ Params: { '*': string } }>(
    '/v1/models/*',
    { config: { permission: 'models:read' } },
    async (request, reply) => {
      readQuery(request, {})
      const id = request.params['*']
      if (id === '')
        throw new MediagenError(
          'route_not_found',
          'The path ends where a model id belongs. GET /v1/models lists the models.',
        )
      const { model, openapi } = await core.catalog.getModel({ model: id }, forward(request))
      if (!model) throw new Error('the core sent no model')
      return reply
        .type(json)
        .send(`${stringifyModel(toModelRecord(model)).slice(0, -1)},"openapi":${JSON.stringify(openapi)}}`)
    },
  )
}

/** Writes pages of models, and caches the bytes of recent ones. */
function createPageBook() {
  const pages = new LRUCache<string, { readonly models: readonly Model[]; readonly bytes: Buffer }>({
    maxSize: pageBytesKept,
    sizeCalculation: ({ bytes }) => bytes.length,
  })
  return {
    /** @param envelope JSON of the list without its data */
    write(envelope: string, models: readonly Model[]): Buffer {
      const kept = pages.get(envelope)
      // The same message objects, so nothing has changed.
      if (kept?.models.length === models.length && models.every((model, i) => model === kept.models[i]))
        return kept.bytes
      const bytes = Buffer.from(`${envelope.slice(0, -1)},"data":[${models.map(toModelJson).join(',')}]}`)
      pages.set(envelope, { models, bytes })
      return bytes
    },
  }
}

function toModelJson(model: Model): string {
  const known = modelJson.get(model)
  if (known !== undefined) return known
  const made = stringifyModel(toModelRecord(model))
  modelJson.set(model, made)
  return made
}

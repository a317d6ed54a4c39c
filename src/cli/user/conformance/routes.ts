// The catalog, and who may read it.
import type { Category, Model, ModelDetail, Page, Product } from '@mediagen/client/client.ts'
import { toModelPath } from '@mediagen/client/paths.ts'
import { findSchema } from '../schema.ts'
import { type Check, type Context, expect } from './check.ts'
import { describe } from './probe.ts'

const largestLimit = 500

/** What holds for the routes that start nothing. */
export const routeChecks: readonly Check[] = [
  {
    name: 'each of the five routes refuses a request without a key',
    async run({ probe, model, input }) {
      const gets = ['/v1/models', '/v1/models/categories', toModelPath(model)]
      const posts = ['/v1/quotes', '/v1/generate'].map((path) => [path, { model, input, quote_id: 'none' }] as const)
      for (const [path, body] of [...gets.map((get) => [get, undefined] as const), ...posts]) {
        const answer = await probe.send(path, { key: null, ...(body && { body }) })
        expect(answer.status === 401, `HTTP 401 of ${path}`, describe(answer))
      }
    },
  },
  {
    name: 'GET /v1/models: pages of 100 from the first on, unless limit and offset say otherwise; limit is at most 500',
    async run(context) {
      const ids = (query: string) => listIds(context, query)
      const [usual, named] = [await ids(''), await ids('?limit=100&offset=0')]
      expect(String(usual) === String(named), 'the page of limit=100&offset=0 without either', usual.join(', '))
      expect((await ids('?limit=1')).length === 1, 'one model of limit=1', 'another number')
      const second = await ids('?limit=1&offset=1')
      expect(second[0] === usual[1], `${usual[1] ?? 'no model'} of offset=1`, second[0] ?? 'no model')
      await ids(`?limit=${largestLimit}`)
      const answer = await context.probe.send(`/v1/models?limit=${largestLimit + 1}`)
      expect(answer.status === 400, `HTTP 400 of limit=${largestLimit + 1}`, describe(answer))
    },
  },
  {
    name: 'GET /v1/models: search finds the id, category filters, grouped=true has modes',
    async run(context) {
      const { probe, model } = context
      const found = await listIds(context, `?search=${encodeURIComponent(model)}&limit=${largestLimit}`)
      expect(found.includes(model), `${model} among what its id finds`, found.join(', ') || 'nothing')
      const detail = await probe.send<ModelDetail>(toModelPath(model))
      const { category = '' } = detail.body
      const path = `/v1/models?category=${encodeURIComponent(category)}&limit=${largestLimit}`
      const { data = [] } = (await probe.send<Page<Model>>(path)).body
      const other = data.find((entry) => entry.category !== category)
      expect(data.length > 0 && !other, `only ${category} of that category`, other?.id ?? `${data.length} models`)
      const grouped = await probe.send<Page<Product>>(`/v1/models?grouped=true&limit=${largestLimit}`)
      const products = grouped.body.data ?? []
      const bare = products.find(({ modes }) => !Array.isArray(modes) || modes.length === 0)
      expect(products.length > 0 && !bare, 'products with modes', bare?.id ?? describe(grouped))
      const names = products.map(({ id }) => id)
      expect(new Set(names).size === names.length, 'one entry for each product', names.join(', '))
    },
  },
  {
    name: 'GET /v1/models/{model}: openapi is a document with one request body, which takes an object',
    async run({ probe, model }) {
      const { body } = await probe.send<ModelDetail>(`/v1/models/${model}`)
      const paths = Object.values((body.openapi?.['paths'] ?? {}) as Record<string, Record<string, object>>)
      const bodies = paths.flatMap((path) => Object.values(path)).filter((operation) => 'requestBody' in operation)
      expect(bodies.length === 1, 'one request body', `${bodies.length}`)
      expect(findSchema(body.openapi).type === 'object', 'a schema of an object', JSON.stringify(body.openapi))
    },
  },
  {
    name: 'GET /v1/models/categories: the categories of the listed models',
    async run({ probe, model }) {
      const answer = await probe.send<{ data: Category[] }>('/v1/models/categories')
      const { category } = (await probe.send<ModelDetail>(toModelPath(model))).body
      const ids = (answer.body.data ?? []).map(({ id }) => id)
      expect(ids.includes(category ?? ''), `${category} among them`, ids.join(', ') || describe(answer))
    },
  },
]

async function listIds({ probe }: Context, query: string): Promise<readonly string[]> {
  const answer = await probe.send<Page<Model>>(`/v1/models${query}`)
  expect(answer.status === 200 && Array.isArray(answer.body.data), `a list of /v1/models${query}`, describe(answer))
  return answer.body.data.map(({ id }) => id)
}

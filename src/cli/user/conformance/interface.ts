// The routes that start nothing, and what a quote is good for.
import { setTimeout } from 'node:timers/promises'
import type { Category, Input, Model, ModelDetail, Page, Product, Quote } from '@mediagen/client/client.ts'
import { createIdempotencyKey } from '@mediagen/client/generate.ts'
import { findSchema } from '../schema.ts'
import { type Checks, type Context, expectRefused, expectUnchanged } from './check.ts'
import { expect, Skipped } from './probe.ts'

const validMs = 600_000
// Clocks may differ by this much; a check waits no longer than that, either.
const toleranceMs = 30_000

/** What holds for the catalog. */
export const catalogChecks: Checks = {
  async 'the five routes refuse a request without a key'({ probe, model, input }) {
    const headers = { authorization: '' }
    const body = { model, input, quote_id: 'quote_none' }
    const gets = ['/v1/models', '/v1/models/categories', `/v1/models/${model}`].map(
      (path) => [path, { headers }] as const,
    )
    const posts = ['/v1/quotes', '/v1/generate'].map((path) => [path, { headers, body }] as const)
    for (const [path, options] of [...gets, ...posts]) {
      const { status, words } = await probe.send(path, options)
      expect(status === 401, `HTTP 401 of ${path}`, words)
    }
  },
  async 'GET /v1/models has pages of 100 from offset 0 on by default, and of at most 500'({ probe }) {
    const list = async (query: string) => (await probe.get<Page<Model>>(`/v1/models${query}`)).data.map(({ id }) => id)
    const [usual, named, one] = [await list(''), await list('?limit=100&offset=0'), await list('?limit=1&offset=1')]
    expect(String(usual) === String(named), 'the default to be limit=100&offset=0', usual)
    expect(String(one) === String(usual.slice(1, 2)), 'the second model of limit=1&offset=1', one)
    await list('?limit=500')
    const { status, words } = await probe.send('/v1/models?limit=501')
    expect(status === 400, 'HTTP 400 of limit=501', words)
  },
  async 'GET /v1/models has search, category and grouped; GET /v1/models/categories the categories'({ probe, model }) {
    const list = async <Item>(query: string) => (await probe.get<Page<Item>>(`/v1/models${query}`)).data
    const { category } = await probe.get<ModelDetail>(`/v1/models/${model}`)
    const found = await list<Model>(`?limit=500&search=${encodeURIComponent(model)}`)
    expect(
      found.some(({ id }) => id === model),
      `${model} to be found by its id`,
      found,
    )
    const filtered = await list<Model>(`?limit=500&category=${encodeURIComponent(category)}`)
    expect(filtered.length > 0 && filtered.every((one) => one.category === category), `only ${category}`, filtered)
    const ids = (await list<Category>('/categories')).map(({ id }) => id)
    expect(ids.includes(category), `${category} among the categories`, ids)
    const products = await list<Product>('?limit=500&grouped=true')
    const isGrouped = new Set(products.map(({ id }) => id)).size === products.length
    expect(
      isGrouped && products.every(({ modes }) => modes.length > 0),
      'one entry for each product, with modes',
      products,
    )
  },
  async 'GET /v1/models/{model} has an OpenAPI document with one request body, which is an object'({ probe, model }) {
    const { openapi } = await probe.get<ModelDetail>(`/v1/models/${model}`)
    const paths = Object.values((openapi['paths'] ?? {}) as Record<string, Record<string, object>>)
    const bodies = paths.flatMap((path) => Object.values(path)).filter((operation) => 'requestBody' in operation)
    expect(bodies.length === 1 && findSchema(openapi).type === 'object', 'such a document', openapi)
  },
}

/** What holds for quotes. */
export const quoteChecks: Checks = {
  async 'a quote has quote_id, model, credits and expires_at, at most 10 minutes away'({ quote, model }) {
    const made = await quote()
    const ms = Date.parse(made.expires_at) - Date.now()
    const isQuote = typeof made.quote_id === 'string' && made.model === model && Number.isSafeInteger(made.credits)
    expect(isQuote && made.credits >= 0 && ms > -toleranceMs && ms <= validMs + toleranceMs, 'such a quote', made)
  },
  'a quote changes nothing in the account': async (context) => expectUnchanged(context, () => context.quote()),
  async 'a start without an Idempotency-Key is refused, and holds nothing'(context) {
    await expectRefused(context, 400, { quote: await context.quote() })
  },
  async 'a start with another input than the quoted one is refused, holds nothing, and leaves its key free'(context) {
    const input = await findOtherInput(context)
    await context.affordable(2)
    const start = { quote: await context.quote(), idempotencyKey: createIdempotencyKey() }
    await expectRefused(context, null, { ...start, input })
    const { body, words } = await context.start(start)
    expect(body !== null, 'the quoted input to start with that key', words)
  },
  async 'an altered quote is refused, and holds nothing'(context) {
    const { quote_id: id } = await context.quote()
    // Of the last characters some bits may mean nothing.
    const [head, changed] = [id.slice(0, -8), id.at(-8) === 'A' ? 'B' : 'A']
    const quote = { quote_id: `${head}${changed}${id.slice(-7)}` }
    await expectRefused(context, null, { quote, idempotencyKey: createIdempotencyKey() })
  },
  async 'a quote of one account is refused to another'(context) {
    if (context.otherKey === undefined) throw new Skipped('--other-key was not given')
    const headers = { authorization: `Bearer ${context.otherKey}` }
    const start = { quote: await context.quote(), idempotencyKey: createIdempotencyKey(), headers }
    await expectRefused(context, null, start)
  },
}

/** After the others, because the first quote may have expired then. */
export const expiryCheck: Checks = {
  async 'an expired quote is refused, and holds nothing'(context) {
    const leftMs = Date.parse(context.firstQuote.expires_at) - Date.now() + 1000
    if (leftMs > toleranceMs) throw new Skipped(`the first quote is valid for ${Math.ceil(leftMs / 1000)} more seconds`)
    await setTimeout(Math.max(0, leftMs))
    await expectRefused(context, null, { quote: context.firstQuote, idempotencyKey: createIdempotencyKey() })
  },
}

/** An input that the model takes, too, so that nothing but the quote can be why it is refused. */
async function findOtherInput({ input, model, probe }: Context): Promise<Input> {
  for (const [name, value] of Object.entries(input)) {
    const others = { string: `${String(value)} again`, number: Number(value) + 1, boolean: !value }
    if (!((typeof value) in others)) continue
    const other = { ...input, [name]: others[typeof value as keyof typeof others] }
    if ((await probe.send<Quote>('/v1/quotes', { body: { model, input: other } })).body) return other
  }
  throw new Skipped('no other input could be made of this one')
}

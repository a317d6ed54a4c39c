// CatalogService: the models and the input that each takes. docs/contract.md, section 1, Lists.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type CatalogService,
  type CategorySchema,
  type ListModelsResponse,
  ListModelsResponseSchema,
  type Model as ModelMessage,
  type ProductSchema,
} from '../../gen/mediagen/v1/catalog_pb.ts'
import type { Catalog, Model } from '../catalog/model.ts'
import { pageBounds } from '../core/page.ts'
import { foldText, longestSearch } from '../core/text/search-text.ts'
import { callerOf } from './calls/caller.ts'
import { findLong, findLongName, readPage, refuse } from './calls/request.ts'
import { toModalityCode, toModelMessage } from './messages/convert.ts'
import { findModel } from './model-input.ts'

// Pages without a search that are kept; the gateway keeps the JSON of each, 200 kB for the largest.
const mostPages = 64

interface Listed {
  readonly model: Model
  readonly message: ModelMessage
  /** Folded text that `search` matches against. */
  readonly searched: string
}

interface Filter {
  readonly search: string
  readonly category: string
}

/**
 * Creates the service.
 * @param deps.baseUrl address of this server, which URLs of samples begin with; empty where clients reach it at several
 */
export function createCatalogService(deps: {
  catalog: Catalog
  baseUrl: () => string
}): ServiceImpl<typeof CatalogService> {
  const { catalog, baseUrl } = deps
  const pages = new Map<number | string, ListModelsResponse>()
  // The same message each time, so that the gateway writes its JSON once.
  const details = new WeakMap<Model, ModelMessage>()
  const list = rememberList(catalog, baseUrl, () => pages.clear())
  return {
    listModels(request) {
      const { limit, offset } = readPage(request)
      const all = list()
      const { search, category } = readFilter(request)
      const name = search === '' ? namePage(limit, offset, category) : null
      const known = name === null ? undefined : pages.get(name)
      if (known) return known
      const found = filterModels(all, request)
      const models = found.slice(offset, offset + limit).map((listed) => listed.message)
      // Frozen, so that gRPC encodes it once.
      const made = Object.freeze(create(ListModelsResponseSchema, { models, total: found.length }))
      if (pages.size >= mostPages) pages.clear()
      if (name !== null) pages.set(name, made)
      return made
    },
    listProducts(request) {
      const { limit, offset } = readPage(request)
      const all = list()
      const products = groupProducts(filterModels(all, readFilter(request)), all)
      return { products: products.slice(offset, offset + limit), total: products.length }
    },
    getModel(request, context) {
      const model = findModel(catalog, request.model, callerOf(context))
      const unreadyReason = catalog.unready(model)
      const detail = details.get(model) ?? toModelMessage(model, baseUrl(), true)
      details.set(model, detail)
      return {
        model: detail,
        openapi: model.openapi,
        ...(unreadyReason !== null && { unreadyReason }),
      }
    },
    resolveModel({ name }, context) {
      const model = catalog.resolve(name) ?? findModel(catalog, name, callerOf(context))
      const { id, modality, inputSchema, openaiFields } = model
      return { model: id, modality: toModalityCode(modality), inputSchema, openaiFields }
    },
    listCategories: () => ({ categories: countCategories(list()) }),
  }
}

/** A number for most pages: texts have to be made, and hashed to be found. */
function namePage(limit: number, offset: number, category: string): number | string {
  return category === '' ? offset * (pageBounds.largestLimit + 1) + limit : `${limit} ${offset} ${category}`
}

/** The ready models as messages, rebuilt only when the set of ready models changes. */
function rememberList(catalog: Catalog, baseUrl: () => string, onChange: () => void): () => readonly Listed[] {
  let source: readonly Model[] = []
  let list: readonly Listed[] = []
  return () => {
    const ready = catalog.ready()
    if (ready !== source) {
      source = ready
      onChange()
      list = ready.map((model) => ({
        model,
        message: toModelMessage(model, baseUrl(), false),
        searched: foldText(`${model.id}\n${model.name}\n${model.description}`),
      }))
    }
    return list
  }
}

/** @throws MediagenError `invalid_request` that names what is too long */
function readFilter({ search, category }: Filter): Filter {
  refuse([...findLong('search', search, longestSearch), ...findLongName('category', category)])
  return { search, category }
}

function filterModels(list: readonly Listed[], filter: Filter): readonly Listed[] {
  const { search, category } = filter
  if (search === '' && category === '') return list
  if (category !== '' && !list.some(({ model }) => model.category === category)) {
    const known = countCategories(list).map(({ id }) => id)
    refuse([
      { pointer: '/category', detail: `is not a category of this catalog; it has ${known.join(', ') || 'none'}` },
    ])
  }
  const words = [...new Set(foldText(search).trim().split(/\s+/))]
  return list.filter(
    ({ model, searched }) =>
      (category === '' || model.category === category) && words.every((word) => searched.includes(word)),
  )
}

type Category = MessageInitShape<typeof CategorySchema> & { id: string; count: number }

function countCategories(list: readonly Listed[]): Category[] {
  const categories = new Map<string, Category>()
  for (const { model } of list) {
    const category = categories.get(model.category)
    if (category) category.count += 1
    else
      categories.set(model.category, {
        id: model.category,
        name: toCategoryName(model.category),
        modality: toModalityCode(model.modality),
        count: 1,
      })
  }
  return [...categories.values()]
}

function toCategoryName(id: string): string {
  const words = id.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Products with those of their modes that are in `shown`. A product has the name and description of its first mode, shown or not. */
function groupProducts(
  shown: readonly Listed[],
  all: readonly Listed[],
): readonly MessageInitShape<typeof ProductSchema>[] {
  const firsts = new Map<string, Model>()
  for (const { model } of all) if (!firsts.has(model.product)) firsts.set(model.product, model)
  const groups = Map.groupBy(shown, ({ model }) => model.product)
  return [...groups].map(([id, modes]) => toProduct(firsts.get(id) as Model, modes))
}

function toProduct(first: Model, modes: readonly Listed[]): MessageInitShape<typeof ProductSchema> {
  return {
    id: first.product,
    name: first.name,
    description: first.description,
    modality: toModalityCode(first.modality),
    modes: modes.map(({ model }) => ({
      mode: model.mode,
      model: model.id,
      category: model.category,
      name: model.name,
    })),
  }
}

// The catalog client: products with their modes, models by id, details; answers are cached for the session.
import type { Api } from './api.ts'
import { takeCategories } from './arrived-key.ts'
import type { CategoryRecord, ListRecord, ModelDetailRecord, ModelRecord, ProductRecord } from './records.ts'

// The largest page of the API.
const pageSize = 500

export interface ProductFilter {
  readonly search: string
  readonly category: string
}

export class Catalog {
  readonly #api: Api
  readonly #details = new Map<string, Promise<ModelDetailRecord>>()
  #models: Promise<ReadonlyMap<string, ModelRecord>> | null = null

  constructor(api: Api) {
    this.#api = api
  }

  /** Products that match a filter, in catalog order. */
  products({ search, category }: ProductFilter, signal: AbortSignal): Promise<ListRecord<ProductRecord>> {
    const query = new URLSearchParams({
      grouped: 'true',
      limit: String(pageSize),
      ...(search && { search }),
      ...(category && { category }),
    })
    return this.#api.get(`/v1/models?${query.toString()}`, { signal })
  }

  async categories(signal: AbortSignal): Promise<ListRecord<CategoryRecord>> {
    return takeCategories() ?? this.#api.get('/v1/models/categories', { signal })
  }

  /** Every ready model by its id, for names and prices. */
  models(): Promise<ReadonlyMap<string, ModelRecord>> {
    this.#models ??= this.#api.get<ListRecord<ModelRecord>>(`/v1/models?limit=${pageSize}`).then(
      ({ data }) => new Map(data.map((model) => [model.id, model])),
      (error: unknown) => {
        this.#models = null
        throw error
      },
    )
    return this.#models
  }

  /** Models may have become ready. */
  forgetModels(): void {
    this.#models = null
  }

  detail(id: string): Promise<ModelDetailRecord> {
    const known = this.#details.get(id)
    if (known) return known
    const request = this.#api.get<ModelDetailRecord>(`/v1/models/${encodeURIComponent(id).replaceAll('%2F', '/')}`)
    this.#details.set(id, request)
    request.catch(() => this.#details.delete(id))
    return request
  }

  /** Models that take the outputs of this model, as their categories say; those of the same product first. */
  async editorsFor(modelId: string): Promise<readonly ModelRecord[]> {
    const models = await this.models()
    const maker = models.get(modelId)
    if (!maker) return []
    return [...models.values()]
      .filter(({ category }) =>
        [`${maker.modality}-to-`, `${maker.modality}s-to-`].some((start) => category.startsWith(start)),
      )
      .sort((left, right) => Number(right.product === maker.product) - Number(left.product === maker.product))
  }
}

// The OpenAPI document of one model: one path, one operation, one JSON request body, which is the input schema. docs/contract.md, section 1, Lists.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Model } from './model.ts'
import type { PriceExamples } from './prices/price-examples.ts'

/** The price of a model, for people. */
export interface DescribedPrice extends PriceExamples {
  readonly billing: Model['billing']
  readonly summary: string
}

/** Creates the document; valid OpenAPI 3.1. */
export function createModelOpenapi(
  model: Pick<Model, 'id' | 'name' | 'description' | 'category' | 'inputSchema' | 'createdAtMs'> & {
    readonly price: DescribedPrice
  },
): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: model.name,
      description: model.description,
      version: new Date(model.createdAtMs).toISOString().slice(0, 10),
    },
    paths: {
      [`/${model.id}`]: {
        post: {
          operationId: model.id.replaceAll(/[^A-Za-z0-9]+/g, '_'),
          summary: model.name,
          description: 'The request body is the `input` of POST /v1/quotes and POST /v1/generate for this model.',
          tags: [model.category],
          requestBody: { required: true, content: { 'application/json': { schema: model.inputSchema } } },
          // An extension: how the price is computed.
          'x-price': model.price as unknown as JsonObject,
          responses: { default: { description: 'The job record that POST /v1/generate answers with.' } },
        },
      },
    },
  }
}

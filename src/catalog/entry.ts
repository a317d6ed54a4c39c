// The format of a catalog file: a JSON Schema for an entry, and the type of an entry that is valid.
import type { EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import { type Modality, modalities } from '../core/model.ts'

/** One model as it is written in a catalog file. */
export interface CatalogEntry {
  readonly id: string
  readonly product?: string
  readonly mode?: string
  readonly name: string
  readonly description: string
  readonly category: string
  readonly modality: Modality
  readonly owned_by: string
  readonly created: string
  readonly price: {
    readonly credits?: string | number
    readonly at_most?: string | number
    readonly actual?: string | number
    readonly summary?: string
  }
  readonly engine: EngineSpec & {
    readonly timeout_seconds?: number
    readonly concurrency?: number
    readonly max_attempts?: number
    readonly resumable?: boolean
  }
  readonly input: JsonObject
}

const words = { type: 'string', minLength: 1 }
const expression = { type: ['string', 'number'], minLength: 1 }
const slug = '[a-z0-9]+(?:[._-][a-z0-9]+)*'
const path = { type: 'string', pattern: `^${slug}(?:/${slug})*$`, maxLength: 200 }

function engineOfKind(kind: string, required: readonly string[], properties: object): object {
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is JSON Schema's keyword; nothing awaits a schema.
  return { if: { properties: { kind: { const: kind } } }, then: { required, properties } }
}

/** JSON Schema 2020-12 of one entry. */
export const catalogEntrySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'name', 'description', 'category', 'modality', 'owned_by', 'created', 'price', 'engine', 'input'],
  properties: {
    // A path segment `categories` alone is a route of the catalog.
    id: { ...path, not: { const: 'categories' } },
    product: path,
    mode: { type: 'string', pattern: `^${slug}$` },
    name: { ...words, maxLength: 200 },
    description: { ...words, maxLength: 4000 },
    category: { type: 'string', pattern: `^${slug}$` },
    modality: { enum: modalities },
    owned_by: { ...words, maxLength: 200 },
    created: { type: 'string', format: 'date' },
    price: {
      type: 'object',
      additionalProperties: false,
      properties: { credits: expression, at_most: expression, actual: expression, summary: words },
      oneOf: [
        { required: ['credits'], not: { anyOf: [{ required: ['at_most'] }, { required: ['actual'] }] } },
        { required: ['at_most', 'actual'], not: { required: ['credits'] } },
      ],
    },
    engine: {
      type: 'object',
      required: ['kind'],
      properties: {
        kind: { enum: ['builtin', 'command', 'null'] },
        timeout_seconds: { type: 'number', exclusiveMinimum: 0, maximum: 86_400 },
        concurrency: { type: 'integer', minimum: 1, maximum: 1000 },
        max_attempts: { type: 'integer', minimum: 1, maximum: 100 },
        resumable: { type: 'boolean' },
      },
      allOf: [
        engineOfKind('builtin', ['renderer'], { renderer: words }),
        engineOfKind('command', ['run'], {
          run: { type: 'array', minItems: 1, items: words },
          env: { type: 'object', additionalProperties: { type: 'string' } },
          limits: {
            type: 'object',
            additionalProperties: false,
            properties: {
              open_files: { type: 'integer', minimum: 1 },
              tasks: { type: 'integer', minimum: 1 },
              file_bytes: { type: 'integer', minimum: 1 },
              memory_bytes: { type: 'integer', minimum: 1 },
              network: { type: 'boolean' },
              user: { type: ['integer', 'string'] },
              new_privileges: { type: 'boolean' },
            },
          },
        }),
        engineOfKind('null', [], {
          delay_ms: { type: 'integer', minimum: 0, maximum: 86_400_000 },
          picture: { type: 'boolean' },
        }),
      ],
      unevaluatedProperties: false,
    },
    input: {
      type: 'object',
      required: ['type', 'properties'],
      properties: { type: { const: 'object' }, properties: { type: 'object' } },
    },
  },
}

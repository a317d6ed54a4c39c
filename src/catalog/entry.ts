// The format of a catalog file: a JSON Schema for an entry, and the type of an entry that is valid.
import type { Engine, EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import { sourceTypes } from '../core/files/provenance.ts'
import { type Modality, modalities, type OpenaiFields } from './model.ts'

/** A field of an entry that is wrong; the message says how. */
export class EntryError extends Error {
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.name = 'EntryError'
    this.field = field
  }
}

/** A sample as it is written in a catalog file. */
export interface WrittenSample {
  /** A path relative to the catalog file, or an `https:` URL. */
  readonly file: string
  /** Its input; media in it may be paths, too. */
  readonly input: JsonObject
  readonly title?: string
  /** A picture of a film or sound, or a small one of a picture. */
  readonly preview?: string
  readonly width?: number
  readonly height?: number
  readonly duration_seconds?: number
}

/** One model as it is written in a catalog file. */
export interface CatalogEntry {
  readonly id: string
  /** Other names, which programs that speak OpenAI's interface send. */
  readonly aliases?: readonly string[]
  readonly product?: string
  readonly mode?: string
  readonly name: string
  readonly description: string
  readonly category: string
  readonly modality: Modality
  readonly owned_by: string
  readonly created: string
  readonly version?: string
  readonly released?: string
  readonly shutdown_date?: string
  readonly replaced_by?: string
  readonly source_type?: string
  /** Where price and input come from; for people. */
  readonly source?: {
    readonly price: string
    readonly input?: string
    readonly looked_up: string
    readonly unchecked?: string
  }
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
  }
  readonly input: JsonObject
  readonly openai?: OpenaiFields
  readonly samples?: readonly WrittenSample[]
}

const words = { type: 'string', minLength: 1 }
const expression = { type: ['string', 'number'], minLength: 1 }
const slug = '[a-z0-9]+(?:[._-][a-z0-9]+)*'
// Of any case: they are names that other services chose.
const alias = { type: 'string', pattern: '^[A-Za-z0-9]+(?:[._:/-][A-Za-z0-9]+)*$', maxLength: 200 }
const path = { type: 'string', pattern: `^${slug}(?:/${slug})*$`, maxLength: 200 }

// The fields of OpenAI's interface that a model may have under another name, or with other values.
const openaiNames = [
  'prompt',
  'image',
  'mask',
  'size',
  'quality',
  'style',
  'background',
  'output_format',
  'output_compression',
  'input',
  'voice',
  'instructions',
  'response_format',
  'speed',
]
const openaiField = {
  type: ['string', 'object'],
  minLength: 1,
  minProperties: 1,
  maxProperties: 200,
  additionalProperties: { type: 'object' },
}

/** The part of an engine that describes its settings in entries. */
export type EngineKind = Pick<Engine, 'kind' | 'schema' | 'provider' | 'findFault' | 'reproducibleAs'>

function engineOfKind(kind: string, schema: JsonObject): object {
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is JSON Schema's keyword; nothing awaits a schema.
  return { if: { properties: { kind: { const: kind } } }, then: schema }
}

/**
 * JSON Schema 2020-12 of one entry; engines provide the schemas of their own settings.
 * @param described the kinds whose settings it describes; the others may only be named
 */
export const createEntrySchema = (kinds: readonly EngineKind[], described: readonly EngineKind[] = kinds) => ({
  type: 'object',
  additionalProperties: false,
  required: ['id', 'name', 'description', 'category', 'modality', 'owned_by', 'created', 'price', 'engine', 'input'],
  properties: {
    // A path segment `categories` alone is a route of the catalog.
    id: { ...path, not: { const: 'categories' } },
    aliases: { type: 'array', items: alias, maxItems: 50, uniqueItems: true },
    product: path,
    mode: { type: 'string', pattern: `^${slug}$` },
    name: { ...words, maxLength: 200 },
    description: { ...words, maxLength: 4000 },
    category: { type: 'string', pattern: `^${slug}$`, maxLength: 200 },
    modality: { enum: modalities },
    owned_by: { ...words, maxLength: 200 },
    created: { type: 'string', format: 'date' },
    version: { ...words, maxLength: 100 },
    released: { type: 'string', format: 'date' },
    shutdown_date: { type: 'string', format: 'date' },
    replaced_by: path,
    source_type: { enum: sourceTypes },
    source: {
      type: 'object',
      additionalProperties: false,
      required: ['price', 'looked_up'],
      properties: {
        price: { type: 'string', format: 'uri' },
        input: { type: 'string', format: 'uri' },
        looked_up: { type: 'string', format: 'date' },
        unchecked: words,
      },
    },
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
        kind: { enum: kinds.map(({ kind }) => kind) },
        timeout_seconds: { type: 'number', exclusiveMinimum: 0, maximum: 86_400 },
        concurrency: { type: 'integer', minimum: 1, maximum: 1000 },
        max_attempts: { type: 'integer', minimum: 1, maximum: 100 },
      },
      ...(described.length > 0 && { allOf: described.map(({ kind, schema }) => engineOfKind(kind, schema)) }),
      unevaluatedProperties: false,
    },
    input: {
      type: 'object',
      required: ['type', 'properties'],
      properties: { type: { const: 'object' }, properties: { type: 'object' } },
    },
    openai: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(openaiNames.map((name) => [name, openaiField])),
    },
    samples: {
      type: 'array',
      maxItems: 20,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['file', 'input'],
        properties: {
          file: words,
          input: { type: 'object' },
          title: { ...words, maxLength: 200 },
          preview: words,
          width: { type: 'integer', minimum: 1 },
          height: { type: 'integer', minimum: 1 },
          duration_seconds: { type: 'number', exclusiveMinimum: 0 },
        },
      },
    },
  },
})

/** JSON Schema 2020-12 of `providers`: each has a kind, and that kind's settings. */
export const createProvidersSchema = (kinds: readonly EngineKind[]) => ({
  type: 'object',
  propertyNames: { pattern: `^${slug}$`, maxLength: 100 },
  additionalProperties: {
    type: 'object',
    required: ['kind'],
    properties: { kind: { enum: kinds.flatMap(({ kind, provider }) => (provider ? [kind] : [])) } },
    allOf: kinds.flatMap(({ kind, provider }) => (provider ? [engineOfKind(kind, provider)] : [])),
    unevaluatedProperties: false,
  },
})

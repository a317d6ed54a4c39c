// JSON Schemas of `providers:` entries and of the engine settings of remote models, for catalog files.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { backends } from './backends.ts'

const kinds = [...backends.keys()]

/** The schema of a provider of one kind, without its `kind`. */
export function toProviderSchema(kind: string): JsonObject {
  const backend = backends.get(kind)
  const isHosted = backend?.baseUrl !== null
  return {
    // The hosted service wants a key; a server like it may not.
    ...(isHosted && { anyOf: [{ required: ['token_env'] }, { required: ['base_url'] }] }),
    required: [...(isHosted ? [] : ['base_url']), ...(backend?.provider?.required ?? [])],
    properties: {
      ...backend?.provider?.properties,
      base_url: { type: 'string', pattern: '^https?://[^\\s/@?#]+(/[^\\s?#]*)?$' },
      token_env: { type: 'string', pattern: '^[A-Z_][A-Z0-9_]*$' },
      concurrency: { type: 'integer', minimum: 1, maximum: 10_000 },
      per_minute: { type: 'integer', minimum: 1, maximum: 100_000 },
    },
  }
}

/** The schema of the engine settings of one kind. */
export function toEngineSchema(kind: string): JsonObject {
  const own = toOwnSchema(kind)
  return {
    ...own,
    properties: {
      ...(own['properties'] as JsonObject),
      fallback: {
        type: 'array',
        minItems: 1,
        maxItems: 5,
        items: {
          type: 'object',
          required: ['kind'],
          properties: { kind: { enum: kinds } },
          allOf: kinds.map((other) => whenKind(other, toOwnSchema(other))),
          unevaluatedProperties: false,
        },
      },
    },
  }
}

function toOwnSchema(kind: string): JsonObject {
  const backend = backends.get(kind)
  return {
    required: ['provider', ...(backend?.required ?? [])],
    properties: { provider: { type: 'string', minLength: 1 }, defaults: { type: 'object' }, ...backend?.properties },
  }
}

function whenKind(kind: string, then: JsonObject): JsonObject {
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is JSON Schema's keyword; nothing awaits a schema.
  return { if: { properties: { kind: { const: kind } } }, then }
}

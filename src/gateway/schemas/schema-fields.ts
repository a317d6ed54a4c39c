// What the JSON Schemas of REST records are made of.
import type { DescEnum } from '@bufbuild/protobuf'

export const string = { type: 'string' } as const
export const nullableString = { type: ['string', 'null'] } as const
export const url = { type: 'string', format: 'uri' } as const
export const nullableUrl = { type: ['string', 'null'], format: 'uri' } as const
export const credits = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const
export const count = { type: 'integer', format: 'int64', minimum: 0 } as const
export const nullableCount = { type: ['integer', 'null'], minimum: 0 } as const
export const seconds = { type: 'number', format: 'double', minimum: 0 } as const
export const time = { type: 'string', format: 'date-time', description: 'RFC 3339, UTC, milliseconds' } as const
export const nullableTime = { ...time, type: ['string', 'null'] } as const

/** The names of a protobuf enum as REST writes them. */
export function namesOf({ values }: DescEnum): string[] {
  return values.filter(({ number }) => number !== 0).map(({ localName }) => localName.toLowerCase())
}

/** @param title its name among the components of /openapi.json */
export function record<Properties extends Readonly<Record<string, unknown>>>(
  title: string,
  description: string,
  properties: Properties,
) {
  return { title, type: 'object', description, required: Object.keys(properties), properties } as const
}

export function listOf(item: { readonly title: string }, description: string) {
  return record(`${item.title}List`, description, {
    object: { const: 'list', type: 'string' },
    data: { type: 'array', items: item },
    total: count,
    limit: count,
    offset: count,
    has_more: { type: 'boolean' },
  })
}

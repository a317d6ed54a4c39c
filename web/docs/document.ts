// The OpenAPI document as the reference reads it: operations, webhooks, and schemas behind references.
import { asObject, isObject } from '../form-model.ts'
import type { Json, JsonObject } from '../records.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: JsonObject
  readonly example: string
}

/** A body: its type, its schema and an example. */
export interface Content {
  readonly type: string
  readonly schema: JsonObject
  readonly example: Json | undefined
}

export interface Answer {
  readonly status: string
  readonly description: string
  readonly headers: readonly { readonly name: string; readonly description: string }[]
  /** Null if there is no body. */
  readonly content: Content | null
  /** Codes and titles of the refusals with this status. */
  readonly refusals: readonly { readonly code: string; readonly title: string; readonly example: Json }[]
}

export interface Operation {
  readonly id: string
  /** `GET`, `POST`, …; `EVENT` for a webhook. */
  readonly method: string
  /** The path, or the name of the webhook. */
  readonly path: string
  readonly group: string
  readonly title: string
  readonly description: string
  readonly needsKey: boolean
  readonly rpc: string | null
  readonly parameters: readonly Parameter[]
  readonly body: Content | null
  readonly answers: readonly Answer[]
  /** Everything that a search may find, in lower case. */
  readonly words: string
}

export interface Reference {
  readonly root: JsonObject
  readonly description: string
  readonly groups: readonly { readonly name: string; readonly description: string }[]
  /** Routes, then webhooks. */
  readonly operations: readonly Operation[]
}

/** Reads the document. */
export function readReference(root: JsonObject): Reference {
  const routes = Object.entries(asObject(root['paths'])).flatMap(([path, item]) =>
    Object.entries(asObject(item)).map(([method, one]) =>
      readOperation(root, method.toUpperCase(), path, asObject(one)),
    ),
  )
  const events = Object.entries(asObject(root['webhooks'])).map(([name, item]) =>
    readOperation(root, 'EVENT', name, asObject(asObject(item)['post'])),
  )
  const groups = toList(root['tags']).map((tag) => ({
    name: toText(tag['name']),
    description: toText(tag['description']),
  }))
  return {
    root,
    description: toText(asObject(root['info'])['description']),
    groups,
    operations: [...routes, ...events],
  }
}

function readOperation(root: JsonObject, method: string, path: string, written: JsonObject): Operation {
  const operation = {
    id: toText(written['operationId']),
    method,
    path,
    group: Array.isArray(written['tags']) ? toText(written['tags'][0]) : '',
    title: toText(written['summary']),
    description: toText(written['description']),
    needsKey: !Array.isArray(written['security']),
    rpc: toText(written['x-rpc']) || null,
    parameters: toList(written['parameters']).map(readParameter),
    body: readContent(asObject(asObject(written['requestBody'])['content'])),
    answers: Object.entries(asObject(written['responses'])).map(([status, answer]) =>
      readAnswer(root, status, asObject(answer)),
    ),
  }
  const { id, title, description, parameters, body, answers } = operation
  const codes = answers.flatMap(({ refusals }) => refusals.map(({ code }) => code))
  const names = [...parameters.map(({ name }) => name), ...Object.keys(asObject(body?.schema['properties']))]
  const words = [id, method, path, operation.group, title, description, ...codes, ...names].join(' ').toLowerCase()
  return { ...operation, words }
}

function readParameter(written: JsonObject): Parameter {
  return {
    name: toText(written['name']),
    in: toText(written['in']) as Parameter['in'],
    required: written['required'] === true,
    description: toText(written['description']),
    schema: asObject(written['schema']),
    example: toText(written['example']),
  }
}

function readAnswer(root: JsonObject, status: string, written: JsonObject): Answer {
  const content = asObject(written['content'])
  const examples = asObject(asObject(content['application/problem+json'])['examples'])
  return {
    status,
    description: toText(written['description']),
    headers: Object.entries(asObject(written['headers'])).map(([name, header]) => ({
      name,
      description: toText(follow(asObject(header), root)['description']),
    })),
    content: readContent(content),
    refusals: Object.entries(examples).map(([code, reference]) => {
      const { summary, value = null } = follow(asObject(reference), root)
      return { code, title: toText(summary), example: value }
    }),
  }
}

/** The content of a body; if it may have several types, the first. */
function readContent(content: JsonObject): Content | null {
  const [type] = Object.keys(content)
  if (type === undefined) return null
  const { schema, example } = asObject(content[type])
  return { type: Object.keys(content).join(', '), schema: asObject(schema), example }
}

/** What a reference refers to; anything else is itself. */
export function follow(written: JsonObject, root: JsonObject): JsonObject {
  const reference = written['$ref']
  if (typeof reference !== 'string') return written
  let found: Json | undefined = root
  for (const segment of reference.replace(/^#\/?/, '').split('/'))
    found = asObject(found)[segment.replaceAll('~1', '/').replaceAll('~0', '~')]
  return asObject(found)
}

export function toText(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function toList(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isObject(item)) : []
}

// What a reader fills in for an operation, and the request that it makes: as it is sent, and as code.
import type { Json, JsonObject } from '../records.ts'
import type { SampleRequest } from '../request-sample.ts'
import type { Operation } from './document.ts'

/** What is filled in. */
export interface Filled {
  /** Parameters by name; an empty one is not sent. */
  readonly values: ReadonlyMap<string, string>
  /** The body as JSON text; empty without one. */
  readonly body: string
}

const bufFields: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'idempotency_key',
  'Cancel-After': 'expires_in_seconds',
  'Retain-For': 'retain_seconds',
  'Mediagen-Priority': 'priority',
  'Last-Event-ID': 'after_sequence',
}

/**
 * The request.
 * @throws SyntaxError if the body is no JSON
 */
export function toRequest(operation: Operation, { values, body }: Filled, origin: string): SampleRequest {
  const { method, path, parameters, needsKey } = operation
  const sent = parameters.flatMap(({ name, in: place, schema }) => {
    const value = values.get(name) ?? ''
    return value === '' ? [] : [{ name, place, value, typed: toTyped(value, schema) }]
  })
  const inPath = sent
    .filter(({ place }) => place === 'path')
    .reduce(
      (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value).replaceAll('%2F', '/')),
      path,
    )
  const query = new URLSearchParams(
    sent.filter(({ place }) => place === 'query').map(({ name, value }) => [name, value]),
  )
  const json = body.trim() === '' ? null : (JSON.parse(body) as JsonObject)
  return {
    method,
    url: `${origin}${inPath}${query.size > 0 ? `?${query.toString()}` : ''}`,
    needsKey,
    headers: Object.fromEntries(sent.filter(({ place }) => place === 'header').map(({ name, value }) => [name, value])),
    body: json,
    fileType: takesFile(operation) ? 'image/png' : null,
    answer: findAnswer(operation),
    rpc: operation.rpc === null ? null : toRpc(operation.rpc, origin, sent, json),
  }
}

/** Whether the body is a file. */
export function takesFile({ body }: Operation): boolean {
  return body !== null && !body.type.startsWith('application/json')
}

function findAnswer({ answers }: Operation): SampleRequest['answer'] {
  const type = answers.find(({ status, content }) => content && status.startsWith('2'))?.content?.type ?? 'text/plain'
  if (type === 'text/event-stream') return 'events'
  if (type === '*/*') return 'file'
  return type === 'application/json' ? 'json' : 'text'
}

function toTyped(value: string, { type }: JsonObject): Json {
  if (type === 'boolean') return value === 'true'
  return type === 'integer' ? Number(value) : value
}

/** The same request as a message; proto3 JSON takes the names of fields as REST has them. */
function toRpc(
  rpc: string,
  origin: string,
  sent: readonly { readonly name: string; readonly value: string; readonly typed: Json }[],
  body: JsonObject | null,
): SampleRequest['rpc'] {
  const grouped = sent.some(({ name, value }) => name === 'grouped' && value === 'true')
  const states = rpc.includes('WebhooksService') ? 'DELIVERY_STATUS_' : 'JOB_STATUS_'
  const fields = sent.flatMap(({ name, value, typed }): [string, Json][] => {
    if (name === 'grouped') return []
    if (name === 'status') return [[name, states + value.toUpperCase()]]
    if (name === 'Mediagen-Labels') return [['labels', { ...toLabels(value), ...(body?.['labels'] as JsonObject) }]]
    const field = bufFields[name]
    if (field === undefined) return [[name, typed]]
    return [[field, name === 'Idempotency-Key' ? value : Number(value)]]
  })
  return {
    url: `${origin}/${grouped ? rpc.replace('ListModels', 'ListProducts') : rpc}`,
    message: { ...toMessage(body), ...Object.fromEntries(fields) },
  }
}

/** A body as proto3 JSON: permissions by the names of the proto file, and a change of limits with the names of what it changes. */
function toMessage(body: JsonObject | null): JsonObject {
  const { permissions, limits } = body ?? {}
  const isChange = isObject(limits) && permissions === undefined
  return {
    ...body,
    ...(Array.isArray(permissions) && {
      permissions: permissions.map((name) => `PERMISSION_${String(name).toUpperCase().replace(':', '_')}`),
    }),
    ...(isChange && { update_mask: Object.keys(limits).map(toCamelCase).join(',') }),
  }
}

/** Labels as their header has them. */
function toLabels(written: string): JsonObject {
  const found = written.matchAll(/([\w.-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/g)
  return Object.fromEntries(
    [...found].map(([, name = '', quoted, bare = '']) => [name, quoted?.replaceAll(/\\(.)/g, '$1') ?? bare]),
  )
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}

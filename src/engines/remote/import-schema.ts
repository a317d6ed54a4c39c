// Makes the input schema of a catalog entry from what a provider publishes: the OpenAPI documents of cog, Replicate and fal, and
// ComfyUI's workflows.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { isObject } from './connection.ts'

const deepest = 20
/** The keywords that a catalog uses; all others are dropped. */
const kept = new Set([
  'type',
  'title',
  'description',
  'default',
  'enum',
  'const',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'items',
  'properties',
  'required',
  'additionalProperties',
  'anyOf',
  'oneOf',
])
const urlName = /(^|_)urls?$/

/** A schema, and the fields that were taken for media; an operator should check them. */
export interface ImportedSchema {
  readonly input: JsonObject
  readonly media: readonly string[]
}

/**
 * The schema of the input in an OpenAPI document.
 * @throws Error if the document has none
 */
export function importOpenapi(document: JsonValue): ImportedSchema {
  const { components, paths }: { components?: JsonValue; paths?: JsonValue } = isObject(document) ? document : {}
  const schemas = isObject(components) && isObject(components['schemas']) ? components['schemas'] : {}
  const found = schemas['Input'] ?? findBody(paths)
  if (!found) throw new Error('the document describes no input')
  const media: string[] = []
  const input = simplify(found, schemas, media, '', 0)
  return { input: { type: 'object', ...(input as JsonObject) }, media }
}

/** The body of the one POST, as fal has it. */
function findBody(paths: JsonValue | undefined): JsonValue | undefined {
  for (const path of Object.values(isObject(paths) ? paths : {})) {
    const post = isObject(path) && isObject(path['post']) ? path['post'] : {}
    const content = isObject(post['requestBody']) ? post['requestBody']['content'] : null
    const json = isObject(content) ? content['application/json'] : null
    if (isObject(json)) return json['schema']
  }
  return undefined
}

function simplify(
  node: JsonValue,
  schemas: Readonly<Record<string, JsonValue>>,
  media: string[],
  field: string,
  depth: number,
): JsonValue {
  if (!isObject(node) || depth > deepest) return {}
  const { $ref: ref, allOf, ...own } = node
  const parts = [...(Array.isArray(allOf) ? allOf : []), ...(typeof ref === 'string' ? [{ $ref: ref }] : [])]
  // cog writes enums as one reference in `allOf`, beside what the field itself says.
  const inherited = parts.map((part) => {
    const name = isObject(part) && typeof part['$ref'] === 'string' ? part['$ref'].split('/').at(-1) : undefined
    return simplify(name === undefined ? part : (schemas[name] ?? {}), schemas, media, field, depth + 1) as JsonObject
  })
  const made: JsonObject = Object.assign({}, ...inherited)
  for (const [keyword, value] of Object.entries(own)) if (kept.has(keyword)) made[keyword] = value
  if (isObject(own['properties'])) made['properties'] = simplifyFields(own, schemas, media, depth)
  if (isObject(own['items'])) made['items'] = simplify(own['items'], schemas, media, field, depth + 1)
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const branches = own[keyword]
    if (Array.isArray(branches))
      made[keyword] = branches.map((branch) => dropDefaults(simplify(branch, schemas, media, field, depth + 1)))
  }
  if (made['type'] === 'string' && (own['format'] === 'uri' || urlName.test(field))) {
    made['format'] = 'media'
    if (!media.includes(field)) media.push(field)
  }
  return made
}

/** A default of one of several alternatives would never be used, and the catalog refuses it. */
function dropDefaults(node: JsonValue): JsonValue {
  if (Array.isArray(node)) return node.map(dropDefaults)
  if (!isObject(node)) return node
  const isSchema = 'type' in node || '$ref' in node || 'anyOf' in node
  const entries = Object.entries(node).filter(([name]) => !(isSchema && name === 'default'))
  return Object.fromEntries(entries.map(([name, value]) => [name, name === 'enum' ? value : dropDefaults(value)]))
}

/** In the order that the provider shows them. */
function simplifyFields(
  owner: Readonly<Record<string, JsonValue>>,
  schemas: Readonly<Record<string, JsonValue>>,
  media: string[],
  depth: number,
): JsonObject {
  const listed = Array.isArray(owner['x-fal-order-properties']) ? owner['x-fal-order-properties'] : []
  const place = ([name, field]: [string, JsonValue]): number =>
    isObject(field) && typeof field['x-order'] === 'number'
      ? field['x-order']
      : listed.includes(name)
        ? listed.indexOf(name)
        : deepest * 1000
  const fields = Object.entries(owner['properties'] as JsonObject).toSorted((a, b) => place(a) - place(b))
  return Object.fromEntries(fields.map(([name, field]) => [name, simplify(field, schemas, media, name, depth + 1)]))
}

/** Names of inputs of a workflow that a model offers. `loaders` has the inputs that take media, by the class of the node. */
const wanted = new Set([
  'text',
  'prompt',
  'seed',
  'noise_seed',
  'steps',
  'cfg',
  'width',
  'height',
  'denoise',
  'length',
  'fps',
])
// ComfyUI takes fractions for these, also where a workflow has a whole number. Of the nodes with `fps`, those that write films do; for
// others, such as SVD_img2vid_Conditioning, it cuts a fraction off.
const fractional = new Set(['cfg', 'denoise'])
const writesFilms = /^(Create|Save)/
const loaders: Readonly<Record<string, string>> = { LoadImage: 'image', LoadAudio: 'audio', LoadVideo: 'file' }

/**
 * The fields of a workflow in API format that a model may offer, and where they go.
 * @throws Error if `workflow` is not one
 */
export function importWorkflow(
  workflow: JsonValue,
): ImportedSchema & { readonly inputs: Readonly<Record<string, string>> } {
  const nodes = isObject(workflow) ? Object.entries(workflow) : []
  if (nodes.length === 0 || !nodes.every(([, node]) => isObject(node) && typeof node['class_type'] === 'string'))
    throw new Error('this is not a workflow in API format ("Export (API)" in ComfyUI)')
  const properties: JsonObject = {}
  const inputs: Record<string, string> = {}
  const media: string[] = []
  for (const [id, node] of nodes) {
    const { class_type: type, inputs: given }: { class_type?: JsonValue; inputs?: JsonValue } = isObject(node)
      ? node
      : {}
    for (const [name, value] of Object.entries(isObject(given) ? given : {})) {
      const isMedia = loaders[String(type)] === name
      // A link to another node is a list.
      if (!(isMedia || wanted.has(name)) || typeof value === 'object') continue
      const field = name in properties ? `${name}_${id}` : name
      inputs[field] = `/${id}/inputs/${name}`
      properties[field] = isMedia
        ? { type: 'string', format: 'media' }
        : { type: toType(String(type), name, value), default: value }
      if (isMedia) media.push(field)
    }
  }
  return { input: { type: 'object', required: media, properties, additionalProperties: false }, inputs, media }
}

function toType(node: string, name: string, value: JsonValue): string {
  if (typeof value !== 'number') return typeof value
  const takesFractions = fractional.has(name) || (name === 'fps' && writesFilms.test(node))
  return Number.isInteger(value) && !takesFractions ? 'integer' : 'number'
}

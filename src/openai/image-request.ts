// A request of OpenAI's interface for pictures, as the input of a model.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { MediagenError, type Violation } from '../core/errors.ts'
import { describeViolations } from '../core/violations.ts'
import { toPointerToken } from '../schema/violations.ts'

/** Body of a request; its route has checked the types of these fields. */
export interface ImageBody extends JsonObject {
  model?: string | null
  n?: number | null
  size?: string | null
  response_format?: 'b64_json' | 'url' | null
  stream?: boolean | null
  partial_images?: number | null
  max_credits?: number | null
}

/** What a request asks of a model. */
export interface ImageOrder {
  readonly input: JsonObject
  /** Number of jobs. */
  readonly count: number
}

/** A model, as far as requests are translated for it. */
export interface ImageModel {
  readonly id: string
  /** JSON Schema of its input. */
  readonly inputSchema: JsonObject
}

// What the door itself reads.
const ofTheDoor: ReadonlySet<string> = new Set(['model', 'n', 'size', 'response_format', 'max_credits'])

// OpenAI's fields, with the values at which they ask for nothing: many clients send them always. Null for any value.
const asksNothing: Readonly<Record<string, readonly JsonValue[] | null>> = {
  size: ['auto'],
  quality: ['auto', 'standard'],
  style: ['vivid'],
  background: ['auto'],
  moderation: ['auto'],
  output_format: ['png'],
  output_compression: [100],
  partial_images: [0],
  stream: [false],
  input_fidelity: ['low'],
  user: null,
}

/**
 * Translates a request. Fields that the model has are passed as they are.
 * @throws MediagenError `invalid_request` that names every field that means nothing to the model
 */
export function toImageOrder(body: ImageBody, { id, inputSchema }: ImageModel): ImageOrder {
  const properties = (inputSchema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>
  const input: JsonObject = {}
  const violations: Violation[] = []
  const has = (name: string): boolean => Object.hasOwn(properties, name)
  for (const [name, value] of Object.entries(body)) {
    // Clients write null for what they do not set.
    if (value === undefined || value === null || (ofTheDoor.has(name) && name !== 'size')) continue
    if (has(name) && !(isDefault(name, value) && !mayBe(properties[name], value))) input[name] = value
    else if (isDefault(name, value)) continue
    else if (name === 'size' && has('width') && has('height')) Object.assign(input, readSize(String(value), violations))
    else violations.push({ pointer: `/${toPointerToken(name)}`, detail: `is not a field of ${id}` })
  }
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
  const count = body.n ?? 1
  if (!has('n')) return { input, count }
  return { input: body.n === undefined || body.n === null ? input : { ...input, n: count }, count: 1 }
}

function isDefault(name: string, value: JsonValue): boolean {
  if (!Object.hasOwn(asksNothing, name)) return false
  return asksNothing[name]?.includes(value) ?? true
}

/** Whether a choice has this option. What is no choice may be anything; the schema decides later. */
function mayBe(property: JsonObject | undefined, value: JsonValue): boolean {
  const options = property?.['enum']
  return !Array.isArray(options) || options.includes(value)
}

function readSize(written: string, violations: Violation[]): JsonObject {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(written) ?? []
  if (width !== undefined && height !== undefined) return { width: Number(width), height: Number(height) }
  violations.push({ pointer: '/size', detail: 'must be auto, or width and height such as 1024x1024' })
  return {}
}

/** A refusal of the input, which names the fields as this door has them. */
export function nameFields(error: MediagenError): MediagenError {
  const { violations } = error.details
  if (error.code !== 'invalid_input' || !violations) return error
  const named = violations.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\/input(?=\/|$)/, ''), detail }))
  const words = error.message.replaceAll(/(^|\s)\/input(?=\/)/g, '$1')
  return new MediagenError(error.code, words, { ...error.details, violations: named }, { cause: error })
}

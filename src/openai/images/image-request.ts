// A request of OpenAI's interface for pictures, as the input of a model.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { MediagenError } from '../../core/errors.ts'
import {
  type DoorModel,
  type FieldRules,
  propertiesOf,
  type TranslatedFields,
  translateField,
  translateFields,
} from '../fields.ts'

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
export interface ImageOrder extends TranslatedFields {
  /** Number of jobs. */
  readonly count: number
}

// What the door itself reads.
const ofTheDoor: ReadonlySet<string> = new Set(['model', 'n', 'response_format', 'max_credits'])

const asksNothing: FieldRules['asksNothing'] = {
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
 * Translates a request. Fields that the model has are passed as they are, unless the catalog says otherwise.
 * @throws MediagenError `invalid_request` that names every field that means nothing to the model
 */
export function toImageOrder(body: ImageBody, model: DoorModel): ImageOrder {
  const has = (name: string): boolean => Object.hasOwn(propertiesOf(model), name)
  const isSides = has('width') && has('height')
  const fields = Object.entries(body).filter(([name]) => !ofTheDoor.has(name))
  const { input, names } = translateFields(model, fields, (name, value) => {
    const set = translateField(model, name, value, { asksNothing })
    return typeof set === 'string' && name === 'size' && isSides ? readSize(String(value)) : set
  })
  const { n } = body
  // What is wrong with a side of a size is said of the side.
  const shown = Object.fromEntries(
    Object.entries(names).filter(([target, name]) => name !== 'size' || !/^(?:width|height)$/.test(target)),
  )
  const order = { input, names: shown, count: n ?? 1 }
  if (!has('n')) return order
  return { ...order, input: n === undefined || n === null ? input : { ...input, n }, count: 1 }
}

function readSize(written: string): JsonObject | string {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(written) ?? []
  if (width === undefined || height === undefined) return 'must be auto, or width and height such as 1024x1024'
  return { width: Number(width), height: Number(height) }
}

/**
 * A refusal of the input, which names the fields as this door has them.
 * @param names the door's names of fields that a model has under others, by the model's names
 */
export function nameFields(error: MediagenError, names: Readonly<Record<string, string>> = {}): MediagenError {
  const { violations } = error.details
  if (error.code !== 'invalid_input' || !violations) return error
  const rename = (_start: string, field: string): string => `/${Object.hasOwn(names, field) ? names[field] : field}`
  const named = violations.map(({ pointer, detail }) => ({
    pointer: pointer.replace(/^\/input(?=\/|$)/, '').replace(/^\/([^/]+)/, rename),
    detail,
  }))
  const words = error.message.replaceAll(/(?<=^|\s)\/input\/([^/\s]+)/g, rename)
  return new MediagenError(error.code, words, { ...error.details, violations: named }, { cause: error })
}

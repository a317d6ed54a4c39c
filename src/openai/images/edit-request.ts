// The pictures of a request of OpenAI's interface, in every form in which clients send them.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { File } from '../../../gen/mediagen/v1/files_pb.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import { describeViolations } from '../../core/violations.ts'
import { isMediaReference, isUploadId } from '../../files/media/reference.ts'
import { refuseRepeatedNames } from '../../guards/json-names.ts'
import { countJsonValues, refuseManyValues, tooManyValues } from '../../guards/json-values.ts'
import { isObject } from '../../schema/refs.ts'
import type { ImageBody } from './image-request.ts'

/** The most pictures of a request, as OpenAI has it. */
export const mostPictures = 16

/** Body of a request; its route has checked the types of these fields. */
export interface EditBody extends ImageBody {
  image?: JsonValue
  images?: JsonValue
  mask?: JsonValue
}

/** A picture of a request. */
export interface Picture {
  /** As a model takes it. */
  readonly reference: string
  /** The same for the same bytes, where they are known. */
  readonly digest: string
}

/**
 * Reads the pictures of a request.
 * @param findFile the record of an upload; throws if the caller has none
 * @throws MediagenError `invalid_request` that names what is no picture, or has no picture beside its mask
 */
export async function readPictures(
  { image, images, mask }: EditBody,
  findFile: (fileId: string) => Promise<Pick<File, 'contentType' | 'sha256'>>,
): Promise<{ readonly images: readonly Picture[]; readonly mask: Picture | null }> {
  const sent = [...toSent('/image', image), ...toSent('/images', images)]
  const masks = toSent('/mask', mask)
  const violations: Violation[] = []
  if (sent.length > mostPictures) violations.push({ pointer: '/image', detail: `must be at most ${mostPictures}` })
  if (masks.length > 1) violations.push({ pointer: '/mask', detail: 'must be one picture' })

  async function read({ pointer, value }: Sent): Promise<Picture[]> {
    const reference = toReference(value)
    if (reference === null) {
      violations.push({ pointer, detail: 'must be a file, a data: or http(s) URL, or the id of an upload (file_…)' })
      return []
    }
    if (!isUploadId(reference)) return [{ reference, digest: reference }]
    const { contentType, sha256 } = await findFile(reference)
    if (!contentType.startsWith('image/'))
      violations.push({ pointer, detail: `must be a picture, but is ${contentType}` })
    return [{ reference, digest: sha256 }]
  }

  const pictures: Picture[] = []
  // Looked up one after the other: a request takes no more than its turn.
  if (violations.length === 0) for (const one of sent) pictures.push(...(await read(one)))
  const [found = null] = violations.length === 0 && masks[0] ? await read(masks[0]) : []
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
  return { images: pictures, mask: found }
}

interface Sent {
  readonly pointer: string
  readonly value: JsonValue
}

function toSent(pointer: string, value: JsonValue | undefined): Sent[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) return [{ pointer, value }]
  return value.map((one, index) => ({ pointer: `${pointer}/${index}`, value: one }))
}

function toReference(value: JsonValue): string | null {
  if (typeof value === 'string') return isMediaReference(value) ? value : null
  if (!isObject(value)) return null
  const { image_url: url, file_id: fileId } = value
  const named = fileId ?? (isObject(url) ? url['url'] : url)
  return typeof named === 'string' && isMediaReference(named) ? named : null
}

/**
 * The values of texts of a form, for a model: numbers where its schema has numbers.
 * @throws MediagenError `invalid_request` if one of them holds too many values, or a name twice
 */
export function readTexts(body: JsonObject, schema: JsonObject, maxValues: number): JsonObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  let left = maxValues
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const isText = typeof value !== 'string' || !Object.hasOwn(properties, name) || mayBeText(properties[name])
      if (isText) return [name, value]
      // All of them together are one input.
      left -= countJsonValues(Buffer.from(value), left)
      if (left < 0) throw tooManyValues(maxValues)
      return [name, readText(value, maxValues)]
    }),
  )
}

/**
 * The value of a text of a form, as JSON would have it; the text itself if it is no JSON.
 * @throws MediagenError `invalid_request`
 */
export function readText(text: string, maxValues: number): JsonValue {
  let value: JsonValue
  refuseManyValues(Buffer.from(text), maxValues)
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    return text
  }
  refuseRepeatedNames(text)
  return value
}

function mayBeText(node: JsonValue | undefined): boolean {
  if (!isObject(node)) return true
  const { type, enum: options } = node
  if (Array.isArray(options)) return options.some((option) => typeof option === 'string')
  return type === undefined || [type].flat().includes('string')
}

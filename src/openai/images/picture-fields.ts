// Which fields of a model take the pictures of a request.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import { describeViolations } from '../../core/violations.ts'
import { isObject, resolveRef } from '../../schema/refs.ts'
import type { DoorModel } from '../fields.ts'

/** A field for pictures. */
interface PictureField {
  readonly name: string
  readonly isList: boolean
  readonly isRequired: boolean
}

/** The pictures of a request, as references. */
export interface Pictures {
  readonly images: readonly string[]
  readonly mask: string | null
}

// Where a model has several fields for pictures, the first of these is the one to change.
const usualNames = ['image', 'images', 'image_url', 'image_urls', 'input_image', 'input_images']

/** The fields of a model that take pictures, masks apart. */
export function findPictureFields(schema: JsonObject): {
  readonly pictures: readonly PictureField[]
  readonly masks: readonly PictureField[]
} {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const fields = Object.entries(properties).flatMap(([name, node]) => {
    const forms = formsOf(schema, node)
    const isList = forms.some((form) => formsOf(schema, form['items']).some(takesPicture))
    return isList || forms.some(takesPicture) ? [{ name, isList, isRequired: required.includes(name) }] : []
  })
  const isMask = ({ name }: PictureField): boolean => /mask/i.test(name)
  return { pictures: fields.filter((field) => !isMask(field)), masks: fields.filter(isMask) }
}

/**
 * The pictures of a request in the fields of a model.
 * @throws MediagenError `invalid_request` if the model does not take them, or it is not clear where
 */
export function placePictures({ id, inputSchema, openaiFields }: DoorModel, { images, mask }: Pictures): JsonObject {
  const { pictures, masks } = findPictureFields(inputSchema)
  const violations: Violation[] = []
  const input: JsonObject = {}
  const place = (pointer: string, fields: readonly PictureField[], values: readonly string[], none: string): void => {
    if (values.length === 0) return
    const fitting = fields.filter(({ isList }) => isList || values.length === 1)
    const named = openaiFields[pointer.slice(1)]
    const field = fitting.find(({ name }) => name === named) ?? chooseField(fitting)
    if (field) input[field.name] = field.isList ? [...values] : (values[0] ?? null)
    else if (fields.length === 0) violations.push({ pointer, detail: none })
    else if (fitting.length === 0) violations.push({ pointer, detail: `must be one picture: ${id} takes no list` })
    else {
      const names = fitting.map(({ name }) => name).join(', ')
      violations.push({
        pointer,
        detail: `may be any of several fields of ${id}; send it as JSON by its name: ${names}`,
      })
    }
  }
  place('/image', pictures, images, `is no field of ${id}, which takes no picture`)
  place('/mask', masks, mask === null ? [] : [mask], `is no field of ${id}, which takes no mask`)
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
  return input
}

function chooseField(fields: readonly PictureField[]): PictureField | null {
  const [only] = fields
  if (only && fields.length === 1) return only
  const required = fields.filter(({ isRequired }) => isRequired)
  if (required[0] && required.length === 1) return required[0]
  const among = required.length > 0 ? required : fields
  return usualNames.flatMap((name) => among.find((field) => field.name === name) ?? [])[0] ?? null
}

/** A schema, and those that it combines or refers to, for the same value. */
function formsOf(
  root: JsonObject,
  node: JsonValue | undefined,
  seen: ReadonlySet<JsonObject> = new Set(),
): JsonObject[] {
  if (!isObject(node) || seen.has(node)) return []
  const { $ref, anyOf, oneOf, allOf } = node
  const others = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []))
  const referred = typeof $ref === 'string' ? resolveRef(root, $ref) : undefined
  const known = new Set([...seen, node])
  return [node, ...[referred, ...others].flatMap((other) => formsOf(root, other, known))]
}

function takesPicture({ format, contentMediaType }: JsonObject): boolean {
  if (format !== 'media') return false
  return typeof contentMediaType !== 'string' || /^(image|\*)\//.test(contentMediaType)
}

// The form of POST /v1/images/edits, as the body that JSON would be. Its pictures become uploads of the caller while they arrive.
import { ConnectError } from '@connectrpc/connect'
import type { JsonValue } from '@mediagen/engine/engine.ts'
import type { FastifyRequest } from 'fastify'
import type { File } from '../../../gen/mediagen/v1/files_pb.ts'
import { MediagenError } from '../../core/errors.ts'
import { cutText } from '../../core/text/log-text.ts'
import type { CoreClient } from '../../gateway/core-client.ts'
import { type FormPart, readParts } from '../../gateway/http/form.ts'
import { toMediagenError } from '../../gateway/problems/problem.ts'
import { readFormBody, sendFile, tooLarge } from '../../gateway/upload.ts'
import { tooManyValues } from '../../guards/json-values.ts'
import { toPointerToken } from '../../schema/violations.ts'
import { type EditBody, mostPictures, readText } from './edit-request.ts'

/** The limits of a form. */
export interface FormBounds {
  /** Bytes of a picture. */
  readonly maxUploadBytes: number
  /** Bytes of all pictures. */
  readonly maxInputBytes: number
  /** Bytes of all texts. */
  readonly maxBodyBytes: number
  /** Number of texts. */
  readonly maxValues: number
}

/** A form that was read. */
export interface EditForm {
  readonly body: EditBody
  /** The uploads that its pictures are, by their ids. */
  readonly files: ReadonlyMap<string, File>
}

// No model has so many fields, and each part of a form costs more than a value of JSON.
const mostTexts = 1000

// What the door itself reads as something else than text.
const readAsJson: ReadonlySet<string> = new Set(['n', 'max_credits', 'output_compression', 'partial_images', 'stream'])

/**
 * Reads a form.
 * @param spend counts the bytes that are not of pictures, as they arrive
 * @throws MediagenError `invalid_request`, `invalid_media` or `payload_too_large`, with the name of the part; ConnectError; what
 * `spend` throws
 */
export async function readEditForm(
  request: FastifyRequest,
  core: Pick<CoreClient, 'files'>,
  bounds: FormBounds,
  spend: (bytes: number) => Promise<void>,
): Promise<EditForm> {
  const { maxBodyBytes, maxValues } = bounds
  const files = new Map<string, File>()
  const texts = new Map<string, JsonValue>()
  const pictures: Record<'image' | 'mask', string[]> = { image: [], mask: [] }
  let textBytes = 0

  function countText(name: string, text: string, isCut: boolean): void {
    textBytes += Buffer.byteLength(name) + Buffer.byteLength(text)
    if (isCut || textBytes > maxBodyBytes)
      throw new MediagenError(
        'payload_too_large',
        `The texts of the form are larger than the ${maxBodyBytes} bytes that this server accepts.`,
      )
    if (texts.size + pictures.image.length + pictures.mask.length >= maxValues) throw tooManyValues(maxValues)
    if (texts.size >= mostTexts)
      throw new MediagenError('invalid_request', `The form has more than ${mostTexts} texts.`)
  }

  const body = readFormBody(request, longestForm(bounds), longestForm(bounds))
  for await (const part of readParts(request.headers, body, { fieldSize: maxBodyBytes }, spend)) {
    const { name, text } = part
    if (!name) throw new MediagenError('invalid_request', 'The form has a part without a name.')
    const kind = kindOf(name)
    if (text !== null) countText(name, text, part.isCut)
    if (kind === null && text !== null) {
      if (texts.has(name)) throw refusePart(name, 'occurs twice')
      texts.set(name, readAsJson.has(name) ? readText(text, maxValues) : text)
    } else if (kind === null) throw refusePart(name, 'is a file, but only image and mask may be')
    else {
      // Before the next is stored.
      if (kind === 'mask' && pictures.mask.length > 0) throw refusePart(name, 'must be one picture')
      if (pictures.image.length >= mostPictures && kind === 'image')
        throw refusePart(name, `must be at most ${mostPictures} pictures`)
      pictures[kind].push(text ?? (await store(request, core, part, name, bounds, files)))
    }
  }
  const [image, mask] = [pictures.image, pictures.mask].map((list) => (list.length === 1 ? list[0] : list))
  return {
    body: {
      ...Object.fromEntries(texts),
      ...(pictures.image.length > 0 && { image }),
      ...(pictures.mask.length > 0 && { mask }),
    },
    files,
  }
}

/**
 * What the head of a request says of its form that makes reading it pointless.
 * @throws MediagenError `payload_too_large`
 */
export function checkAnnouncedForm({ headers }: FastifyRequest, bounds: FormBounds): void {
  const most = longestForm(bounds)
  if (Number(headers['content-length'] ?? 0) > most) throw tooLarge('form', most)
}

function longestForm({ maxInputBytes, maxBodyBytes }: FormBounds): number {
  return maxInputBytes + maxBodyBytes
}

/** What a part is: a picture also as `images`, `image[]` or `image[0]`; null for neither. */
function kindOf(name: string): 'image' | 'mask' | null {
  const [, kind] = /^(?:(image)s?|(mask))(?:\[\d*\])?$/.exec(name)?.filter(Boolean) ?? []
  return kind === 'image' || kind === 'mask' ? kind : null
}

/** Uploads a picture; returns its id. The same picture is the same upload, so that an equal request has the same input. */
async function store(
  request: FastifyRequest,
  core: Pick<CoreClient, 'files'>,
  part: FormPart,
  name: string,
  { maxUploadBytes }: FormBounds,
  files: Map<string, File>,
): Promise<string> {
  try {
    const file = await sendFile(core, request, { reuse: true }, part.bytes(), maxUploadBytes)
    files.set(file.fileId, file)
    return file.fileId
  } catch (thrown) {
    const error = toMediagenError(thrown)
    // Ours is about the whole form: it broke off, or is none.
    const isEmpty = thrown instanceof ConnectError && error.code === 'invalid_request'
    if (!isEmpty && error.code !== 'invalid_media' && error.code !== 'payload_too_large') throw thrown
    throw refusePart(name, `was refused: ${error.message}`, error.code, thrown)
  }
}

function refusePart(
  name: string,
  detail: string,
  code: MediagenError['code'] = 'invalid_request',
  cause?: unknown,
): MediagenError {
  const violations = [{ pointer: `/${toPointerToken(name)}`, detail }]
  return new MediagenError(
    code,
    `The part ${cutText(name)} of the form ${detail.replace(/\.$/, '')}.`,
    { violations },
    { cause },
  )
}

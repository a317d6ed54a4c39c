// The media that a render was handed: local files, by the place of the input that refers to them.

import { readFile } from 'node:fs/promises'
import { contentTypes, findContentType } from '@mediagen/engine/content-types.ts'
import type { EngineError } from '@mediagen/engine/engine.ts'
import { invalidMedia, toFieldName, toStillAvif, whyTooLarge } from '@mediagen/engine/media.ts'
import { fileTypeFromBuffer } from 'file-type'
import sharp from 'sharp'
import type { RenderTask } from './renderer.ts'

// Each render process does one job; more threads would only take cores from the other processes.
sharp.concurrency(1)
sharp.cache(false)

const acceptedImages: ReadonlySet<string> = new Set([
  'image/apng',
  ...Object.values(contentTypes).filter((type) => type.startsWith('image/')),
])
const accepted = 'PNG, JPEG, WebP, AVIF, GIF or TIFF'

/** What reading an image needs to know of a task. */
export type MediaTask = Pick<RenderTask, 'media' | 'bounds'>

/**
 * Reads the image that a field of an input refers to. Its kind and, from its header, its size were looked at; it may still
 * be damaged: what decoding throws is to be turned into `damagedImage`.
 * @param pointer JSON pointer of the field, for example `/image` or `/images/0`
 * @throws EngineError `invalid_media` when it is not an image that we take, or is larger than the bounds of the task
 */
export async function readImageInput(task: MediaTask, pointer: string): Promise<Buffer> {
  const path = task.media.get(pointer)
  if (path === undefined) throw new Error(`The input has no media at ${pointer}`)
  const field = toFieldName(pointer)
  const content = await readFile(path)
  // A fetched file is named by its content.
  const type = findContentType(path) ?? (await fileTypeFromBuffer(content))?.mime
  if (type === undefined || !acceptedImages.has(type))
    throw invalidMedia(
      field,
      `must be an image (${accepted}), but its content is ${type ? `of type ${type}` : 'not recognised'}`,
    )
  const bytes = type === 'image/avif' ? toStillAvif(content) : content
  const { width, height } = await sharp(bytes, { limitInputPixels: false })
    .metadata()
    .catch((cause: unknown) => {
      throw damagedImage(pointer, cause)
    })
  const tooLarge = whyTooLarge(width, height, task.bounds)
  if (tooLarge !== null) throw invalidMedia(field, tooLarge)
  return bytes
}

/** Megapixels of the image that a field refers to, from its header. */
export async function readMegapixels(task: MediaTask, pointer: string): Promise<number> {
  const { width, height } = await sharp(await readImageInput(task, pointer), { limitInputPixels: false }).metadata()
  return (width * height) / 1e6
}

/** The refusal of an image that cannot be decoded. */
export function damagedImage(pointer: string, cause: unknown): EngineError {
  return invalidMedia(toFieldName(pointer), 'cannot be decoded: the file is damaged or incomplete', { cause })
}

// The media that a render was handed: local files, by the place of the input that refers to them.

import { readFile } from 'node:fs/promises'
import { fileTypeFromBuffer } from 'file-type'
import { invalidMedia, toFieldName } from '../../core/media.ts'
import type { RenderTask } from './renderers.ts'

const acceptedImages = new Map([
  ['image/png', 'PNG'],
  ['image/apng', 'PNG'],
  ['image/jpeg', 'JPEG'],
  ['image/webp', 'WebP'],
  ['image/avif', 'AVIF'],
  ['image/gif', 'GIF'],
])

/**
 * Reads the image that a field of an input refers to.
 * @param pointer JSON pointer of the field, for example `/image` or `/images/0`
 * @throws EngineError `invalid_media` when it is not an image that we take
 */
export async function readImageInput(task: Pick<RenderTask, 'media'>, pointer: string): Promise<Buffer> {
  const path = task.media.get(pointer)
  if (path === undefined) throw new Error(`The input has no media at ${pointer}`)
  const bytes = await readFile(path)
  const kind = await fileTypeFromBuffer(bytes)
  if (kind && acceptedImages.has(kind.mime)) return bytes
  const accepted = [...new Set(acceptedImages.values())].join(', ')
  throw invalidMedia(
    toFieldName(pointer),
    `must be an image (${accepted}), but its content is ${kind ? `of type ${kind.mime}` : 'not recognised'}`,
  )
}

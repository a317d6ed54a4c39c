// Recognises the media of inputs, and refuses what is not accepted.
import { open } from 'node:fs/promises'
import { invalidMedia, type PictureBounds, whyTooLarge } from '@mediagen/engine/media.ts'
import { findKind, type Kind } from './kinds.ts'
import { readPictureSize } from './picture-size.ts'

/** Recognises a file; `field` is its name in messages. */
export type Recogniser = (path: string, field: string) => Promise<Kind>

/**
 * Creates a recogniser of images, videos and sounds. It throws EngineError `invalid_media` for everything else, including SVG and
 * HTML, for files that are also something else, and for pictures that are larger than `bounds`.
 */
export function createRecogniser(bounds: PictureBounds): Recogniser {
  return async (path, field) => {
    const { kind, words, also } = await findKind(path)
    if (kind === null) throw invalidMedia(field, `must be an image, a video or a sound, but its content is ${words}`)
    const { contentType } = kind
    if (also !== null)
      throw invalidMedia(field, `is ${contentType} and ${also} at the same time, which is not accepted`)
    await using file = await open(path, 'r')
    const size = await readPictureSize(file, contentType)
    const tooLarge = size && whyTooLarge(size.width, size.height, bounds)
    if (tooLarge) throw invalidMedia(field, tooLarge)
    return kind
  }
}

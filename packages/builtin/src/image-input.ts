// Decodes a picture that was handed in: upright, in sRGB, and not larger than a process can hold.

import sharp from 'sharp'
import { type Pixels, toPixels } from './image-output.ts'
import { damagedImage, type MediaTask, readImageInput } from './media-input.ts'

/**
 * Decodes the image that a field of an input refers to: turned as its camera was held, its colours brought to sRGB.
 * @param pointer JSON pointer of the field, for example `/image`
 * @param check called with the size, upright, before anything is decoded; what it throws is thrown
 * @throws EngineError `invalid_media` when it is no image that we take, too large, or damaged
 */
export async function decodeImageInput(
  task: MediaTask,
  pointer: string,
  check: (size: { readonly width: number; readonly height: number }) => void,
): Promise<Pixels> {
  const bytes = await readImageInput(task, pointer)
  const { pixels: limitInputPixels } = task.bounds
  check((await sharp(bytes, { limitInputPixels }).metadata()).autoOrient)
  try {
    const image = sharp(bytes, { limitInputPixels, failOn: 'error', sequentialRead: true })
    return await toPixels(image.autoOrient())
  } catch (error) {
    throw damagedImage(pointer, error)
  }
}

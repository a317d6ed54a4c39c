// The renderer `edit`: takes one image through a list of operations, in the order in which they are listed.

import sharp from 'sharp'
import type { JsonObject } from '../../../core/engine.ts'
import { fromPixels, type Pixels, writeImage } from '../image-output.ts'
import { damagedImage, readImageInput } from '../media-input.ts'
import type { Rendered, RenderTask } from '../renderers.ts'
import { applyOperation } from './operations.ts'
import { maxPixels, toPixels } from './pixels.ts'

// Each render process does one job; more threads would only take cores from the other processes.
sharp.concurrency(1)
sharp.cache(false)

/** Edits the input's `image`. The picture that comes out fits into `max_width` × `max_height`. */
export async function renderEdit(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const operations = (input['operations'] ?? []) as JsonObject[]
  let pixels = await decode(await readImageInput(task, '/image'))
  task.onProgress(0.2)
  for (const [index, operation] of operations.entries()) {
    pixels = await applyOperation(pixels, operation, `operations[${index}]`)
    task.onProgress(0.2 + (0.6 * (index + 1)) / operations.length)
  }
  return writeImage(task, await fitInside(pixels, Number(input['max_width']), Number(input['max_height'])))
}

async function decode(bytes: Buffer): Promise<Pixels> {
  try {
    const image = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', sequentialRead: true })
    // Cameras store a photo as it lay on the sensor and say how to turn it.
    return await toPixels(image.autoOrient())
  } catch (error) {
    throw damagedImage('/image', error)
  }
}

async function fitInside(pixels: Pixels, maxWidth: number, maxHeight: number): Promise<Pixels> {
  if (pixels.width <= maxWidth && pixels.height <= maxHeight) return pixels
  return toPixels(
    fromPixels(pixels).resize({ width: maxWidth, height: maxHeight, fit: 'inside', withoutEnlargement: true }),
  )
}

// The renderer `edit`: takes one image through a list of operations, in the order in which they are listed.

import type { JsonObject } from '../../../core/engine.ts'
import { fromPixels, type Pixels, toPixels, writeImage } from '../image-output.ts'
import { decodeImageInput } from '../image-input.ts'
import type { Rendered, RenderTask } from '../renderers.ts'
import { applyOperation } from './operations.ts'

/** Edits the input's `image`. The picture that comes out fits into `max_width` × `max_height`. */
export async function renderEdit(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const operations = (input['operations'] ?? []) as JsonObject[]
  let pixels = await decodeImageInput(task, '/image')
  task.onProgress(0.2)
  for (const [index, operation] of operations.entries()) {
    pixels = await applyOperation(pixels, operation, `operations[${index}]`)
    task.onProgress(0.2 + (0.6 * (index + 1)) / operations.length)
  }
  return writeImage(task, await fitInside(pixels, Number(input['max_width']), Number(input['max_height'])))
}

async function fitInside(pixels: Pixels, maxWidth: number, maxHeight: number): Promise<Pixels> {
  if (pixels.width <= maxWidth && pixels.height <= maxHeight) return pixels
  return toPixels(
    fromPixels(pixels).resize({ width: maxWidth, height: maxHeight, fit: 'inside', withoutEnlargement: true }),
  )
}

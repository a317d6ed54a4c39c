// The renderer `edit`: takes one image through a list of operations, in the order in which they are listed.

import type { JsonObject } from '../../../core/engine.ts'
import { formatOf, fromPixels, type Pixels, qualityOf, toPixels, writeImage } from '../image-output.ts'
import { decodeImageInput } from '../image-input.ts'
import type { Rendered, RenderTask } from '../renderers.ts'
import { applyOperation } from './operations.ts'
import { checkInputPixels } from './pixels.ts'
import { workOfEncoding, workOfOpening } from './work.ts'

/** Edits the input's `image`. The picture that comes out fits into `max_width` × `max_height`. */
export async function renderEdit(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const operations = (input['operations'] ?? []) as JsonObject[]
  const bound = { megapixels: Number(input['megapixels']) }
  let pixels = await decodeImageInput(task, '/image', ({ width, height }) => checkInputPixels(width, height, bound))
  let work = workOfOpening(pixels)
  task.onProgress(0.2)
  for (const [index, operation] of operations.entries()) {
    const applied = await applyOperation(pixels, operation, `operations[${index}]`, bound)
    pixels = applied.pixels
    work += applied.work
    task.onProgress(0.2 + (0.6 * (index + 1)) / operations.length)
  }
  const fitted = await fitInside(pixels, Number(input['max_width']), Number(input['max_height']))
  const { extension } = await writeImage(task, fitted)
  return { extension, usage: { work: work + workOfEncoding(formatOf(input), qualityOf(input), fitted) } }
}

async function fitInside(pixels: Pixels, maxWidth: number, maxHeight: number): Promise<Pixels> {
  if (pixels.width <= maxWidth && pixels.height <= maxHeight) return pixels
  return toPixels(
    fromPixels(pixels).resize({ width: maxWidth, height: maxHeight, fit: 'inside', withoutEnlargement: true }),
  )
}

// The renderer `edit`: takes one image through a list of operations, in the order in which they are listed.

import type { JsonObject } from '@mediagen/engine/engine.ts'
import { decodeImageInput } from '../image-input.ts'
import { formatOf, fromPixels, type Pixels, qualityOf, toPixels, writeImage } from '../image-output.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { applyOperation, expectWork } from './operations.ts'
import { pace } from './pace.ts'
import { checkInputPixels } from './pixels.ts'
import { workOfEncoding, workOfOpening } from './work.ts'

// How far a task is when each of its parts is done.
const [opened, edited, written] = [0.2, 0.8, 0.95]

/** Edits the input's `image`. The picture that comes out fits into `max_width` × `max_height`. */
export async function renderEdit(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const operations = (input['operations'] ?? []) as JsonObject[]
  const bound = { megapixels: Number(input['megapixels']) }
  let pixels = await decodeImageInput(task, '/image', ({ width, height }) => checkInputPixels(width, height, bound))
  let work = workOfOpening(pixels)
  task.onProgress(opened)
  for (const [index, operation] of operations.entries()) {
    const share = (done: number): number => opened + ((edited - opened) * done) / operations.length
    const applied = await pace(
      task,
      [share(index), share(index + 1)],
      expectWork(operation, pixels),
      applyOperation(pixels, operation, `operations[${index}]`, bound),
    )
    pixels = applied.pixels
    work += applied.work
  }
  const fitted = await fitInside(pixels, Number(input['max_width']), Number(input['max_height']))
  const encoding = workOfEncoding(formatOf(input), qualityOf(input), fitted)
  // Progress reported by the encoder would arrive before the last report of the pace, so progress would go back.
  const silent = { ...task, onProgress: () => {} }
  const { extension } = await pace(task, [edited, written], encoding, writeImage(silent, fitted))
  // The sizes and what they are multiplied with have nine decimals together; more is what adding in binary leaves.
  return { extension, usage: { work: Number((work + encoding).toFixed(9)) } }
}

async function fitInside(pixels: Pixels, maxWidth: number, maxHeight: number): Promise<Pixels> {
  if (pixels.width <= maxWidth && pixels.height <= maxHeight) return pixels
  return toPixels(
    fromPixels(pixels).resize({ width: maxWidth, height: maxHeight, fit: 'inside', withoutEnlargement: true }),
  )
}

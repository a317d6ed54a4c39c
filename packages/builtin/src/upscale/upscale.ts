// The renderer `upscale`: makes one image larger by resampling. It invents nothing: no detail appears that was not there.

import { EngineError } from '@mediagen/engine/engine.ts'
import { decodeImageInput } from '../image-input.ts'
import { fromPixels, type Pixels, toPixels, writeImage } from '../image-output.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { sharpenWithin } from './sharpen.ts'

// Of the difference to a blurred copy, added where sharpness is 1.
const strongest = 2.4

/** Makes the input's `image` as large as `width` × `height` and `factor` allow, its proportions kept. */
export async function renderUpscale(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const toTarget = (from: Size): Size =>
    targetSize(from, Number(input['width']), Number(input['height']), input['factor'])
  const source = await decodeImageInput(task, '/image', toTarget)
  task.onProgress(0.1)
  const size = toTarget(source)
  const larger = await enlarge(source, size)
  task.onProgress(0.3)
  // What a small picture shows as one step is spread over as many pixels as it grew.
  const blurred = await toPixels(fromPixels(larger).blur(0.5 + (0.35 * size.width) / source.width))
  task.onProgress(0.4)
  const amount = strongest * Number(input['sharpness'])
  await sharpenWithin({ larger, blurred, source, amount, onProgress: (done) => task.onProgress(0.4 + 0.4 * done) })
  return writeImage(task, larger)
}

interface Size {
  readonly width: number
  readonly height: number
}

function targetSize(source: Size, width: number, height: number, factor: unknown): Size {
  const room = Math.min(width / source.width, height / source.height)
  const scale = typeof factor === 'number' ? Math.min(room, factor) : room
  const size = { width: Math.round(source.width * scale), height: Math.round(source.height * scale) }
  if (size.width > source.width || size.height > source.height)
    return { width: Math.max(source.width, size.width), height: Math.max(source.height, size.height) }
  throw new EngineError(
    'invalid_input',
    `image is ${source.width} × ${source.height} already, which is not smaller than the ${width} × ${height} asked for. Ask for more, or use the edit model to make it smaller.`,
  )
}

// Between the values of sRGB, not of light: there a sharp edge rings evenly to both sides, and less to the dark one.
function enlarge(source: Pixels, { width, height }: Size): Promise<Pixels> {
  return toPixels(fromPixels(source).resize({ width, height, fit: 'fill', kernel: 'lanczos3' }))
}

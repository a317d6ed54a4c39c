// The renderer `art`: a picture painted by rule. Prompt and seed together decide every stroke.

import { createCanvas } from '@napi-rs/canvas'
import { writeImage } from '../image-output.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { finish } from './finish.ts'
import { createPalette } from './palette.ts'
import { chooseLook } from './prompt.ts'
import { createNoise, createRandom, hashText } from './random.ts'
import { styles } from './styles.ts'

/** Paints the input's `prompt`. The same input gives the same bytes. */
export async function renderArt(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const prompt = String(input['prompt'])
  const [width, height] = [Number(input['width']), Number(input['height'])]
  // Without a seed the prompt alone decides. The size takes no part: a larger picture is the same picture.
  const seed = `${prompt.normalize('NFC').trim()}\n${typeof input['seed'] === 'number' ? input['seed'] : ''}`
  const look = chooseLook(prompt, String(input['style']), String(input['palette']), createRandom(`look ${seed}`))
  const random = createRandom(`${look.style} ${seed}`)
  const palette = createPalette(look.palette, createRandom(`palette ${seed}`))
  task.onProgress(0.05)

  const canvas = createCanvas(width, height)
  const context = canvas.getContext('2d')
  const style = styles[look.style]
  style.paint({ context, width, height, unit: Math.min(width, height), random, noise: createNoise(random), palette })
  task.onProgress(0.7)

  const { data } = context.getImageData(0, 0, width, height)
  finish(data, width, height, hashText(seed), style.grain, style.vignette)
  return writeImage(task, { data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength), width, height })
}

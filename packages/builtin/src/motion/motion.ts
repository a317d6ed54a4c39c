// The renderer `motion`: motion graphics. Words and seed together decide every movement.

import { createPalette } from '../art/palette.ts'
import { chooseLook } from '../art/prompt.ts'
import { createNoise, createRandom } from '../art/random.ts'
import { composeFor } from '../music/music.ts'
import { mix } from '../music/studio/mix.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import type { Sound } from '../sound/sound.ts'
import { toSettableText } from '../text/runs.ts'
import { readShot, type Shot, shoot } from '../video/shoot.ts'
import type { MotionStage, Scene } from './stage.ts'
import { motionOf, motionStyles, type MotionStyleName } from './styles.ts'
import { createTitle } from './title.ts'

/** Films the input's `prompt`. The same input gives the same bytes. */
export async function renderMotion(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const shot = readShot(input, Number(input['duration']))
  const prompt = String(input['prompt'])
  const seed = `motion ${prompt.normalize('NFC').trim()}\n${Number(input['seed'])}`
  const look = chooseLook(prompt, 'auto', String(input['palette']), createRandom(`look ${seed}`))
  const style = isStyle(input['style']) ? input['style'] : motionOf[look.style]
  const random = createRandom(`${style} ${seed}`)
  const stage: MotionStage = {
    width: shot.width,
    height: shot.height,
    unit: Math.min(shot.width, shot.height),
    seconds: shot.frames / shot.fps,
    words: style === 'type' ? toSettableText('prompt', prompt) : '',
    palette: createPalette(look.palette, createRandom(`palette ${seed}`)),
    noise: createNoise(random),
    random,
  }
  const scene = motionStyles[style](stage)
  const words = toSettableText('title', String(input['title']))
  // Where the film itself is words, others over it would only make both unreadable.
  const title = style === 'type' ? null : createTitle(words, stage)
  const sound = input['music'] === true ? await playAlong(prompt, Number(input['seed']), stage.seconds) : null
  task.onProgress(0.02)
  return shoot(task, { ...shot, sound }, (context, _seconds, frame) => drawFrame(context, frame, shot, scene, title))
}

/** A piece in the mood of the prompt that ends with the film. */
function playAlong(prompt: string, seed: number, duration: number): Promise<Sound> {
  const composed = composeFor({ prompt, seed, duration, style: 'auto', mood: 'auto' })
  return mix(composed.piece, composed.duration, composed.seed, () => {})
}

function drawFrame(context: Parameters<Scene>[0], frame: number, shot: Shot, scene: Scene, title: Scene | null): void {
  // The frame after the last one is the first one again.
  const phase = frame / shot.frames
  context.save()
  scene(context, phase)
  context.restore()
  title?.(context, phase)
}

function isStyle(name: unknown): name is MotionStyleName {
  return typeof name === 'string' && Object.hasOwn(motionStyles, name)
}

// The renderer `music`: composes a piece, plays it, and mixes it.

import type { JsonObject } from '@mediagen/engine/engine.ts'
import { createRandom } from '../art/random.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { writeSound } from '../sound/sound-output.ts'
import { chooseLook } from './prompt.ts'
import { compose, type Piece } from './score/compose.ts'
import { mix } from './studio/mix.ts'

const mixShare = 0.7

/** Makes music of the input's `prompt`; prompt, seed and settings together decide every note. */
export async function renderMusic(task: RenderTask): Promise<Rendered> {
  const { piece, duration, seed } = composeFor(task.input)
  const sound = await mix(piece, duration, seed, (fraction) => task.onProgress(mixShare * fraction))
  return writeSound(task, sound, mixShare)
}

/** The piece that an input asks for. */
export function composeFor(input: JsonObject): { piece: Piece; duration: number; seed: string } {
  const prompt = String(input['prompt'])
  const duration = Number(input['duration'])
  const seed = `${prompt.normalize('NFC').trim()}\n${typeof input['seed'] === 'number' ? input['seed'] : ''}`
  const look = chooseLook(prompt, String(input['style']), String(input['mood']), createRandom(`look ${seed}`))
  const bpm = typeof input['bpm'] === 'number' ? input['bpm'] : null
  return { piece: compose({ ...look, bpm, duration, seed }), duration, seed }
}

// The renderer `speech`: reads a text aloud.

import type { Rendered, RenderTask } from '../renderer.ts'
import { writeSound } from '../sound/sound-output.ts'
import { speak } from './speak.ts'
import { voiceNames } from './voices.ts'

const speechShare = 0.7

/** Speaks the input's `text`. Its usage is the seconds that came out. */
export async function renderSpeech(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const { sound } = await speak(String(input['text']), {
    voice: voiceNames.find((name) => name === input['voice']) ?? 'slt',
    speed: Number(input['speed'] ?? 1),
    pitch: Number(input['pitch'] ?? 0),
    expression: Number(input['expression'] ?? 1),
    onProgress: (fraction) => task.onProgress(speechShare * fraction),
  })
  return writeSound(task, sound, speechShare)
}

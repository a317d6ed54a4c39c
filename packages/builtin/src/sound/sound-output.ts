// Writes a finished sound in the format that the input asks for.

import { writeFile } from 'node:fs/promises'
import type { Rendered, RenderTask } from '../renderer.ts'
import { encodeSound, isSoundFormat } from './encode.ts'
import { durationSeconds, type Sound } from './sound.ts'

/** Encodes a sound to the task's file as its input's `format` says (default: MP3); progress moves on from `begun` to 1. */
export async function writeSound(task: RenderTask, sound: Sound, begun: number): Promise<Rendered> {
  const asked = task.input['format']
  const format = isSoundFormat(asked) ? asked : 'mp3'
  const file = await encodeSound(sound, format, (fraction) => task.onProgress(begun + (0.99 - begun) * fraction))
  await writeFile(task.file, file)
  return { extension: format, usage: { seconds: durationSeconds(sound) } }
}

// Draws a film frame by frame.

import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas'
import type { JsonObject } from '../../../core/engine.ts'
import { openFilm } from '../film/film.ts'
import type { Rendered, RenderTask } from '../renderers.ts'
import type { Sound } from '../sound/sound.ts'

/** A film to be drawn. */
export interface Shot {
  /** Pixels, even. */
  readonly width: number
  readonly height: number
  /** Frames a second. */
  readonly fps: number
  readonly frames: number
  readonly format: 'mp4' | 'webm'
  readonly sound: Sound | null
}

/** Draws one frame over whatever the last one left; `seconds` is when it is shown. It must leave no transparent pixel. */
export type DrawFrame = (context: SKRSContext2D, seconds: number, frame: number) => void | Promise<void>

/** Reads `width`, `height`, `fps` and `format` of an input that lasts as long as given. */
export function readShot(input: JsonObject, seconds: number): Shot {
  const fps = Number(input['fps'])
  return {
    width: Number(input['width']),
    height: Number(input['height']),
    fps,
    frames: Math.max(1, Math.round(seconds * fps)),
    format: input['format'] === 'webm' ? 'webm' : 'mp4',
    sound: null,
  }
}

/** Draws all frames into the task's file. Progress runs from `from` to 1, at most a hundred steps. */
export async function shoot(task: RenderTask, shot: Shot, draw: DrawFrame, from = 0.02): Promise<Rendered> {
  const { width, height, fps, frames, format } = shot
  const canvas = createCanvas(width, height)
  const context = canvas.getContext('2d')
  await using film = await openFilm({ ...shot, file: task.file })
  let told = 0
  for (let frame = 0; frame < frames; frame++) {
    await draw(context, frame / fps, frame)
    await film.addFrame(context.getImageData(0, 0, width, height).data)
    const fraction = (frame + 1) / frames
    if (fraction - told < 0.01) continue
    task.onProgress(from + (0.99 - from) * fraction)
    told = fraction
  }
  await film.close()
  return { extension: format, usage: { seconds: frames / fps, megapixel_frames: (width * height * frames) / 1e6 } }
}

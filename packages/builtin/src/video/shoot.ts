// Draws a film frame by frame.

import { EngineError, type JsonObject } from '@mediagen/engine/engine.ts'
import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas'
import { openFilm } from '../film/film.ts'
import { chooseQuantizer } from '../film/quality.ts'
import { fromPixels } from '../image-output.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
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

/**
 * Draws one frame over whatever the last one left; `seconds` is when it is shown. It must leave no transparent pixel.
 * Frames are drawn in their order, but for a few from all over the film that are tried before.
 */
export type DrawFrame = (context: SKRSContext2D, seconds: number, frame: number) => void | Promise<void>

/** Drafts of a film: its first frame, and some later ones. */
const drafts = 4

/** Maximum number of pixels in all frames: 100 seconds of 1920 × 1080 at 30 frames a second, some minutes of work. */
const mostPixels = 6_221_000_000

/**
 * Reads `width`, `height`, `fps` and `format` of an input that lasts as long as given.
 * @throws EngineError `invalid_input` for a film that is too large altogether
 */
export function readShot(input: JsonObject, seconds: number): Shot {
  const [width, height, fps] = [Number(input['width']), Number(input['height']), Number(input['fps'])]
  const frames = Math.max(1, Math.round(seconds * fps))
  if (width * height * frames > mostPixels) {
    const most = Math.floor(mostPixels / (width * height * fps))
    throw new EngineError(
      'invalid_input',
      `A film of ${width} × ${height} at ${fps} frames a second can last ${most} seconds, not ${Math.ceil(frames / fps)}. Choose a smaller width or height.`,
    )
  }
  return {
    width,
    height,
    fps,
    frames,
    format: input['format'] === 'webm' ? 'webm' : 'mp4',
    sound: null,
  }
}

/** Draws all frames into the task's file. Progress runs from `from` to 1, at most a hundred steps. */
export async function shoot(task: RenderTask, shot: Shot, draw: DrawFrame, from = 0.02): Promise<Rendered> {
  const { width, height, fps, frames, format } = shot
  const canvas = createCanvas(width, height)
  const context = canvas.getContext('2d')
  const drawPixels = async (frame: number): Promise<Uint8ClampedArray> => {
    await draw(context, frame / fps, frame)
    return context.getImageData(0, 0, width, height).data
  }
  // The machine's ffmpeg controls the quality itself.
  const quality = task.ffmpeg === null ? { quantizer: await chooseQuantizer(shot, frames, drawPixels) } : {}
  await using film = await openFilm({ ...shot, ...quality, file: task.file, ffmpeg: task.ffmpeg })
  let told = 0
  for (let frame = 0; frame < frames; frame++) {
    const pixels = await drawPixels(frame)
    if (frame % Math.ceil(frames / drafts) === 0)
      await task.onDraft?.(fromPixels({ data: new Uint8Array(pixels), width, height }))
    await film.addFrame(pixels)
    const fraction = (frame + 1) / frames
    if (fraction - told < 0.01) continue
    task.onProgress(from + (0.99 - from) * fraction)
    told = fraction
  }
  await film.close()
  return { extension: format, usage: { seconds: frames / fps, megapixel_frames: (width * height * frames) / 1e6 } }
}

// How finely the frames of a film are quantized: one quality for the whole film, found by trying some of its frames. H.264 is
// quick to try and tells for VP8, too.

import { setImmediate } from 'node:timers/promises'
import type { Pace } from './encoder.ts'
import { openH264, secondsBetweenKeys } from './h264.ts'
import { createYuvConverter, yuvBytes } from './yuv.ts'

/**
 * A film with few bits at the usual quality gets a better one, because soft gradients show every step. A film with many bits gets
 * a worse one, because motion hides the loss.
 */
const [bestQuantizer, worstQuantizer] = [20, 28]
/** The quality at which frames are tried. */
export const usualQuantizer = 24
/** Steps of the quantizer that halve a film. */
const halvingSteps = 7.5
/** What a film should cost at 1280 × 720. */
const [goodBitsPerPixel, goodPixels] = [0.1, 1280 * 720]
/** Where in the film pairs of frames are tried: many films begin and end at rest. */
const places = [0.12, 0.37, 0.62, 0.87] as const

/**
 * Finds the quantizer for a film.
 * @param draw draws any frame, as RGBA pixels that may be overwritten by the next call
 */
export async function chooseQuantizer(
  pace: Pace,
  frames: number,
  draw: (frame: number) => Promise<Uint8Array | Uint8ClampedArray>,
): Promise<number> {
  const { width, height, fps } = pace
  await using parts = new AsyncDisposableStack()
  const encoder = await openH264(pace, usualQuantizer)
  parts.defer(() => encoder.close())
  const convert = createYuvConverter(width, height, encoder.matrix)
  const yuv = new Uint8Array(yuvBytes(width, height))
  for (const place of places) {
    const first = Math.max(0, Math.min(frames - 2, Math.floor(place * frames)))
    for (const frame of [first, Math.min(frames - 1, first + 1)]) {
      convert(await draw(frame), yuv)
      await encoder.encode(yuv)
      await setImmediate()
    }
  }
  const sizes = (await encoder.flush()).map(({ data }) => data.length)
  // The first frame of a pair does not follow the frame before it, so it costs as much as a key frame.
  const [alone, next] = [mean(sizes.filter((_, i) => i % 2 === 0)), mean(sizes.filter((_, i) => i % 2 === 1))]
  const bitsPerPixel = (8 * (next + alone / (secondsBetweenKeys * fps))) / (width * height)
  // A small film shows the same content in fewer pixels.
  const good = goodBitsPerPixel * (goodPixels / (width * height)) ** 0.25
  const wanted = Math.round(usualQuantizer + halvingSteps * Math.log2(bitsPerPixel / good))
  return Math.min(worstQuantizer, Math.max(bestQuantizer, wanted))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

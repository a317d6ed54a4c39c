// Rooms: eight delays that feed one another.

import { applyFilters, highPass } from '../../sound/filter.ts'
import { studioRate } from '../../sound/sound.ts'
import type { Stereo } from './stereo.ts'

// Lengths without common measure, so that no echo stands out.
const lineSeconds = [0.0297, 0.0371, 0.0411, 0.0437, 0.0533, 0.0599, 0.0671, 0.0733]
const lineCount = lineSeconds.length
/** Before the first reflection. */
const aheadSeconds = 0.014
/** What is lower only makes mud. */
const lowestHertz = 170

/** How a room sounds. */
export interface Room {
  /** Until it has died away by 60 dB. */
  readonly seconds: number
  /** 0 … 1; how much of the treble the walls swallow. */
  readonly darkness: number
  readonly gain: number
}

/** Adds the room alone to `into`. */
export function addReverb(from: Stereo, into: Stereo, { seconds, darkness, gain }: Room): void {
  const scale = 0.7 + 0.3 * Math.min(2, seconds / 2)
  const lengths = Int32Array.from(lineSeconds, (line) => Math.round(line * scale * studioRate))
  const offsets = Int32Array.from(lengths, (_, l) => lengths.subarray(0, l).reduce((sum, length) => sum + length, 0))
  const memory = new Float32Array(lengths.reduce((sum, length) => sum + length, 0))
  const losses = Float64Array.from(lengths, (length) => 10 ** ((-3 * length) / studioRate / seconds))
  const places = new Int32Array(lineCount)
  const dark = new Float64Array(lineCount)
  const out = new Float64Array(lineCount)
  const ahead = Math.round(aheadSeconds * studioRate)
  const filters = [highPass(studioRate, lowestHertz)]
  const [inLeft, inRight] = [applyFilters(from.left, filters), applyFilters(from.right, filters)]
  for (let i = ahead; i < inLeft.length; i++) {
    for (let l = 0; l < lineCount; l++) {
      const value = memory[(offsets[l] as number) + (places[l] as number)] as number
      const smooth = value + darkness * ((dark[l] as number) - value)
      dark[l] = smooth
      out[l] = smooth * (losses[l] as number)
    }
    const [a, b, c, d] = [out[0] as number, out[2] as number, out[4] as number, out[6] as number]
    const [e, f, g, h] = [out[1] as number, out[3] as number, out[5] as number, out[7] as number]
    into.left[i] = (into.left[i] as number) + gain * (a - b + c - d)
    into.right[i] = (into.right[i] as number) + gain * (e - f + g - h)
    mixLines(out)
    const [left, right] = [0.5 * (inLeft[i - ahead] as number), 0.5 * (inRight[i - ahead] as number)]
    for (let l = 0; l < lineCount; l++) {
      const place = places[l] as number
      memory[(offsets[l] as number) + place] = (out[l] as number) + (l % 2 === 0 ? left : right)
      places[l] = place + 1 === lengths[l] ? 0 : place + 1
    }
  }
}

/** Every line into every other, without gain (a Hadamard matrix). */
function mixLines(lines: Float64Array): void {
  for (let half = 1; half < lineCount; half *= 2) {
    for (let i = 0; i < lineCount; i++) {
      if (i & half) continue
      const [a, b] = [lines[i] as number, lines[i + half] as number]
      lines[i] = a + b
      lines[i + half] = a - b
    }
  }
  const norm = 1 / Math.sqrt(lineCount)
  for (let i = 0; i < lineCount; i++) lines[i] = (lines[i] as number) * norm
}

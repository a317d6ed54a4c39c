// What drums are made of: bending tones, noise, metal.

import type { Random } from '../../art/random.ts'
import { applyFilters, bandPass } from '../../sound/filter.ts'
import { studioRate } from '../../sound/sound.ts'
import { fadeEnd } from './note.ts'

interface Tone {
  /** Frequencies at the stroke and after the bend. */
  readonly from: number
  readonly to: number
  /** Seconds in which it bends and dies away. */
  readonly bend: number
  readonly fall: number
  /** Level of the noise of the stroke. */
  readonly click: number
}

/** A skin that is struck. */
export function toneOf({ from, to, bend, fall, click }: Tone, random: Random): Float32Array {
  const samples = new Float32Array(Math.ceil(fall * 6 * studioRate))
  let phase = 0
  for (let i = 0; i < samples.length; i++) {
    const t = i / studioRate
    phase += (to + (from - to) * Math.exp(-t / bend)) / studioRate
    const strike = t < 0.006 ? click * random.range(-1, 1) * (1 - t / 0.006) : 0
    samples[i] = Math.sin(2 * Math.PI * phase) * Math.exp(-t / fall) * Math.min(1, t / 0.001) + strike
  }
  return fadeEnd(samples)
}

/** Noise that dies away; coarse noise keeps each value for a few samples. */
export function noiseOf(seconds: number, fall: number, random: Random, isCoarse = false): Float32Array {
  const samples = new Float32Array(Math.ceil(seconds * studioRate))
  const step = Math.exp(-1 / studioRate / fall)
  let [held, gain] = [0, 1]
  for (let i = 0; i < samples.length; i++) {
    if (!isCoarse || i % 4 === 0) held = random.range(-1, 1)
    samples[i] = held * gain
    gain *= step
  }
  return fadeEnd(samples)
}

// Six squares that have no common measure.
const rings = [205.3, 304.4, 369.6, 522.7, 800, 1204.4].map((hertz) => (hertz * 4.1) / studioRate)

/** Noise and the ring of metal together, the ring with a fall of its own, in seconds; `share` of the whole rings. */
export function withMetal(noise: Float32Array, fall: number, share: number): Float32Array {
  const samples = new Float32Array(noise.length)
  for (const step of rings) {
    let phase = 0
    for (let i = 0; i < samples.length; i++) {
      samples[i] = (samples[i] as number) + (phase < 0.5 ? 1 : -1)
      phase += step
      if (phase >= 1) phase -= 1
    }
  }
  const step = Math.exp(-1 / studioRate / fall)
  let gain = (1.6 * share) / rings.length
  for (let i = 0; i < samples.length; i++) {
    samples[i] = (1 - share) * (noise[i] as number) + gain * (samples[i] as number)
    gain *= step
  }
  return fadeEnd(samples)
}

/** A short rush of noise. */
export function sweep(seconds: number, from: number, to: number, random: Random): Float32Array {
  return applyFilters(noiseOf(seconds, seconds / 4, random), [bandPass(studioRate, (from + to) / 2, 0.8)])
}

/** The level over time, in seconds. */
export function shaped(samples: Float32Array, level: (t: number) => number): Float32Array {
  return samples.map((sample, i) => sample * level(i / studioRate))
}

/** The beginning, backwards. */
export function reversed(samples: Float32Array, seconds: number): Float32Array {
  return samples.subarray(0, Math.round(seconds * studioRate)).toReversed()
}

/** Sounds together, each at its level. */
export function sum(...parts: readonly (readonly [samples: Float32Array, level: number])[]): Float32Array {
  const samples = new Float32Array(Math.max(...parts.map(([part]) => part.length)))
  for (const [part, level] of parts)
    for (let i = 0; i < part.length; i++) samples[i] = (samples[i] as number) + level * (part[i] as number)
  return samples
}

// What instruments are given and give back.

import { studioRate } from '../../sound/sound.ts'

/** A note to be played. */
export interface Note {
  readonly hertz: number
  /** How long the key is held, in seconds. */
  readonly seconds: number
  /** 0 … 1. */
  readonly velocity: number
  /** Another number for every note: where chance begins. */
  readonly seed: number
}

/** Plays a note, mono at 48 kHz, with its release. */
export type Instrument = (note: Note) => Float32Array

/** Nothing is played above this, so that nothing folds back. */
export const mostHertz = 16_000

const fadeSamples = 480

/** Samples for a note with its release. */
export function allocate(note: Note, release: number): Float32Array {
  return new Float32Array(Math.ceil((note.seconds + release) * studioRate))
}

/** The factor of each sample for a fall to 1/e in this time. */
export function decayStep(seconds: number): number {
  return Math.exp(-1 / (seconds * studioRate))
}

/** A cheap source of numbers, -1 … 1. */
export function createHiss(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 0x80000000
  }
}

/** What is struck is damped when its key is let go; neither end clicks. Works in place. */
export function damp(samples: Float32Array, note: Note, release: number): Float32Array {
  const step = decayStep(release / 4)
  let gain = 1
  for (let i = Math.round(note.seconds * studioRate); i < samples.length; i++) {
    samples[i] = (samples[i] as number) * gain
    gain *= step
  }
  for (let i = 0; i < Math.min(24, samples.length); i++) samples[i] = (samples[i] as number) * (i / 24)
  return fadeEnd(samples)
}

/** Ends in silence. Works in place. */
export function fadeEnd(samples: Float32Array): Float32Array {
  const fade = Math.min(samples.length, fadeSamples)
  for (let i = 0; i < fade; i++) {
    const at = samples.length - 1 - i
    samples[at] = (samples[at] as number) * (i / fade)
  }
  return samples
}

// Tones that are held: waves through a filter, with an envelope, as in analog synthesizers, winds, bows and organs.

import { studioRate } from '../../sound/sound.ts'
import { allocate, createHiss, fadeEnd, mostHertz, type Note } from './note.ts'

/** A wave: a shape, or the levels of its harmonics. */
export interface Oscillator {
  readonly shape: 'saw' | 'pulse' | 'triangle' | 'noise' | readonly number[]
  readonly cents: number
  readonly level: number
  /** Of a pulse, 0 … 1; half is a square. */
  readonly duty?: number
}

/** How a voice sounds. */
export interface Voice {
  readonly oscillators: readonly Oscillator[]
  /**
   * A low pass at `base` Hz, plus `tracking` times the note's, plus `rise` Hz that fall with time. A negative fall is the
   * time in which it rises instead. It may sway, by a part of itself. Null for none.
   */
  readonly filter: {
    readonly base: number
    readonly tracking: number
    readonly rise: number
    readonly fallSeconds: number
    readonly resonance: number
    readonly sway?: { readonly hertz: number; readonly depth: number }
  } | null
  readonly envelope: {
    readonly attack: number
    readonly decay: number
    readonly sustain: number
    readonly release: number
  }
  readonly vibrato?: { readonly hertz: number; readonly cents: number; readonly afterSeconds: number }
  /** Cents from below in which the note finds its pitch. */
  readonly scoop?: number
}

const block = 32
const tableSize = 2048
const tables = new Map<readonly number[], Float32Array>()

/** Plays a note with a voice. */
export function playVoice(note: Note, { oscillators, filter, envelope, vibrato, scoop = 0 }: Voice): Float32Array {
  const samples = allocate(note, envelope.release)
  const hiss = createHiss(note.seed)
  const players = oscillators.map((oscillator) => createPlayer(oscillator, note.hertz / studioRate, hiss))
  const sway = hiss() * Math.PI
  let [bend, g, k, state1, state2] = [1, 0, 2, 0, 0]
  let level = envelopeAt(0, note.seconds, envelope)
  for (let from = 0; from < samples.length; from += block) {
    const to = Math.min(samples.length, from + block)
    const t = from / studioRate
    const depth = vibrato ? vibrato.cents * Math.min(1, Math.max(0, (t - vibrato.afterSeconds) * 3)) : 0
    const cents = (vibrato ? depth * Math.sin(2 * Math.PI * vibrato.hertz * t) : 0) - scoop * Math.exp(-t / 0.03)
    bend = 2 ** (cents / 1200)
    for (const play of players) play(samples, from, to, bend)
    if (filter) {
      const { base, tracking, rise, fallSeconds, resonance } = filter
      const moved = fallSeconds > 0 ? Math.exp(-t / fallSeconds) : 1 - Math.exp(t / fallSeconds)
      const swayed = filter.sway ? 1 + filter.sway.depth * Math.sin(2 * Math.PI * filter.sway.hertz * t + sway) : 1
      const hertz = Math.min(mostHertz, Math.max(30, (base + tracking * note.hertz + rise * moved) * swayed))
      g = Math.tan((Math.PI * hertz) / studioRate)
      k = 2 - 1.8 * resonance
      const a = 1 / (1 + g * (g + k))
      for (let i = from; i < to; i++) {
        // A state variable filter, trapezoidal: stable while the cutoff moves.
        const high = ((samples[i] as number) - (g + k) * state1 - state2) * a
        const band = g * high + state1
        const low = g * band + state2
        state1 = g * high + band
        state2 = g * band + low
        samples[i] = low
      }
    }
    const next = envelopeAt(to / studioRate, note.seconds, envelope)
    const step = (next - level) / (to - from)
    for (let i = from; i < to; i++) samples[i] = (samples[i] as number) * note.velocity * (level + step * (i - from))
    level = next
  }
  return fadeEnd(samples)
}

type Player = (into: Float32Array, from: number, to: number, bend: number) => void

function createPlayer(oscillator: Oscillator, cycle: number, hiss: () => number): Player {
  const { shape, cents, level, duty = 0.5 } = oscillator
  const step = cycle * 2 ** (cents / 1200)
  const begin = (hiss() + 1) / 2
  if (shape === 'noise')
    return (into, from, to) => {
      for (let i = from; i < to; i++) into[i] = (into[i] as number) + level * hiss()
    }
  if (shape === 'saw') return createSaw(step, level, begin)
  if (shape === 'pulse') return createPulse(step, level, begin, duty)
  if (shape === 'triangle') {
    let phase = begin
    return (into, from, to, bend) => {
      for (let i = from; i < to; i++) {
        phase += step * bend
        if (phase >= 1) phase -= 1
        into[i] = (into[i] as number) + level * (4 * Math.abs(phase - 0.5) - 1)
      }
    }
  }
  return createTablePlayer(tableOf(shape), step, level, begin)
}

function createSaw(step: number, level: number, begin: number): Player {
  let phase = begin
  return (into, from, to, bend) => {
    const each = step * bend
    for (let i = from; i < to; i++) {
      phase += each
      if (phase >= 1) phase -= 1
      into[i] = (into[i] as number) + level * (2 * phase - 1 - corner(phase, each))
    }
  }
}

function createPulse(step: number, level: number, begin: number, duty: number): Player {
  let phase = begin
  return (into, from, to, bend) => {
    const each = step * bend
    for (let i = from; i < to; i++) {
      phase += each
      if (phase >= 1) phase -= 1
      const other = phase + 1 - duty
      const back = other >= 1 ? other - 1 : other
      const value = (phase < duty ? 1 : -1) + corner(phase, each) - corner(back, each) + 1 - 2 * duty
      into[i] = (into[i] as number) + level * value
    }
  }
}

function createTablePlayer(table: Float32Array, step: number, level: number, begin: number): Player {
  let phase = begin
  return (into, from, to, bend) => {
    const each = step * bend
    for (let i = from; i < to; i++) {
      phase += each
      if (phase >= 1) phase -= 1
      const place = phase * tableSize
      const first = place | 0
      const part = place - first
      const value = (table[first] as number) * (1 - part) + (table[first + 1] as number) * part
      into[i] = (into[i] as number) + level * value
    }
  }
}

/** One cycle of a wave of harmonics, and its first sample again. */
function tableOf(harmonics: readonly number[]): Float32Array {
  const known = tables.get(harmonics)
  if (known) return known
  const table = Float32Array.from({ length: tableSize + 1 }, (_, i) =>
    harmonics.reduce((sum, level, n) => sum + level * Math.sin((2 * Math.PI * (n + 1) * i) / tableSize), 0),
  )
  tables.set(harmonics, table)
  return table
}

/** Rounds the jump of a wave over two samples, which takes away most of its aliasing. */
function corner(phase: number, step: number): number {
  if (phase < step) {
    const x = phase / step
    return 2 * x - x * x - 1
  }
  if (phase > 1 - step) {
    const x = (phase - 1) / step
    return x * x + 2 * x + 1
  }
  return 0
}

function envelopeAt(t: number, seconds: number, { attack, decay, sustain, release }: Voice['envelope']): number {
  const held = Math.min(t, seconds)
  const level = held < attack ? held / attack : sustain + (1 - sustain) * Math.exp((attack - held) / (decay / 3))
  return t <= seconds ? level : level * Math.exp((seconds - t) / (release / 4))
}

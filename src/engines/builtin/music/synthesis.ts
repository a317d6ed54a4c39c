// Four ways to make a tone: from waves and a filter, from frequencies that modulate one another, from decaying partials,
// and from a string.

import { studioRate } from '../sound/sound.ts'
import type { Note } from './instruments.ts'

type Shape = 'saw' | 'square' | 'pulse' | 'triangle' | 'sine'

interface Subtractive {
  readonly oscillators: readonly { readonly shape: Shape; readonly cents: number; readonly level: number }[]
  /**
   * A low pass at `base` Hz, plus `tracking` times the note's, plus `rise` Hz that fall with time. A negative fall is the
   * time in which it rises instead. Null for none.
   */
  readonly filter: {
    readonly base: number
    readonly tracking: number
    readonly rise: number
    readonly fallSeconds: number
    readonly resonance: number
  } | null
  readonly envelope: {
    readonly attack: number
    readonly decay: number
    readonly sustain: number
    readonly release: number
  }
  readonly vibrato?: { readonly hertz: number; readonly cents: number; readonly afterSeconds: number }
}

const controlStep = 32
const mostHertz = 16_000

/** Waves without aliasing through a filter. */
export function subtractive(note: Note, { oscillators, filter, envelope, vibrato }: Subtractive): Float32Array {
  const samples = new Float32Array(lengthOf(note, envelope.release))
  const phases = oscillators.map(() => note.random.float())
  const steps = oscillators.map(({ cents }) => (note.hertz * 2 ** (cents / 1200)) / studioRate)
  let bend = 1
  let [g, k, state1, state2] = [0, 2, 0, 0]
  for (let i = 0; i < samples.length; i++) {
    if (i % controlStep === 0) {
      const t = i / studioRate
      if (vibrato) {
        const depth = vibrato.cents * Math.min(1, Math.max(0, (t - vibrato.afterSeconds) * 3))
        bend = 2 ** ((depth * Math.sin(2 * Math.PI * vibrato.hertz * t)) / 1200)
      }
      if (filter) {
        const { base, tracking, rise, fallSeconds, resonance } = filter
        const moved = fallSeconds > 0 ? Math.exp(-t / fallSeconds) : 1 - Math.exp(t / fallSeconds)
        const hertz = Math.min(mostHertz, base + tracking * note.hertz + rise * moved)
        g = Math.tan((Math.PI * hertz) / studioRate)
        k = 2 - 1.8 * resonance
      }
    }
    let sum = 0
    for (let o = 0; o < oscillators.length; o++) {
      const { shape, level } = oscillators[o] as { shape: Shape; level: number }
      const step = (steps[o] as number) * bend
      let phase = (phases[o] as number) + step
      if (phase >= 1) phase -= 1
      phases[o] = phase
      sum += level * wave(shape, phase, step)
    }
    if (filter) {
      // A state variable filter, trapezoidal: stable while the cutoff moves.
      const high = (sum - (g + k) * state1 - state2) / (1 + g * (g + k))
      const band = g * high + state1
      const low = g * band + state2
      state1 = g * high + band
      state2 = g * band + low
      sum = low
    }
    samples[i] = sum * note.velocity * envelopeAt(i, note.seconds, envelope)
  }
  return fadeEnd(samples)
}

interface FrequencyModulation {
  readonly operators: readonly {
    readonly carrier: number
    readonly modulator: number
    readonly index: number
    readonly indexFall: number
    readonly level: number
    readonly fall: number
  }[]
  readonly tremolo: { readonly hertz: number; readonly depth: number } | null
  readonly release: number
}

/** Sines whose phases are moved by other sines; falls are in seconds. */
export function frequencyModulation(note: Note, { operators, tremolo, release }: FrequencyModulation): Float32Array {
  const samples = new Float32Array(lengthOf(note, release))
  const omega = (2 * Math.PI * note.hertz) / studioRate
  for (const { carrier, modulator, index, indexFall, level, fall } of operators) {
    if (modulator * note.hertz > mostHertz) continue
    const [indexStep, levelStep] = [decayStep(indexFall), decayStep(fall)]
    let [depth, gain] = [index, level * note.velocity]
    for (let i = 0; i < samples.length; i++) {
      const t = omega * i
      samples[i] = (samples[i] as number) + gain * Math.sin(carrier * t + depth * Math.sin(modulator * t))
      depth *= indexStep
      gain *= levelStep
    }
  }
  return finishStruck(samples, note, tremolo, release)
}

interface Additive {
  readonly partials: readonly { readonly ratio: number; readonly level: number; readonly fall: number }[]
  readonly tremolo: { readonly hertz: number; readonly depth: number } | null
  readonly release: number
  /** Level of the noise of the hammer or finger. */
  readonly knock: number
}

/** Partials that ring and die, each at its own pace; falls are in seconds. */
export function additive(note: Note, { partials, tremolo, release, knock }: Additive): Float32Array {
  const samples = new Float32Array(lengthOf(note, release))
  for (const { ratio, level, fall } of partials) {
    const hertz = note.hertz * ratio
    if (hertz > mostHertz) continue
    // A damped resonator: two multiplications a sample make a dying sine.
    const radius = decayStep(fall)
    const omega = (2 * Math.PI * hertz) / studioRate
    const [near, far] = [2 * radius * Math.cos(omega), -radius * radius]
    let [before, now] = [0, level * note.velocity * Math.sin(omega)]
    for (let i = 0; i < samples.length; i++) {
      samples[i] = (samples[i] as number) + now
      const next = near * now + far * before
      before = now
      now = next
    }
  }
  let [gain, smooth] = [knock * note.velocity, 0]
  for (let i = 0; i < Math.min(samples.length, studioRate * 0.05); i++) {
    smooth += 0.25 * (note.random.range(-1, 1) - smooth)
    samples[i] = (samples[i] as number) + gain * smooth
    gain *= 0.9985
  }
  return finishStruck(samples, note, tremolo, release)
}

interface Pluck {
  /** 0 … 1. */
  readonly brightness: number
  readonly sustainSeconds: number
  readonly release: number
}

/** A string after Karplus and Strong: noise that goes round in a delay and loses its edge. */
export function pluck(note: Note, { brightness, sustainSeconds, release }: Pluck): Float32Array {
  const samples = new Float32Array(lengthOf(note, release))
  // The averaging of two samples in the loop costs half a sample.
  const period = studioRate / note.hertz - 0.5
  const whole = Math.floor(period)
  const part = period - whole
  const line = new Float32Array(whole + 1)
  let smooth = 0
  for (let i = 0; i < line.length; i++) {
    smooth += brightness * (0.6 + 0.4 * note.velocity) * (note.random.range(-1, 1) - smooth)
    line[i] = smooth * 1.6
  }
  const loss = 10 ** ((-3 / sustainSeconds / note.hertz) * 1)
  let at = 0
  let last = 0
  for (let i = 0; i < samples.length; i++) {
    const next = at + 1 >= line.length ? 0 : at + 1
    const value = (1 - part) * (line[next] as number) + part * (line[at] as number)
    line[at] = 0.5 * loss * (value + last)
    last = value
    at = next
    samples[i] = value * note.velocity
  }
  return finishStruck(samples, note, null, release)
}

function wave(shape: Shape, phase: number, step: number): number {
  switch (shape) {
    case 'sine':
      return Math.sin(2 * Math.PI * phase)
    case 'triangle':
      return 1 - 4 * Math.abs(phase - 0.5)
    case 'saw':
      return 2 * phase - 1 - corner(phase, step)
    case 'square':
      return rectangle(phase, step, 0.5)
    case 'pulse':
      return rectangle(phase, step, 0.25)
  }
}

function rectangle(phase: number, step: number, width: number): number {
  const other = phase + 1 - width
  return (phase < width ? 1 : -1) + corner(phase, step) - corner(other >= 1 ? other - 1 : other, step) + 1 - 2 * width
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

function envelopeAt(i: number, seconds: number, envelope: Subtractive['envelope']): number {
  const t = i / studioRate
  const held = Math.min(t, seconds)
  const { attack, decay, sustain, release } = envelope
  const level = held < attack ? held / attack : sustain + (1 - sustain) * Math.exp((attack - held) / (decay / 3))
  return t <= seconds ? level : level * Math.exp((seconds - t) / (release / 4))
}

/** What is struck is damped when its key is let go. */
function finishStruck(
  samples: Float32Array,
  note: Note,
  tremolo: { hertz: number; depth: number } | null,
  release: number,
): Float32Array {
  const start = Math.round(note.seconds * studioRate)
  const step = decayStep(release / 4)
  let gain = 1
  for (let i = start; i < samples.length; i++) {
    samples[i] = (samples[i] as number) * gain
    gain *= step
  }
  if (tremolo) {
    const omega = (2 * Math.PI * tremolo.hertz) / studioRate
    for (let i = 0; i < samples.length; i++)
      samples[i] = (samples[i] as number) * (1 - tremolo.depth * (0.5 - 0.5 * Math.cos(omega * i)))
  }
  // No click at the beginning.
  for (let i = 0; i < Math.min(48, samples.length); i++) samples[i] = (samples[i] as number) * (i / 48)
  return fadeEnd(samples)
}

function lengthOf(note: Note, release: number): number {
  return Math.ceil((note.seconds + release) * studioRate)
}

/** The factor of each sample for a fall to 1/e in this time. */
function decayStep(seconds: number): number {
  return Math.exp(-1 / (seconds * studioRate))
}

function fadeEnd(samples: Float32Array): Float32Array {
  const fade = Math.min(samples.length, 960)
  for (let i = 0; i < fade; i++) {
    const at = samples.length - 1 - i
    samples[at] = (samples[at] as number) * (i / fade)
  }
  return samples
}

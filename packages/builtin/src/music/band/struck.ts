// Struck and plucked tones, which decay: modulated sines, ringing partials, strings.

import { studioRate } from '../../sound/sound.ts'
import { allocate, createHiss, damp, decayStep, mostHertz, type Note } from './note.ts'

interface Operator {
  /** Frequencies as multiples of the note's. */
  readonly carrier: number
  readonly modulator: number
  /** How far the modulator moves the carrier's phase, and the seconds in which that falls. */
  readonly index: number
  readonly indexFall: number
  readonly level: number
  readonly fall: number
}

/** Sines whose phases are moved by other sines; falls are in seconds. */
export function modulate(note: Note, operators: readonly Operator[], release: number): Float32Array {
  const samples = allocate(note, release)
  const omega = (2 * Math.PI * note.hertz) / studioRate
  for (const { carrier, modulator, index, indexFall, level, fall } of operators) {
    if (modulator * note.hertz > mostHertz) continue
    const [indexStep, levelStep] = [decayStep(indexFall), decayStep(fall)]
    let [depth, gain] = [index, level * note.velocity]
    const count = Math.min(samples.length, Math.ceil(9 * fall * studioRate))
    for (let i = 0; i < count; i++) {
      const t = omega * i
      samples[i] = (samples[i] as number) + gain * Math.sin(carrier * t + depth * Math.sin(modulator * t))
      depth *= indexStep
      gain *= levelStep
    }
  }
  return damp(samples, note, release)
}

interface Partial {
  readonly ratio: number
  readonly level: number
  readonly fall: number
}

/**
 * Partials that ring and die, each at its own pace; falls are in seconds.
 * @param knock level of the noise of the hammer or finger
 */
export function ring(note: Note, partials: readonly Partial[], release: number, knock: number): Float32Array {
  const samples = allocate(note, release)
  const hiss = createHiss(note.seed)
  for (const { ratio, level, fall } of partials) {
    const hertz = note.hertz * ratio
    if (hertz > mostHertz) continue
    // A damped resonator: two multiplications a sample make a dying sine.
    const radius = decayStep(fall)
    const omega = (2 * Math.PI * hertz) / studioRate
    const [near, far] = [2 * radius * Math.cos(omega), -radius * radius]
    let [before, now] = [0, level * note.velocity * Math.sin(omega)]
    const count = Math.min(samples.length, Math.ceil(9 * fall * studioRate))
    for (let i = 0; i < count; i++) {
      samples[i] = (samples[i] as number) + now
      const next = near * now + far * before
      before = now
      now = next
    }
  }
  let [gain, smooth] = [knock * note.velocity, 0]
  for (let i = 0; i < Math.min(samples.length, studioRate * 0.05); i++) {
    smooth += 0.25 * (hiss() - smooth)
    samples[i] = (samples[i] as number) + gain * smooth
    gain *= 0.9985
  }
  return damp(samples, note, release)
}

/** How a string is made and plucked. */
export interface Pluck {
  /** Of the finger or plectrum: how high the harmonics go that it leaves; soft notes are darker. */
  readonly brightness: number
  /** Until the note has died away by 60 dB, at 220 Hz; higher ones are shorter. */
  readonly seconds: number
  /** The same for its tenth harmonic. */
  readonly edgeSeconds: number
  /** Where it is plucked, as a part of its length. */
  readonly place: number
  readonly release: number
}

/** A string after Karplus and Strong, as Jaffe and Smith extended it: noise that goes round and loses its edge. */
export function pluck(note: Note, { brightness, seconds, edgeSeconds, place, release }: Pluck): Float32Array {
  const samples = allocate(note, release)
  const shorter = (220 / note.hertz) ** 0.4
  const gain = 10 ** (-3 / (seconds * shorter * note.hertz))
  const edgeGain = 10 ** (-3 / (edgeSeconds * shorter * note.hertz)) / gain
  const loss = lossOf(edgeGain, Math.min(0.9 * Math.PI, (20 * Math.PI * note.hertz) / studioRate))
  // The filter of the loop delays the note; what is left of a sample is made by an all pass.
  const omega = (2 * Math.PI * note.hertz) / studioRate
  const delay = Math.atan2(loss * Math.sin(omega), 1 - loss * Math.cos(omega)) / omega
  const period = studioRate / note.hertz - delay
  const whole = Math.max(2, Math.floor(period - 0.3))
  const part = period - whole
  const allPass = (1 - part) / (1 + part)
  const line = excite(note, whole, brightness, place)
  let [at, smooth, passedIn, passedOut] = [0, 0, 0, 0]
  for (let i = 0; i < samples.length; i++) {
    const value = line[at] as number
    smooth = gain * (1 - loss) * value + loss * smooth
    passedOut = allPass * (smooth - passedOut) + passedIn
    passedIn = smooth
    line[at] = passedOut
    if (++at === whole) at = 0
    samples[i] = value * note.velocity
  }
  return damp(samples, note, release)
}

/** The feedback of a one-pole low pass that has this gain at a frequency, in radians a sample. */
function lossOf(gain: number, omega: number): number {
  const power = gain * gain
  const rest = 1 - power
  if (rest < 1e-9) return 0
  const middle = 1 - power * Math.cos(omega)
  return (middle - Math.sqrt(middle * middle - rest * rest)) / rest
}

/** A period of noise as a pluck leaves it: harmonics that have a node at its place are missing. */
function excite(note: Note, length: number, brightness: number, place: number): Float32Array {
  const hiss = createHiss(note.seed)
  const cutoff = brightness * (0.5 + 0.5 * note.velocity) * (600 + 6 * note.hertz)
  const edge = 1 - Math.exp((-2 * Math.PI * cutoff) / studioRate)
  const noise = new Float32Array(length)
  for (let i = 0; i < length; i++) noise[i] = hiss()
  // Through a low pass twice round, so that the beginning fits the end.
  let [once, twice] = [0, 0]
  for (let i = 0; i < 3 * length; i++) {
    const at = i % length
    once += edge * ((noise[at] as number) - once)
    twice += edge * (once - twice)
    if (i >= 2 * length) noise[at] = twice
  }
  const shift = Math.max(1, Math.round(place * length))
  const plucked = noise.map((value, i) => value - (noise[(i + length - shift) % length] as number))
  const mean = plucked.reduce((sum, value) => sum + value, 0) / length
  const power = Math.sqrt(plucked.reduce((sum, value) => sum + (value - mean) ** 2, 0) / length)
  return plucked.map((value) => (0.5 * (value - mean)) / Math.max(power, 1e-6))
}

// Tones that are struck or plucked and then die away: modulated sines, ringing partials, strings.

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
  /** Of the finger or plectrum, 0 … 1; soft notes are darker. */
  readonly brightness: number
  /** How much of its edge the string loses with each period, 0 … 0.5. */
  readonly loss: number
  /** Until it has died away by 60 dB. */
  readonly seconds: number
  /** Where it is plucked, as a part of its length. */
  readonly place: number
  readonly release: number
}

/** A string after Karplus and Strong, as Jaffe and Smith extended it: noise that goes round and loses its edge. */
export function pluck(note: Note, { brightness, loss, seconds, place, release }: Pluck): Float32Array {
  const samples = allocate(note, release)
  const period = studioRate / note.hertz
  // The filter of the loop delays by about its loss; what is left of a sample is made by an all pass.
  const whole = Math.max(2, Math.floor(period - loss - 0.3))
  const part = period - loss - whole
  const allPass = (1 - part) / (1 + part)
  const line = excite(note, whole, brightness * (0.45 + 0.55 * note.velocity), place)
  const gain = 10 ** (-3 / (seconds * note.hertz))
  let [at, last, passedIn, passedOut] = [0, 0, 0, 0]
  for (let i = 0; i < samples.length; i++) {
    const value = line[at] as number
    const smooth = gain * ((1 - loss) * value + loss * last)
    last = value
    passedOut = allPass * (smooth - passedOut) + passedIn
    passedIn = smooth
    line[at] = passedOut
    if (++at === whole) at = 0
    samples[i] = value * note.velocity
  }
  return damp(samples, note, release)
}

/** A period of noise as a pluck leaves it: harmonics that have a node at its place are missing. */
function excite(note: Note, length: number, brightness: number, place: number): Float32Array {
  const hiss = createHiss(note.seed)
  const edge = Math.min(1, 0.08 + brightness)
  const noise = new Float32Array(length)
  let smooth = 0
  // Twice round, so that the beginning fits the end.
  for (let i = 0; i < 2 * length; i++) {
    smooth += edge * (hiss() - smooth)
    noise[i % length] = smooth
  }
  const shift = Math.max(1, Math.round(place * length))
  const plucked = noise.map((value, i) => value - (noise[(i + length - shift) % length] as number))
  const mean = plucked.reduce((sum, value) => sum + value, 0) / length
  const power = Math.sqrt(plucked.reduce((sum, value) => sum + (value - mean) ** 2, 0) / length)
  return plucked.map((value) => (0.5 * (value - mean)) / Math.max(power, 1e-6))
}

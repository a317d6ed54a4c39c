// Another sample rate, by a windowed sinc: flat up to nine tenths of the band, at least 90 dB down beyond it.

import { mapChannels, type Sound } from './sound.ts'

const zeroCrossings = 32
const kaiserBeta = 9.5
// Leaves a tenth of the band for the filter to fall in.
const passband = 0.95

/** The same sound at another rate. Rates are whole numbers; the filter is computed once for each of their phases. */
export function resample(sound: Sound, sampleRate: number): Sound {
  if (sound.sampleRate === sampleRate) return sound
  const shared = greatestCommonDivisor(sound.sampleRate, sampleRate)
  const [up, down] = [sampleRate / shared, sound.sampleRate / shared]
  const phases = createPhases(up, down)
  return { ...mapChannels(sound, (samples) => convert(samples, up, down, phases)), sampleRate }
}

function convert(samples: Float32Array, up: number, down: number, phases: readonly Float32Array[]): Float32Array {
  const length = Math.ceil((samples.length * up) / down)
  const converted = new Float32Array(length)
  const half = (phases[0] as Float32Array).length / 2
  for (let i = 0; i < length; i++) {
    const filter = phases[(i * down) % up] as Float32Array
    const first = Math.floor((i * down) / up) - half + 1
    const from = Math.max(0, -first)
    const to = Math.min(filter.length, samples.length - first)
    let sum = 0
    for (let tap = from; tap < to; tap++) sum += (samples[first + tap] as number) * (filter[tap] as number)
    converted[i] = sum
  }
  return converted
}

function createPhases(up: number, down: number): Float32Array[] {
  const cutoff = passband * Math.min(1, up / down)
  const half = Math.ceil(zeroCrossings / cutoff)
  return Array.from({ length: up }, (_, phase) => {
    const filter = Float64Array.from({ length: 2 * half }, (_, tap) => {
      const distance = tap - half + 1 - phase / up
      return cutoff * sinc(cutoff * distance) * kaiser(distance / half)
    })
    const total = filter.reduce((sum, weight) => sum + weight, 0)
    return Float32Array.from(filter, (weight) => weight / total)
  })
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(kaiserBeta * Math.sqrt(1 - x * x)) / bessel(kaiserBeta)
}

/** The modified Bessel function of the first kind and order 0, by its series. */
function bessel(x: number): number {
  let [sum, term] = [1, 1]
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

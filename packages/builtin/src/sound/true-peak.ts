// True peaks, after ITU-R BS.1770: between samples, a converter can make values larger than the samples.

import type { Sound } from './sound.ts'

const reach = 6
/** Nothing between samples this much smaller than a peak reaches it, for any sound that is not made to. */
const quiet = 0.66

// Windowed sincs for a quarter, a half and three quarters of a sample; twelve samples each.
const kernels = [0.25, 0.5, 0.75].map((part) =>
  Float64Array.from({ length: 2 * reach }, (_, n) => {
    const x = n - reach + 1 - part
    const window = 0.5 + 0.5 * Math.cos((Math.PI * x) / (reach + 1))
    return (window * Math.sin(Math.PI * x)) / (Math.PI * x)
  }),
)

/** The largest value from a sample to before the next, without sign; exact where it may exceed `least`. */
export function peakFrom(samples: Float32Array, i: number, least: number): number {
  let peak = Math.abs(samples[i] as number)
  if (Math.max(peak, Math.abs(samples[i + 1] ?? 0)) < quiet * least) return peak
  for (const kernel of kernels) {
    let value = 0
    for (let n = 0; n < 2 * reach; n++) value += (kernel[n] as number) * (samples[i + n - reach + 1] ?? 0)
    peak = Math.max(peak, Math.abs(value))
  }
  return peak
}

/** The largest value of a sound, also between its samples, without sign. */
export function truePeakOf(sound: Sound): number {
  let peak = 0
  for (const samples of sound.channels)
    for (let i = 0; i < samples.length; i++) peak = Math.max(peak, peakFrom(samples, i, peak))
  return peak
}

// From floating point to 16 bits, with a little noise, so that what is quiet fades out instead of crackling.

import type { Sound } from './sound.ts'

const fullScale = 32_767

/** The samples from `first` to before `end`, channels interleaved. The noise at a place is always the same. */
export function toInt16(sound: Sound, first: number, end: number): Int16Array {
  const width = sound.channels.length
  const data = new Int16Array((end - first) * width)
  sound.channels.forEach((samples, channel) => {
    for (let i = first; i < end; i++) {
      const sample = samples[i] as number
      // Silence stays silence. Two uniform numbers make the noise triangular: its level does not follow the sound's.
      const noise = sample === 0 ? 0 : uniform(i * 4 + channel * 2) - uniform(i * 4 + channel * 2 + 1)
      data[(i - first) * width + channel] = Math.max(
        -32_768,
        Math.min(fullScale, Math.round(sample * fullScale + noise)),
      )
    }
  })
  return data
}

/** 0 … 1, by an integer hash. */
function uniform(place: number): number {
  let hash = Math.imul(place ^ (place >>> 16), 0x7feb352d)
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b)
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000
}

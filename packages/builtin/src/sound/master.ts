// The last step of every sound: brings it to the usual loudness and keeps its peaks below the ceiling.

import { measureLoudness } from './loudness.ts'
import { fromDecibels, type Sound } from './sound.ts'
import { peakFrom } from './true-peak.ts'

const lookAheadSeconds = 0.004
const releaseSeconds = 0.12
const mostGainDecibels = 40

export interface Mastering {
  /** Integrated loudness to reach, in LUFS. */
  readonly loudness: number
  /** Nothing is larger than this, also between samples, in dB of full scale; lossy codecs need some room above it. */
  readonly ceiling: number
}

/**
 * Brings a sound to a loudness, in place, since a long one takes much memory; peaks that would pass the ceiling are turned
 * down smoothly, both channels alike.
 */
export function master(sound: Sound, { loudness, ceiling }: Mastering): void {
  // The limiter makes the sound quieter, so the gain is corrected twice; more rounds change less than can be heard.
  for (let round = 0; round < 3; round++) {
    const gain = Math.min(mostGainDecibels, loudness - measureLoudness(sound))
    if (Math.abs(gain) < 0.1) return
    const factor = fromDecibels(gain)
    for (const samples of sound.channels)
      for (let i = 0; i < samples.length; i++) samples[i] = (samples[i] as number) * factor
    limit(sound, fromDecibels(ceiling))
  }
}

/** Holds every peak below `ceiling`, in place: the gain falls before a peak comes and recovers slowly after it. */
function limit(sound: Sound, ceiling: number): void {
  const needed = neededGains(sound, ceiling)
  if (needed === null) return
  const gains = smooth(holdMinimum(needed, sound.sampleRate), sound.sampleRate)
  for (const samples of sound.channels)
    for (let i = 0; i < samples.length; i++) samples[i] = clamp((samples[i] as number) * (gains[i] as number), ceiling)
}

/** The gain that each sample, and what is between it and the next, can bear; null where nothing is too loud. */
function neededGains(sound: Sound, ceiling: number): Float32Array | null {
  const gains = new Float32Array(sound.channels[0]?.length ?? 0).fill(1)
  let isNeeded = false
  for (const samples of sound.channels) {
    for (let i = 0; i < samples.length; i++) {
      const size = peakFrom(samples, i, ceiling)
      if (size <= ceiling) continue
      isNeeded = true
      const gain = ceiling / size
      gains[i] = Math.min(gains[i] as number, gain)
      if (i + 1 < gains.length) gains[i + 1] = Math.min(gains[i + 1] as number, gain)
    }
  }
  return isNeeded ? gains : null
}

/** The least gain of the time that follows each sample, recovering with the release time. */
function holdMinimum(gains: Float32Array, sampleRate: number): Float32Array {
  const ahead = Math.round(lookAheadSeconds * sampleRate)
  const recovery = Math.exp(-1 / (releaseSeconds * sampleRate))
  const held = new Float32Array(gains.length)
  // Indices whose gains rise from front to back, so the front has the least gain of the window.
  const window: number[] = []
  let [front, next, gain] = [0, 0, 1]
  for (let i = 0; i < gains.length; i++) {
    for (; next < Math.min(gains.length, i + ahead); next++) {
      while (window.length > front && (gains[window.at(-1) as number] as number) >= (gains[next] as number))
        window.pop()
      window.push(next)
    }
    while ((window[front] as number) < i) front++
    const least = gains[window[front] as number] as number
    gain = Math.min(least, 1 - (1 - gain) * recovery)
    held[i] = gain
  }
  return held
}

/** A moving average over the look-ahead, so that the gain has no corner. */
function smooth(gains: Float32Array, sampleRate: number): Float32Array {
  const width = Math.round(lookAheadSeconds * sampleRate)
  const smoothed = new Float32Array(gains.length)
  let sum = width
  for (let i = 0; i < gains.length; i++) {
    sum += (gains[i] as number) - (i < width ? 1 : (gains[i - width] as number))
    smoothed[i] = sum / width
  }
  return smoothed
}

function clamp(sample: number, ceiling: number): number {
  return Math.min(ceiling, Math.max(-ceiling, sample))
}

// For tests of music: what a signal says of its notes, its tempo and its sound.

import { levelOf } from './sounds.ts'

/** Strength of each pitch class, C first, over notes from one MIDI number to another; they need not be whole. */
export function chroma(samples: Float32Array, from: number, to: number): number[] {
  const strengths = Array.from({ length: 12 }, () => 0)
  for (let pitch = from; pitch <= to; pitch++) {
    const omega = (2 * Math.PI * 440 * 2 ** ((pitch - 69) / 12)) / 48_000
    let [real, imaginary] = [0, 0]
    for (let i = 0; i < samples.length; i++) {
      const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / samples.length)
      real += (samples[i] ?? 0) * window * Math.cos(omega * i)
      imaginary += (samples[i] ?? 0) * window * Math.sin(omega * i)
    }
    const at = Math.round(pitch) % 12
    strengths[at] = (strengths[at] ?? 0) + real * real + imaginary * imaginary
  }
  return strengths
}

/** How bright (zero crossings a second), how many attacks a second, and the shares of bass, of what is below it, and of treble. */
export function describeSound(samples: Float32Array, seconds: number): readonly number[] {
  const part = samples.subarray(0, Math.round(seconds * 48_000))
  let [crossings, low, bass, lower, sub, treble, all] = [0, 0, 0, 0, 0, 0, 0]
  const frames: number[] = []
  for (let i = 1; i < part.length; i++) {
    const [before, now] = [part[i - 1] ?? 0, part[i] ?? 0]
    if (before < 0 !== now < 0) crossings++
    low += 0.015 * (now - low)
    bass += low * low
    lower += 0.005 * (low - lower)
    sub += lower * lower
    treble += (now - before) ** 2
    all += now * now
    if (i % 960 === 0) frames.push(levelOf(part, (i - 960) / 48_000, i / 48_000))
  }
  const attacks = frames.filter((level, i) => i > 1 && level > 1.3 * Math.max(0.01, frames[i - 2] ?? 0)).length
  return [crossings / seconds, (attacks + 1) / seconds, bass / all, sub / all, treble / all]
}

/** Beats a minute, 60 … 200: how far apart attacks are that come again and again. */
export function estimateTempo(samples: Float32Array): number {
  const hop = 240
  const onsets: number[] = []
  let before = 0
  for (let from = 0; from + hop < samples.length; from += hop) {
    let energy = 1e-6
    for (let i = from; i < from + hop; i++) energy += ((samples[i] ?? 0) - 0.9 * (samples[i - 1] ?? 0)) ** 2
    const level = Math.log(energy)
    onsets.push(Math.max(0, level - before))
    before = level
  }
  const mean = onsets.reduce((sum, value) => sum + value, 0) / onsets.length
  const centred = onsets.map((value) => value - mean)
  let [best, strongest] = [0, -Infinity]
  for (let bpm = 60; bpm <= 200; bpm += 0.25) {
    // Four beats and their multiples tell more than one.
    const strength = [1, 2, 4, 8].reduce((sum, beats) => {
      const lag = (beats * 60 * 48_000) / bpm / hop
      const whole = Math.round(lag)
      let product = 0
      for (let i = 0; i + whole < centred.length; i++)
        product += (centred[i] as number) * (centred[i + whole] as number)
      return sum + product / (centred.length - whole)
    }, 0)
    if (strength > strongest) [best, strongest] = [bpm, strength]
  }
  return best
}

// What studios do to a sound. All work in place, on stereo at 48 kHz.

import { fromDecibels, studioRate } from '../../sound/sound.ts'
import { readBetween, type Stereo } from './stereo.ts'

/** Echoes of `from` that go from side to side, darker each time; into `into`, and a little into the room. */
export function addEcho(from: Stereo, into: Stereo, room: Stereo, seconds: number, feedback: number): void {
  const length = Math.max(1, Math.round(seconds * studioRate))
  const [leftLine, rightLine] = [new Float32Array(length), new Float32Array(length)]
  let [leftDark, rightDark, leftBass, rightBass, at] = [0, 0, 0, 0, 0]
  for (let i = 0; i < from.left.length; i++) {
    leftDark += 0.35 * ((leftLine[at] as number) - leftDark)
    rightDark += 0.35 * ((rightLine[at] as number) - rightDark)
    // Each time round it also loses some of its bass, so that echoes do not pile up.
    leftBass += 0.025 * (leftDark - leftBass)
    rightBass += 0.025 * (rightDark - rightBass)
    const [left, right] = [leftDark - leftBass, rightDark - rightBass]
    const dry = 0.5 * ((from.left[i] as number) + (from.right[i] as number))
    leftLine[at] = dry + feedback * right
    rightLine[at] = feedback * left + 0.3 * dry
    into.left[i] = (into.left[i] as number) + left
    into.right[i] = (into.right[i] as number) + right
    room.left[i] = (room.left[i] as number) + 0.25 * left
    room.right[i] = (room.right[i] as number) + 0.25 * right
    at = at + 1 === length ? 0 : at + 1
  }
}

/** Makes room for the kick: the level dips at each time and comes back. */
export function duck(sound: Stereo, times: readonly number[], depth: number, seconds: number): void {
  const length = Math.round(seconds * studioRate)
  for (const [n, time] of times.entries()) {
    const start = Math.round(time * studioRate)
    const next = times[n + 1]
    // A kick that comes before the level is back begins a dip of its own.
    const end = Math.min(
      sound.left.length,
      start + length,
      next === undefined ? Infinity : Math.round(next * studioRate),
    )
    for (let i = start; i < end; i++) {
      const t = (i - start) / length
      const attack = Math.min(1, (i - start) / 240)
      const gain = 1 - depth * attack * (1 - t * t * (3 - 2 * t))
      sound.left[i] = (sound.left[i] as number) * gain
      sound.right[i] = (sound.right[i] as number) * gain
    }
  }
}

/** Two more voices, a little later and out of tune, differently on each side. */
export function chorus(sound: Stereo): void {
  const [depth, hertz, gain] = [0.0028, 0.42, 0.7]
  for (const [samples, offset] of [
    [sound.left, 0],
    [sound.right, 0.5],
  ] as const) {
    const dry = Float32Array.from(samples)
    let delay = 0
    for (let i = 0; i < dry.length; i++) {
      if (i % 16 === 0)
        delay = (0.012 + depth * Math.sin(2 * Math.PI * ((hertz * i) / studioRate + offset))) * studioRate
      samples[i] = (samples[i] as number) * (1 - gain / 2) + gain * readBetween(dry, i - delay)
    }
  }
}

/** The level goes from side to side, as in electric pianos. */
export function tremolo({ left, right }: Stereo): void {
  const [hertz, depth] = [4.4, 0.22]
  for (let i = 0; i < left.length; i++) {
    const side = depth * Math.sin((2 * Math.PI * hertz * i) / studioRate)
    left[i] = (left[i] as number) * (1 + side)
    right[i] = (right[i] as number) * (1 - side)
  }
}

/** Holds the whole together: what is loud for longer than a moment is turned down a little, both sides alike. */
export function compress({ left, right }: Stereo): void {
  const [threshold, ratio, attack, release] = [0.14, 2, 0.02, 0.2]
  const block = 16
  const [rise, fall] = [attack, release].map((seconds) => 1 - Math.exp(-block / (seconds * studioRate))) as [
    number,
    number,
  ]
  let [power, gain] = [0, 1]
  for (let from = 0; from < left.length; from += block) {
    const to = Math.min(left.length, from + block)
    let sum = 0
    for (let i = from; i < to; i++) sum += (left[i] as number) ** 2 + (right[i] as number) ** 2
    const now = sum / (2 * (to - from))
    power += (now > power ? rise : fall) * (now - power)
    const level = Math.sqrt(power)
    const next = level > threshold ? (threshold / level) ** (1 - 1 / ratio) : 1
    for (let i = from; i < to; i++) {
      const here = gain + ((next - gain) * (i - from)) / (to - from)
      left[i] = (left[i] as number) * here
      right[i] = (right[i] as number) * here
    }
    gain = next
  }
}

/** Moves the level in steps, each in a moment; levels in dB, from times in seconds on. */
export function fade(
  { left, right }: Stereo,
  steps: readonly { readonly start: number; readonly decibels: number }[],
): void {
  const seconds = 0.15
  let gain = fromDecibels(steps[0]?.decibels ?? 0)
  for (const [n, { start, decibels }] of steps.entries()) {
    const from = Math.round(start * studioRate)
    const to = Math.min(left.length, Math.round((steps[n + 1]?.start ?? Infinity) * studioRate))
    const [before, target] = [gain, fromDecibels(decibels)]
    for (let i = from; i < to; i++) {
      gain = before + (target - before) * Math.min(1, (i - from) / studioRate / seconds)
      left[i] = (left[i] as number) * gain
      right[i] = (right[i] as number) * gain
    }
  }
}

/** Rounds what is loud, as tape and tubes do. */
export function saturate(sound: Stereo, drive: number): void {
  const norm = 1 / Math.tanh(drive)
  for (const samples of [sound.left, sound.right]) {
    for (let i = 0; i < samples.length; i++) samples[i] = Math.tanh((samples[i] as number) * drive) * norm
  }
}

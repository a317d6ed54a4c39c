// What rooms and studios do to a sound. All work on stereo at 48 kHz.

import { studioRate } from '../sound/sound.ts'

/** Left and right, of the same length. */
export interface Stereo {
  readonly left: Float32Array
  readonly right: Float32Array
}

/** Silence. */
export function createStereo(frames: number): Stereo {
  return { left: new Float32Array(frames), right: new Float32Array(frames) }
}

// Lengths without common measure, so that no echo stands out.
const lineSeconds = [0.0297, 0.0371, 0.0411, 0.0437, 0.0533, 0.0599, 0.0671, 0.0733]

/**
 * A room: eight delays that feed one another. Adds the room alone to `into`.
 * @param seconds until it has died away by 60 dB
 * @param darkness 0 … 1; how much of the treble the walls swallow
 */
export function addReverb(from: Stereo, into: Stereo, seconds: number, darkness: number, gain: number): void {
  const scale = 0.7 + 0.3 * Math.min(2, seconds / 2)
  const lines = lineSeconds.map((line) => new Float32Array(Math.round(line * scale * studioRate)))
  const losses = lines.map((line) => 10 ** ((-3 * line.length) / studioRate / seconds))
  const places = new Int32Array(lines.length)
  const dark = new Float32Array(lines.length)
  const out = new Float64Array(lines.length)
  for (let i = 0; i < from.left.length; i++) {
    for (let l = 0; l < 8; l++) {
      const value = (lines[l] as Float32Array)[places[l] as number] as number
      dark[l] = value + darkness * ((dark[l] as number) - value)
      out[l] = (dark[l] as number) * (losses[l] as number)
    }
    into.left[i] =
      (into.left[i] as number) +
      gain * ((out[0] as number) - (out[2] as number) + (out[4] as number) - (out[6] as number))
    into.right[i] =
      (into.right[i] as number) +
      gain * ((out[1] as number) - (out[3] as number) + (out[5] as number) - (out[7] as number))
    mixLines(out)
    const [left, right] = [from.left[i] as number, from.right[i] as number]
    for (let l = 0; l < 8; l++) {
      const line = lines[l] as Float32Array
      const place = places[l] as number
      line[place] = (out[l] as number) + (l % 2 === 0 ? left : right) * 0.5
      places[l] = place + 1 === line.length ? 0 : place + 1
    }
  }
}

/** Every line into every other, without gain (a Hadamard matrix). */
function mixLines(lines: Float64Array): void {
  for (let half = 1; half < 8; half *= 2) {
    for (let i = 0; i < 8; i++) {
      if (i & half) continue
      const [a, b] = [lines[i] as number, lines[i + half] as number]
      lines[i] = a + b
      lines[i + half] = a - b
    }
  }
  const norm = 1 / Math.sqrt(8)
  for (let i = 0; i < 8; i++) lines[i] = (lines[i] as number) * norm
}

/** Echoes that go from side to side, darker each time. Works in place. */
export function echo(sound: Stereo, seconds: number, feedback: number, gain: number): void {
  const length = Math.max(1, Math.round(seconds * studioRate))
  const [leftLine, rightLine] = [new Float32Array(length), new Float32Array(length)]
  let [leftDark, rightDark, at] = [0, 0, 0]
  for (let i = 0; i < sound.left.length; i++) {
    leftDark += 0.35 * ((leftLine[at] as number) - leftDark)
    rightDark += 0.35 * ((rightLine[at] as number) - rightDark)
    const dry = 0.5 * ((sound.left[i] as number) + (sound.right[i] as number))
    leftLine[at] = dry + feedback * rightDark
    rightLine[at] = feedback * leftDark
    sound.left[i] = (sound.left[i] as number) + gain * leftDark
    sound.right[i] = (sound.right[i] as number) + gain * rightDark
    at = at + 1 === length ? 0 : at + 1
  }
}

/** Makes room for the kick: the level dips at each time and comes back. Works in place. */
export function duck(sound: Stereo, times: readonly number[], depth: number, seconds: number): void {
  for (const time of times) {
    const start = Math.round(time * studioRate)
    const length = Math.round(seconds * studioRate)
    for (let i = 0; i < length && start + i < sound.left.length; i++) {
      const t = i / length
      const attack = Math.min(1, i / 240)
      const gain = 1 - depth * attack * (1 - t * t * (3 - 2 * t))
      sound.left[start + i] = (sound.left[start + i] as number) * gain
      sound.right[start + i] = (sound.right[start + i] as number) * gain
    }
  }
}

/** A voice that follows a little later and out of tune, differently on each side. Works in place. */
export function chorus(sound: Stereo, depthSeconds: number, hertz: number, gain: number): void {
  for (const [samples, offset] of [
    [sound.left, 0],
    [sound.right, 0.5],
  ] as const) {
    const dry = Float32Array.from(samples)
    for (let i = 0; i < dry.length; i++) {
      const delay = (0.012 + depthSeconds * Math.sin(2 * Math.PI * ((hertz * i) / studioRate + offset))) * studioRate
      samples[i] = (samples[i] as number) * (1 - gain / 2) + gain * readBetween(dry, i - delay)
    }
  }
}

/** An old tape: the pitch drifts, the treble is gone, the dust crackles. Works in place. */
export function age(sound: Stereo, random: () => number): void {
  for (const samples of [sound.left, sound.right]) {
    const dry = Float32Array.from(samples)
    for (let i = 0; i < dry.length; i++) {
      const t = i / studioRate
      const drift = 0.0011 * Math.sin(2 * Math.PI * 0.55 * t) + 0.00012 * Math.sin(2 * Math.PI * 6.3 * t)
      samples[i] = readBetween(dry, i - (0.004 + drift) * studioRate)
    }
  }
  let [left, right] = [0, 0]
  for (let i = 0; i < sound.left.length; i++) {
    if (random() < 9 / studioRate) {
      const size = 0.05 * random() ** 3
      if (random() < 0.5) left += size
      else right -= size
    }
    left *= 0.8
    right *= 0.8
    const hiss = 0.0012 * (random() - 0.5)
    sound.left[i] = (sound.left[i] as number) + left + hiss
    sound.right[i] = (sound.right[i] as number) + right - hiss
  }
}

/** Rounds what is loud, as tape and tubes do. Works in place. */
export function saturate(sound: Stereo, drive: number): void {
  const norm = 1 / Math.tanh(drive)
  for (const samples of [sound.left, sound.right]) {
    for (let i = 0; i < samples.length; i++) samples[i] = Math.tanh((samples[i] as number) * drive) * norm
  }
}

function readBetween(samples: Float32Array, place: number): number {
  if (place < 0) return 0
  const first = Math.floor(place)
  const part = place - first
  return (1 - part) * (samples[first] ?? 0) + part * (samples[first + 1] ?? 0)
}

// Two channels of samples, at 48 kHz.

/** Left and right, of the same length. */
export interface Stereo {
  readonly left: Float32Array
  readonly right: Float32Array
}

/** Silence. */
export function createStereo(frames: number): Stereo {
  return { left: new Float32Array(frames), right: new Float32Array(frames) }
}

/** Adds one sound to another. */
export function addTo(into: Stereo, from: Stereo): void {
  addScaled(into, from, 1)
}

/** Adds one sound to another, at a level. */
export function addScaled(into: Stereo, from: Stereo, gain: number): void {
  for (let i = 0; i < from.left.length; i++) {
    into.left[i] = (into.left[i] as number) + gain * (from.left[i] as number)
    into.right[i] = (into.right[i] as number) + gain * (from.right[i] as number)
  }
}

/** A sample between samples; silence before the first. */
export function readBetween(samples: Float32Array, place: number): number {
  if (place < 0) return 0
  const first = place | 0
  const part = place - first
  return (1 - part) * (samples[first] ?? 0) + part * (samples[first + 1] ?? 0)
}

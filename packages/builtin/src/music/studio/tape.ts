// An old tape: the pitch drifts, the treble is gone, the dust crackles.

import { applyFilters, highShelf } from '../../sound/filter.ts'
import { studioRate } from '../../sound/sound.ts'
import { createHiss } from '../band/note.ts'
import { readBetween, type Stereo } from './stereo.ts'

const cracklesPerSecond = 7

/** Ages a sound, in place. */
export function age(sound: Stereo, seed: number): void {
  for (const samples of [sound.left, sound.right]) {
    const dry = applyFilters(samples, [highShelf(studioRate, 6500, -7)])
    for (let i = 0; i < dry.length; i++) {
      const t = i / studioRate
      const drift = 0.0011 * Math.sin(2 * Math.PI * 0.55 * t) + 0.00012 * Math.sin(2 * Math.PI * 6.3 * t)
      samples[i] = readBetween(dry, i - (0.004 + drift) * studioRate)
    }
  }
  const hiss = createHiss(seed)
  let [left, right] = [0, 0]
  for (let i = 0; i < sound.left.length; i++) {
    if ((hiss() + 1) / 2 < cracklesPerSecond / studioRate) {
      const size = 0.05 * ((hiss() + 1) / 2) ** 3
      if (hiss() < 0) left += size
      else right -= size
    }
    left *= 0.8
    right *= 0.8
    const noise = 0.0006 * hiss()
    sound.left[i] = (sound.left[i] as number) + left + noise
    sound.right[i] = (sound.right[i] as number) + right - noise
  }
}

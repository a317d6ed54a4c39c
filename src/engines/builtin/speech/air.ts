// What Flite leaves out: breath and the hiss of s, f and t above 8 kHz, without which speech sounds as through a wall.

import { createRandom } from '../art/random.ts'
import { applyFilters, bandPass, highPass, lowPass } from '../sound/filter.ts'
import { fromDecibels, studioRate } from '../sound/sound.ts'

/**
 * Adds noise above a band, in place, that is as loud from moment to moment as the top of the band. Samples are at the studio's rate.
 * @param top where the band ends, in Hz
 * @param decibels how loud the noise is against the top of the band
 */
export function addAir(samples: Float32Array, top: number, decibels: number): void {
  const upper = applyFilters(samples, [bandPass(studioRate, 0.78 * top, 1.6)])
  // As fast as the voice itself vibrates, so that the noise belongs to it.
  const envelope = applyFilters(upper.map(Math.abs), [lowPass(studioRate, 320), lowPass(studioRate, 320)])
  const { float } = createRandom('breath')
  const noise = Float32Array.from(envelope, (level) => Math.max(0, level) * (2 * float() - 1))
  const shape = [0.94 * top, 0.94 * top, 0.94 * top].map((hertz) => highPass(studioRate, hertz))
  const air = applyFilters(noise, [...shape, lowPass(studioRate, 1.6 * top, 0.6)])
  const gain = fromDecibels(decibels)
  for (let i = 0; i < samples.length; i++) samples[i] = (samples[i] as number) + gain * (air[i] as number)
}

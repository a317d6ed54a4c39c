// Adds what Flite leaves out: breath and the hiss of s, f and t above 8 kHz. Without it speech sounds muffled.

import { createRandom } from '../art/random.ts'
import { applyFilters, highPass, lowPass } from '../sound/filter.ts'
import { fromDecibels, studioRate } from '../sound/sound.ts'

// Fast enough to follow the vibration of the voice, and slow enough to follow its sounds.
const [quick, slow] = [320, 40]
// Where this share of a sound is hiss, all of it goes on above; vowels, which have far less, hardly do.
const hissing = 0.3

/**
 * Adds noise above a band, in place, that follows the top of the band from moment to moment. Samples are at the studio's rate.
 * @param top where the band ends, in Hz
 * @param decibels how loud the noise is against the top of the band where a sound is all hiss
 */
export function addAir(samples: Float32Array, top: number, decibels: number): void {
  const upper = applyFilters(samples, steeply(0.62 * top))
  const envelope = envelopeOf(upper, quick)
  const [high, all] = [envelopeOf(upper, slow), envelopeOf(samples, slow)]
  const { float } = createRandom('breath')
  const noise = Float32Array.from(envelope, (level, i) => {
    const share = Math.max(0, high[i] as number) / (Math.abs(all[i] as number) + 1e-6)
    return Math.max(0, level) * Math.min(1, Math.sqrt(share / hissing)) * (2 * float() - 1)
  })
  const air = applyFilters(noise, [...steeply(0.94 * top), lowPass(studioRate, 1.35 * top, 0.6)])
  const gain = fromDecibels(decibels)
  for (let i = 0; i < samples.length; i++) samples[i] = (samples[i] as number) + gain * (air[i] as number)
}

function steeply(hertz: number): ReturnType<typeof highPass>[] {
  return Array.from({ length: 3 }, () => highPass(studioRate, hertz))
}

function envelopeOf(samples: Float32Array, hertz: number): Float32Array {
  return applyFilters(samples.map(Math.abs), [lowPass(studioRate, hertz, 0.5)])
}

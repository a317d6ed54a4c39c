// Drums: each stroke is made once for a piece and used wherever it falls.

import type { Random } from '../art/random.ts'
import { applyFilters, bandPass, highPass, lowPass } from '../sound/filter.ts'
import { studioRate } from '../sound/sound.ts'

/** The name of a drum. */
export type DrumName =
  | 'kick'
  | 'snare'
  | 'clap'
  | 'hat'
  | 'openHat'
  | 'rim'
  | 'shaker'
  | 'ride'
  | 'crash'
  | 'tom'
  | 'brush'

/** How a kit sounds. */
export type KitName = 'electronic' | 'soft' | 'acoustic' | 'chip' | 'orchestral'

interface Kick {
  readonly from: number
  readonly to: number
  readonly bendSeconds: number
  readonly fall: number
  readonly click: number
}

const kicks: Record<KitName, Kick> = {
  electronic: { from: 190, to: 47, bendSeconds: 0.035, fall: 0.17, click: 0.35 },
  soft: { from: 130, to: 52, bendSeconds: 0.03, fall: 0.13, click: 0.12 },
  acoustic: { from: 120, to: 58, bendSeconds: 0.025, fall: 0.1, click: 0.22 },
  chip: { from: 320, to: 40, bendSeconds: 0.03, fall: 0.09, click: 0 },
  orchestral: { from: 95, to: 44, bendSeconds: 0.08, fall: 0.55, click: 0.15 },
}

/** Makes the strokes of a kit. */
export function createKit(kit: KitName, random: Random): Record<DrumName, Float32Array> {
  const noise = (seconds: number, fall: number): Float32Array => createNoise(seconds, fall, kit === 'chip', random)
  const filtered = (samples: Float32Array, filters: readonly Parameters<typeof highPass>[]): Float32Array =>
    applyFilters(
      samples,
      filters.map((parameters) => highPass(...parameters)),
    )
  const kick = createTone(kicks[kit], random)
  const body = createTone({ from: 260, to: 185, bendSeconds: 0.02, fall: 0.07, click: 0 }, random)
  const wires = applyFilters(noise(0.35, kit === 'orchestral' ? 0.16 : kit === 'soft' ? 0.07 : 0.1), [
    highPass(studioRate, 900),
    lowPass(studioRate, kit === 'soft' ? 5000 : 9500),
  ])
  return {
    kick,
    snare: sum(body, 0.55, wires, 0.75),
    clap: applyFilters(createClap(random), [bandPass(studioRate, 1500, 0.8)]),
    hat: filtered(metal(noise(0.09, 0.022), kit), [[studioRate, kit === 'soft' ? 5500 : 7500]]),
    openHat: filtered(metal(noise(0.45, 0.14), kit), [[studioRate, 7000]]),
    rim: sum(
      createTone({ from: 1750, to: 1650, bendSeconds: 0.01, fall: 0.012, click: 0.2 }, random),
      0.5,
      applyFilters(noise(0.04, 0.008), [bandPass(studioRate, 2500, 1)]),
      0.5,
    ),
    shaker: filtered(swell(noise(0.14, 0.035), 0.03), [[studioRate, 5000]]),
    ride: sum(filtered(metal(noise(0.9, 0.3), kit), [[studioRate, 6000]]), 0.5, createPing(3150, 0.35), 0.12),
    crash: filtered(metal(noise(2.2, 0.7), kit), [[studioRate, 3500]]),
    tom: createTone(
      { from: 170, to: 95, bendSeconds: 0.06, fall: kit === 'orchestral' ? 0.4 : 0.16, click: 0.1 },
      random,
    ),
    brush: applyFilters(swell(noise(0.3, 0.09), 0.05), [highPass(studioRate, 1200), lowPass(studioRate, 6500)]),
  }
}

function createTone({ from, to, bendSeconds, fall, click }: Kick, random: Random): Float32Array {
  const samples = new Float32Array(Math.ceil(fall * 6 * studioRate))
  let phase = 0
  for (let i = 0; i < samples.length; i++) {
    const t = i / studioRate
    phase += (to + (from - to) * Math.exp(-t / bendSeconds)) / studioRate
    const strike = t < 0.006 ? click * random.range(-1, 1) * (1 - t / 0.006) : 0
    samples[i] = Math.sin(2 * Math.PI * phase) * Math.exp(-t / fall) * Math.min(1, t / 0.001) + strike
  }
  return fadeOut(samples)
}

function createNoise(seconds: number, fall: number, isCoarse: boolean, random: Random): Float32Array {
  let held = 0
  return fadeOut(
    Float32Array.from({ length: Math.ceil(seconds * studioRate) }, (_, i) => {
      if (!isCoarse || i % 4 === 0) held = random.range(-1, 1)
      return held * Math.exp(-i / studioRate / fall)
    }),
  )
}

function createClap(random: Random): Float32Array {
  return Float32Array.from({ length: Math.ceil(0.3 * studioRate) }, (_, i) => {
    const t = i / studioRate
    // Three hands, then the room.
    const burst = t < 0.03 ? Math.exp(-(t % 0.01) / 0.003) : Math.exp(-(t - 0.03) / 0.07)
    return 1.6 * random.range(-1, 1) * burst
  })
}

function createPing(hertz: number, fall: number): Float32Array {
  return Float32Array.from({ length: Math.ceil(fall * 4 * studioRate) }, (_, i) => {
    const t = i / studioRate
    return Math.sin(2 * Math.PI * hertz * t) * Math.exp(-t / fall)
  })
}

/** Gives noise the ring of metal: six squares that have no common measure. */
function metal(noise: Float32Array, kit: KitName): Float32Array {
  if (kit === 'chip') return noise
  const rings = [205.3, 304.4, 369.6, 522.7, 800, 1204.4].map((hertz) => (hertz * 4.1) / studioRate)
  return noise.map((sample, i) => {
    const ring = rings.reduce((sum, step) => sum + ((step * i) % 1 < 0.5 ? 1 : -1), 0) / rings.length
    return sample * (0.55 + 0.45 * ring)
  })
}

function swell(samples: Float32Array, seconds: number): Float32Array {
  return samples.map((sample, i) => sample * Math.min(1, i / studioRate / seconds))
}

function sum(a: Float32Array, levelA: number, b: Float32Array, levelB: number): Float32Array {
  return Float32Array.from(
    { length: Math.max(a.length, b.length) },
    (_, i) => levelA * (a[i] ?? 0) + levelB * (b[i] ?? 0),
  )
}

function fadeOut(samples: Float32Array): Float32Array {
  const fade = Math.min(480, samples.length)
  for (let i = 0; i < fade; i++) {
    const at = samples.length - 1 - i
    samples[at] = (samples[at] as number) * (i / fade)
  }
  return samples
}

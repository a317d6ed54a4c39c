// Drum kits: what each drum is made of. A stroke is made a few times for a piece, so that no two in a row are the same.

import { createRandom, type Random } from '../../art/random.ts'
import { applyFilters, bandPass, highPass, lowPass } from '../../sound/filter.ts'
import { studioRate } from '../../sound/sound.ts'
import { noiseOf, reversed, shaped, sum, sweep, toneOf, withMetal } from './drum-sounds.ts'

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
  | 'lowTom'
  | 'brush'
  | 'tambourine'
  | 'conga'
  | 'snap'
  | 'swell'

/** How a kit sounds. */
export type KitName = keyof typeof kits

/** A drum, softly and firmly struck, each a few times. */
export interface Drum {
  readonly soft: readonly Float32Array[]
  readonly firm: readonly Float32Array[]
}

/** A cymbal played backwards reaches its end this many seconds after it began. */
export const swellSeconds = 1.5

interface Kit {
  /** Frequencies from the stroke to what rings, seconds of the bend and of the ring, level of the beater. */
  readonly kick: readonly [from: number, to: number, bend: number, fall: number, click: number]
  /** Frequency and ring of the skin, level and ring of the wires, and between which frequencies they are. */
  readonly snare: {
    readonly skin: number
    readonly skinFall: number
    readonly wires: number
    readonly wiresFall: number
    readonly low: number
    readonly high: number
    /** Seconds after which it is cut off; 0 for never. */
    readonly gate: number
  }
  /** Ring of a closed hat, and below what frequency it has nothing. */
  readonly hat: readonly [fall: number, low: number]
  readonly tom: readonly [hertz: number, fall: number]
  /** Whether noise is as coarse as that of old game consoles. */
  readonly isCoarse: boolean
}

const acoustic: Kit = {
  kick: [118, 58, 0.025, 0.11, 0.2],
  snare: { skin: 190, skinFall: 0.06, wires: 0.7, wiresFall: 0.085, low: 1100, high: 9000, gate: 0 },
  hat: [0.024, 7000],
  tom: [150, 0.2],
  isCoarse: false,
}

const kits = {
  electronic: {
    kick: [210, 48, 0.032, 0.19, 0.35],
    snare: { skin: 200, skinFall: 0.06, wires: 0.8, wiresFall: 0.1, low: 900, high: 11_000, gate: 0 },
    hat: [0.02, 8000],
    tom: [140, 0.18],
    isCoarse: false,
  },
  eighties: {
    kick: [160, 52, 0.03, 0.15, 0.4],
    snare: { skin: 175, skinFall: 0.1, wires: 1, wiresFall: 0.4, low: 500, high: 8500, gate: 0.24 },
    hat: [0.026, 7500],
    tom: [165, 0.24],
    isCoarse: false,
  },
  soft: {
    kick: [125, 52, 0.03, 0.13, 0.1],
    snare: { skin: 180, skinFall: 0.07, wires: 0.6, wiresFall: 0.08, low: 700, high: 4800, gate: 0 },
    hat: [0.02, 5200],
    tom: [130, 0.18],
    isCoarse: false,
  },
  acoustic,
  // Dry and close: funk, reggae.
  tight: {
    ...acoustic,
    kick: [130, 62, 0.02, 0.085, 0.35],
    snare: { skin: 235, skinFall: 0.05, wires: 0.75, wiresFall: 0.065, low: 1300, high: 11_000, gate: 0 },
    hat: [0.018, 7800],
  },
  // As sampled and sped up.
  breaks: {
    ...acoustic,
    kick: [150, 66, 0.02, 0.09, 0.4],
    snare: { skin: 260, skinFall: 0.05, wires: 0.9, wiresFall: 0.09, low: 1500, high: 12_000, gate: 0 },
    hat: [0.02, 6500],
  },
  chip: {
    kick: [320, 40, 0.03, 0.09, 0],
    snare: { skin: 220, skinFall: 0.03, wires: 1, wiresFall: 0.07, low: 900, high: 12_000, gate: 0 },
    hat: [0.018, 6000],
    tom: [260, 0.1],
    isCoarse: true,
  },
  orchestral: {
    kick: [92, 44, 0.08, 0.6, 0.12],
    snare: { skin: 170, skinFall: 0.06, wires: 0.7, wiresFall: 0.12, low: 900, high: 8000, gate: 0 },
    hat: [0.03, 6000],
    tom: [105, 0.45],
    isCoarse: false,
  },
} as const satisfies Record<string, Kit>

/** Makes a drum of a kit. */
export function createDrum(name: KitName, drum: DrumName, seed: string): Drum {
  const random = createRandom(`${drum} ${seed}`)
  const kit: Kit = kits[name]
  // Identical strokes would sound like a machine; drum machines are meant to.
  const count =
    name === 'electronic' || name === 'chip' || drum === 'kick' || drum === 'crash' || drum === 'swell' ? 1 : 3
  const firm = Array.from({ length: count }, () => make[drum](kit, random))
  // Softly struck, a drum is also darker.
  const edge = drum === 'kick' || drum === 'tom' || drum === 'lowTom' ? 900 : 6500
  return {
    firm,
    soft: kit.isCoarse ? firm : firm.map((samples) => applyFilters(samples, [lowPass(studioRate, edge, 0.6)])),
  }
}

const make: Record<DrumName, (kit: Kit, random: Random) => Float32Array> = {
  kick: ({ kick: [from, to, bend, fall, click] }, random) => toneOf({ from, to, bend, fall, click }, random),
  snare: ({ snare, isCoarse }, random) => {
    const skin = {
      from: snare.skin * 1.35,
      to: snare.skin * random.range(0.99, 1.01),
      bend: 0.018,
      fall: snare.skinFall,
      click: 0.1,
    }
    const over = { ...skin, from: snare.skin * 1.9, to: snare.skin * 1.78, fall: 0.6 * snare.skinFall, click: 0 }
    const wires = filter(noiseOf(5 * snare.wiresFall, snare.wiresFall, random, isCoarse), snare.low, snare.high)
    const whole = sum([toneOf(skin, random), 0.5], [toneOf(over, random), 0.2], [wires, snare.wires])
    return snare.gate > 0
      ? shaped(whole, (t) => (t < snare.gate ? 1 : Math.max(0, 1 - (t - snare.gate) / 0.03)))
      : whole
  },
  // Three hands, then the room.
  clap: (_kit, random) =>
    applyFilters(
      shaped(
        noiseOf(0.32, 9, random),
        (t) => 1.7 * (t < 0.03 ? Math.exp(-(t % 0.0105) / 0.003) : Math.exp(-(t - 0.03) / 0.075)),
      ),
      [bandPass(studioRate, 1450, 0.75)],
    ),
  hat: ({ hat: [fall, low], isCoarse }, random) => hat(fall * random.range(0.9, 1.1), low, random, isCoarse),
  openHat: ({ hat: [, low], isCoarse }, random) => hat(0.14, low, random, isCoarse),
  rim: (_kit, random) =>
    sum(
      [toneOf({ from: 1750, to: 1650 * random.range(0.98, 1.02), bend: 0.01, fall: 0.012, click: 0.2 }, random), 0.5],
      [toneOf({ from: 820, to: 800, bend: 0.01, fall: 0.018, click: 0 }, random), 0.25],
      [applyFilters(noiseOf(0.04, 0.008, random), [bandPass(studioRate, 2500, 1)]), 0.5],
    ),
  shaker: (_kit, random) =>
    filter(
      shaped(noiseOf(0.14, 0.035, random), (t) => Math.min(1, t / 0.025)),
      5000,
      14_000,
    ),
  ride: (kit, random) =>
    sum(
      [filter(withMetal(noiseOf(1, 0.25, random, kit.isCoarse), 0.3, 0.65), 4500, 12_000), 0.36],
      [toneOf({ from: 3150, to: 3150 * random.range(0.995, 1.005), bend: 1, fall: 0.4, click: 0 }, random), 0.08],
      [toneOf({ from: 4870, to: 4870, bend: 1, fall: 0.2, click: 0.1 }, random), 0.04],
    ),
  crash: crash,
  tom: ({ tom: [hertz, fall] }, random) =>
    sum([toneOf({ from: 1.5 * hertz, to: hertz, bend: 0.05, fall, click: 0.12 }, random), 0.65]),
  lowTom: ({ tom: [hertz, fall] }, random) =>
    sum([toneOf({ from: 1.05 * hertz, to: 0.7 * hertz, bend: 0.06, fall: 1.25 * fall, click: 0.12 }, random), 0.65]),
  brush: (_kit, random) =>
    filter(
      shaped(noiseOf(0.32, 0.09, random), (t) => Math.min(1, t / 0.045)),
      1200,
      6500,
    ),
  tambourine: (_kit, random) =>
    filter(
      withMetal(
        shaped(noiseOf(0.22, 0.06, random), (t) => 0.6 + 0.4 * Math.sin(190 * t)),
        0.06,
        0.5,
      ),
      6500,
      15_000,
    ),
  conga: (_kit, random) =>
    sum(
      [toneOf({ from: 330, to: 225 * random.range(0.99, 1.01), bend: 0.012, fall: 0.11, click: 0.15 }, random), 0.7],
      [applyFilters(noiseOf(0.03, 0.006, random), [bandPass(studioRate, 1800, 1)]), 0.4],
    ),
  snap: (_kit, random) =>
    applyFilters(
      shaped(
        noiseOf(0.12, 9, random),
        (t) => 1.6 * (t < 0.012 ? Math.exp(-t / 0.002) * 0.5 : Math.exp(-(t - 0.012) / 0.014)),
      ),
      [bandPass(studioRate, 2300, 1.4)],
    ),
  swell: (kit, random) =>
    reversed(
      shaped(crash(kit, random), (t) => Math.max(0, 1 - t / swellSeconds)),
      swellSeconds,
    ),
}

function crash(kit: Kit, random: Random): Float32Array {
  const metal = filter(withMetal(noiseOf(2.6, 0.7, random, kit.isCoarse), 0.8, 0.35), 3200, 15_000)
  return sum([metal, 0.8], [sweep(0.5, 6000, 2500, random), 0.25])
}

function hat(fall: number, low: number, random: Random, isCoarse: boolean): Float32Array {
  const noise = noiseOf(5 * fall, fall, random, isCoarse)
  return applyFilters(isCoarse ? noise : withMetal(noise, fall, 0.55), [highPass(studioRate, low)])
}

function filter(samples: Float32Array, low: number, high: number): Float32Array {
  return applyFilters(samples, [highPass(studioRate, low), lowPass(studioRate, high)])
}

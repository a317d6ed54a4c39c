// The palettes: a ramp from deep to light whose hue wanders, and accents that go with it.

import { type Color, mix, oklch } from '../color.ts'
import type { Random } from './random.ts'

type Triple = readonly [lightness: number, chroma: number, hue: number]

interface PaletteSpec {
  /** Deep to light. */
  readonly ramp: readonly Triple[]
  readonly accents: readonly Triple[]
  /** Whether pictures stand on the deep end rather than on the light one. */
  readonly dark?: boolean
}

const specs = {
  sunset: {
    ramp: [
      [0.2, 0.07, 295],
      [0.34, 0.12, 325],
      [0.52, 0.17, 8],
      [0.68, 0.17, 40],
      [0.82, 0.13, 70],
      [0.94, 0.06, 85],
    ],
    accents: [
      [0.66, 0.2, 28],
      [0.5, 0.19, 350],
      [0.84, 0.15, 80],
      [0.38, 0.13, 310],
      [0.75, 0.14, 50],
    ],
  },
  dawn: {
    ramp: [
      [0.28, 0.05, 265],
      [0.45, 0.07, 280],
      [0.62, 0.08, 320],
      [0.77, 0.08, 15],
      [0.88, 0.06, 50],
      [0.96, 0.03, 80],
    ],
    accents: [
      [0.74, 0.12, 25],
      [0.6, 0.09, 290],
      [0.88, 0.09, 80],
      [0.48, 0.09, 255],
      [0.8, 0.08, 350],
    ],
  },
  ocean: {
    ramp: [
      [0.2, 0.05, 252],
      [0.34, 0.08, 243],
      [0.5, 0.1, 228],
      [0.67, 0.1, 207],
      [0.83, 0.07, 193],
      [0.95, 0.025, 170],
    ],
    accents: [
      [0.7, 0.16, 35],
      [0.86, 0.12, 88],
      [0.62, 0.11, 195],
      [0.38, 0.09, 245],
      [0.8, 0.09, 185],
    ],
  },
  forest: {
    ramp: [
      [0.19, 0.035, 165],
      [0.32, 0.055, 158],
      [0.46, 0.075, 148],
      [0.63, 0.085, 132],
      [0.81, 0.07, 115],
      [0.95, 0.035, 105],
    ],
    accents: [
      [0.56, 0.14, 45],
      [0.8, 0.14, 88],
      [0.5, 0.09, 150],
      [0.36, 0.06, 165],
      [0.72, 0.11, 120],
    ],
  },
  desert: {
    ramp: [
      [0.26, 0.06, 25],
      [0.41, 0.1, 32],
      [0.56, 0.13, 42],
      [0.71, 0.12, 58],
      [0.84, 0.085, 75],
      [0.94, 0.045, 85],
    ],
    accents: [
      [0.58, 0.09, 200],
      [0.6, 0.16, 38],
      [0.84, 0.12, 82],
      [0.37, 0.08, 280],
      [0.72, 0.12, 55],
    ],
  },
  autumn: {
    ramp: [
      [0.22, 0.05, 35],
      [0.37, 0.11, 33],
      [0.53, 0.15, 42],
      [0.68, 0.15, 62],
      [0.82, 0.12, 82],
      [0.95, 0.04, 90],
    ],
    accents: [
      [0.55, 0.18, 33],
      [0.8, 0.16, 82],
      [0.45, 0.09, 130],
      [0.36, 0.09, 20],
      [0.66, 0.16, 55],
    ],
  },
  nordic: {
    ramp: [
      [0.25, 0.03, 248],
      [0.42, 0.04, 242],
      [0.58, 0.042, 232],
      [0.74, 0.035, 222],
      [0.87, 0.02, 210],
      [0.965, 0.01, 100],
    ],
    accents: [
      [0.57, 0.17, 28],
      [0.78, 0.12, 80],
      [0.5, 0.06, 235],
      [0.32, 0.04, 250],
      [0.8, 0.04, 190],
    ],
  },
  night: {
    ramp: [
      [0.13, 0.04, 278],
      [0.22, 0.07, 272],
      [0.34, 0.1, 266],
      [0.5, 0.11, 255],
      [0.69, 0.09, 235],
      [0.9, 0.05, 200],
    ],
    accents: [
      [0.91, 0.09, 92],
      [0.62, 0.15, 300],
      [0.8, 0.11, 200],
      [0.7, 0.15, 350],
      [0.5, 0.13, 265],
    ],
    dark: true,
  },
  neon: {
    ramp: [
      [0.13, 0.05, 292],
      [0.24, 0.12, 293],
      [0.42, 0.2, 303],
      [0.6, 0.24, 338],
      [0.76, 0.17, 15],
      [0.93, 0.08, 85],
    ],
    accents: [
      [0.66, 0.26, 350],
      [0.84, 0.14, 198],
      [0.88, 0.19, 122],
      [0.55, 0.24, 295],
      [0.82, 0.16, 75],
    ],
    dark: true,
  },
  candy: {
    ramp: [
      [0.36, 0.11, 335],
      [0.55, 0.15, 348],
      [0.7, 0.14, 2],
      [0.81, 0.1, 25],
      [0.89, 0.07, 55],
      [0.96, 0.03, 85],
    ],
    accents: [
      [0.68, 0.19, 10],
      [0.84, 0.1, 168],
      [0.76, 0.1, 235],
      [0.91, 0.12, 100],
      [0.66, 0.14, 305],
    ],
  },
  orchard: {
    ramp: [
      [0.27, 0.05, 225],
      [0.44, 0.075, 200],
      [0.6, 0.09, 165],
      [0.76, 0.11, 112],
      [0.87, 0.1, 92],
      [0.955, 0.035, 88],
    ],
    accents: [
      [0.62, 0.19, 32],
      [0.8, 0.15, 82],
      [0.54, 0.09, 200],
      [0.34, 0.06, 240],
      [0.8, 0.09, 15],
    ],
  },
  ink: {
    ramp: [
      [0.17, 0.012, 265],
      [0.33, 0.014, 255],
      [0.52, 0.012, 245],
      [0.71, 0.012, 95],
      [0.86, 0.016, 88],
      [0.955, 0.018, 85],
    ],
    accents: [
      [0.57, 0.19, 31],
      [0.4, 0.02, 255],
      [0.72, 0.07, 80],
      [0.24, 0.015, 260],
      [0.6, 0.03, 220],
    ],
  },
} satisfies Record<string, PaletteSpec>

/** The name of a palette. */
export type PaletteName = keyof typeof specs

/** Every palette there is. */
export const paletteNames = Object.keys(specs) as readonly PaletteName[]

/** The colours of one picture. */
export interface Palette {
  readonly dark: boolean
  /** Colour of the ground that the picture stands on, and of lines that stand out from it. */
  readonly ground: Color
  readonly ink: Color
  /** 0 is deep, 1 is light. */
  shade(t: number): Color
  /** An accent; numbers wrap around. */
  accent(index: number): Color
}

/** Creates a palette; chance turns its hues a little and puts its accents in order. */
export function createPalette(name: PaletteName, random: Random): Palette {
  const spec: PaletteSpec = specs[name]
  const turn = random.range(-7, 7)
  const toColor = ([l, c, h]: Triple): Color => oklch(l, c, h + turn)
  const ramp = spec.ramp.map(toColor)
  const [first, ...rest] = spec.accents.map(toColor)
  // The first accent is the one that the palette was made for.
  const accents = [first as Color, ...random.shuffle(rest)]
  const shade = (t: number): Color => {
    const position = Math.min(1, Math.max(0, t)) * (ramp.length - 1)
    const index = Math.min(ramp.length - 2, Math.floor(position))
    return mix(ramp[index] as Color, ramp[index + 1] as Color, position - index)
  }
  const dark = spec.dark ?? false
  return {
    dark,
    ground: dark ? shade(0.03) : shade(0.97),
    ink: dark ? shade(0.97) : shade(0.03),
    shade,
    accent: (index) => accents[((index % accents.length) + accents.length) % accents.length] as Color,
  }
}

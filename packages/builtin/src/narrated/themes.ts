// The looks of narrated films.

import { createPalette, type PaletteName } from '../art/palette.ts'
import type { Random } from '../art/random.ts'
import { type Color, mix, oklch } from '../color.ts'

/** The colours of a film. */
export interface NarratedTheme {
  /** From one end of the moving background to the other; close enough to each other that words stay readable. */
  readonly ramp: readonly Color[]
  readonly ink: Color
  readonly accent: Color
}

interface Look {
  readonly palette: PaletteName
  readonly light?: boolean
}

const looks = {
  dusk: { palette: 'sunset' },
  ocean: { palette: 'ocean' },
  forest: { palette: 'forest' },
  night: { palette: 'night' },
  ember: { palette: 'autumn' },
  paper: { palette: 'nordic', light: true },
  dawn: { palette: 'dawn', light: true },
} as const satisfies Record<string, Look>

/** Creates a theme. */
export function createTheme(name: string, random: Random): NarratedTheme {
  const look: Look = looks[Object.hasOwn(looks, name) ? (name as keyof typeof looks) : 'dusk']
  const { shade, accent } = createPalette(look.palette, random)
  if (look.light) {
    const paper = mix(shade(0.98), oklch(0.98, 0.01, 90), 0.5)
    const strong = accent(0)
    return {
      ramp: [mix(shade(0.82), paper, 0.4), paper, mix(shade(0.9), paper, 0.3), paper, mix(accent(2), paper, 0.82)],
      ink: mix(shade(0.02), oklch(0.2, 0.02, 260), 0.5),
      accent: { ...strong, l: Math.min(0.56, strong.l) },
    }
  }
  const deep = shade(0.03)
  const bright = [0, 1, 2, 3, 4].map(accent).toSorted((a, b) => b.l - a.l)[0] ?? accent(0)
  return {
    ramp: [deep, mix(deep, shade(0.26), 0.75), shade(0.24), mix(shade(0.3), accent(2), 0.25), shade(0.16)],
    ink: oklch(0.985, 0.006, 90),
    accent: { ...bright, l: Math.max(0.82, bright.l) },
  }
}

// The styles of motion graphics by name.

import type { StyleName as ArtStyle } from '../art/styles.ts'
import type { MotionStyle } from './stage.ts'
import { gradient } from './styles/gradient.ts'
import { landscape } from './styles/landscape.ts'
import { particles } from './styles/particles.ts'
import { tiles } from './styles/tiles.ts'
import { type } from './styles/type.ts'
import { waves } from './styles/waves.ts'

export const motionStyles = { type, gradient, particles, tiles, landscape, waves } as const satisfies Record<
  string,
  MotionStyle
>

/** The name of a style. */
export type MotionStyleName = keyof typeof motionStyles

/** What moves as a painted style looks: so the words that steer a painting steer a film. */
export const motionOf: Readonly<Record<ArtStyle, MotionStyleName>> = {
  ridges: 'landscape',
  forest: 'landscape',
  ink: 'landscape',
  flow: 'particles',
  nebula: 'particles',
  orbits: 'particles',
  aurora: 'gradient',
  glass: 'tiles',
  truchet: 'tiles',
  blocks: 'tiles',
  midcentury: 'tiles',
  waves: 'waves',
}

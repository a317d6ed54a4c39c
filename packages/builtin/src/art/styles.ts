// The styles by name.

import type { Style } from './stage.ts'
import { aurora } from './styles/aurora.ts'
import { blocks } from './styles/blocks.ts'
import { flow } from './styles/flow.ts'
import { forest } from './styles/forest.ts'
import { glass } from './styles/glass.ts'
import { ink } from './styles/ink.ts'
import { midcentury } from './styles/midcentury.ts'
import { nebula } from './styles/nebula.ts'
import { orbits } from './styles/orbits.ts'
import { ridges } from './styles/ridges.ts'
import { truchet } from './styles/truchet.ts'
import { waves } from './styles/waves.ts'

export const styles = {
  ridges,
  flow,
  glass,
  truchet,
  orbits,
  aurora,
  blocks,
  ink,
  nebula,
  midcentury,
  waves,
  forest,
} as const satisfies Record<string, Style>

/** The name of a style. */
export type StyleName = keyof typeof styles

/** Every style there is. */
export const styleNames = Object.keys(styles) as readonly StyleName[]

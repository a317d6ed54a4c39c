// The styles by name.

import type { Style } from './style.ts'
import { ambient } from './styles/ambient.ts'
import { bossa } from './styles/bossa.ts'
import { chamber } from './styles/chamber.ts'
import { chiptune } from './styles/chiptune.ts'
import { cinematic } from './styles/cinematic.ts'
import { dnb } from './styles/dnb.ts'
import { folk } from './styles/folk.ts'
import { funk } from './styles/funk.ts'
import { house } from './styles/house.ts'
import { jazz } from './styles/jazz.ts'
import { lofi } from './styles/lofi.ts'
import { reggae } from './styles/reggae.ts'
import { synthwave } from './styles/synthwave.ts'
import { waltz } from './styles/waltz.ts'

export const styles = {
  ambient,
  lofi,
  house,
  cinematic,
  chiptune,
  waltz,
  jazz,
  synthwave,
  bossa,
  funk,
  dnb,
  folk,
  chamber,
  reggae,
} as const satisfies Record<string, Style>

/** The name of a style. */
export type StyleName = keyof typeof styles

/** Every style there is. */
export const styleNames = Object.keys(styles) as readonly StyleName[]

// The themes by name.

import type { Theme } from './sheet.ts'
import { bauhaus } from './themes/bauhaus.ts'
import { blueprint } from './themes/blueprint.ts'
import { botanical } from './themes/botanical.ts'
import { editorial } from './themes/editorial.ts'
import { midnight } from './themes/midnight.ts'
import { neon } from './themes/neon.ts'
import { sunrise } from './themes/sunrise.ts'
import { swiss } from './themes/swiss.ts'

export const themes: Readonly<Record<string, Theme>> = {
  swiss,
  sunrise,
  midnight,
  editorial,
  bauhaus,
  botanical,
  neon,
  blueprint,
}

// Theme `midnight`: a moon and its rings on deep blue.

import { legibleOn, mix, oklch } from '../../color.ts'
import { circle, defineGlow, defineLinear, rect, ring, waver } from '../shapes.ts'
import { oneLine, type Composition, type Sheet, stackWords, type Theme } from '../sheet.ts'

const deep = oklch(0.17, 0.06, 275)
const blue = oklch(0.31, 0.11, 268)
const moonlight = oklch(0.94, 0.045, 95)
const white = oklch(0.98, 0.008, 260)

export const midnight: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = sheet.accent ?? moonlight
  const margin = unit * 0.08
  const moon = sheet.wide
    ? { x: width - height * 0.36, y: height * 0.42, r: height * 0.19 }
    : { x: width * 0.66, y: height * 0.25, r: unit * 0.17 }
  const reach = sheet.wide ? 2.4 : 3.1
  const backdrop = [
    defineLinear('night', [deep, mix(deep, blue, 0.55), blue]),
    defineGlow('halo', accent, 0.5),
    rect(0, 0, width, height, { gradient: 'night' }),
    ...stars(sheet),
    circle(moon.x, moon.y, moon.r * 2.6, { gradient: 'halo' }),
    ...Array.from({ length: 7 }, (_, i) =>
      ring(moon.x, moon.y, moon.r * (1.22 + ((reach - 1.22) * i) / 6), accent, unit * 0.0022, 0.62 - i * 0.08),
    ),
    circle(moon.x, moon.y, moon.r, accent),
    circle(moon.x - moon.r * 0.3, moon.y - moon.r * 0.22, moon.r * 0.2, deep, 0.09),
    circle(moon.x + moon.r * 0.35, moon.y + moon.r * 0.3, moon.r * 0.28, deep, 0.07),
    circle(moon.x + moon.r * 0.15, moon.y - moon.r * 0.5, moon.r * 0.12, deep, 0.08),
    ...[1.22, 1.82, 2.4].map((orbit, i) =>
      circle(
        moon.x + Math.cos(2.3 + i * 1.9) * moon.r * orbit,
        moon.y + Math.sin(2.3 + i * 1.9) * moon.r * orbit,
        unit * (0.008 + 0.004 * i),
        accent,
      ),
    ),
  ]
  const bottom = height - margin - (sheet.footer === '' ? 0 : unit * 0.085)
  const top = sheet.wide ? margin : moon.y + moon.r * 1.5
  const area = {
    left: margin,
    top,
    width: sheet.wide ? moon.x - moon.r * 1.5 - margin : width - 2 * margin,
    height: bottom - top,
  }
  const words = stackWords(sheet, area, {
    align: 'left',
    vertical: 'bottom',
    title: { weight: 700, color: white, maxSize: 0.17, letterSpacing: -0.035, lineHeight: 1.04 },
    subtitle: { weight: 400, color: oklch(0.86, 0.035, 260), maxSize: 0.036 },
    badge: { weight: 500, color: legibleOn(blue, accent), outline: legibleOn(blue, accent) },
  })
  const place = { left: margin, top: height - margin - unit * 0.034, width: width - 2 * margin, height: unit * 0.034 }
  const footer = oneLine(sheet, sheet.footer, place, 0.024, 500, oklch(0.8, 0.04, 260))
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

function stars({ width, height, unit }: Sheet): string[] {
  return Array.from({ length: 90 }, (_, i) => {
    // The golden ratio spreads them without a pattern that the eye would find.
    const [u, v] = [(i * 0.61803 + 0.13 * waver(i, 1)) % 1, (i * 0.75488 + 0.11 * waver(i, 2)) % 1]
    return circle(
      Math.abs(u) * width,
      Math.abs(v) * height,
      unit * (0.0008 + 0.0014 * Math.abs(waver(i * 3, 5))),
      white,
      0.25 + 0.6 * Math.abs(waver(i * 2, 7)),
    )
  })
}

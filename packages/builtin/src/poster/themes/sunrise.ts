// Theme `sunrise`: a sun over layered hills; the words stand in the sky.

import { type Color, lighten, mix, oklch } from '../../color.ts'
import { circle, defineGlow, defineLinear, defineRadial, path, rect, waver } from '../shapes.ts'
import { oneLine, type Composition, readableOn, type Sheet, stackWords, type Theme } from '../sheet.ts'

// Dark enough for white letters down to two thirds of the way; what is light stands behind the sun.
const sky = [
  oklch(0.26, 0.1, 292),
  oklch(0.32, 0.125, 312),
  oklch(0.37, 0.145, 335),
  oklch(0.43, 0.16, 355),
  oklch(0.49, 0.17, 12),
  oklch(0.66, 0.17, 42),
  oklch(0.87, 0.12, 76),
]
const white = oklch(0.99, 0.01, 80)
const sun = oklch(0.94, 0.09, 88)
const night = oklch(0.2, 0.07, 295)

export const sunrise: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = sheet.accent ?? sun
  const margin = unit * 0.085
  const horizon = height * (sheet.wide ? 0.72 : 0.74)
  const sunAt = sheet.wide
    ? { x: width * 0.79, y: horizon - unit * 0.13, r: unit * 0.22 }
    : { x: width * 0.5, y: horizon - unit * 0.02, r: unit * 0.23 }
  const backdrop = [
    sheet.wide ? defineRadial('sky', [sunAt.x, sunAt.y], sunAt.r * 6.5, sky.toReversed()) : defineLinear('sky', sky),
    defineGlow('glow', accent, 0.75),
    rect(0, 0, width, sheet.wide ? height : horizon + unit * 0.1, { gradient: 'sky' }),
    circle(sunAt.x, sunAt.y, sunAt.r * 2.6, { gradient: 'glow' }),
    circle(sunAt.x, sunAt.y, sunAt.r, accent),
    ...hills(sheet, horizon),
  ]
  const bottom = sheet.wide ? horizon - unit * 0.075 : sunAt.y - sunAt.r - unit * 0.05
  const area = {
    left: margin,
    top: margin,
    width: sheet.wide ? sunAt.x - sunAt.r * 2 - margin : width - 2 * margin,
    height: bottom - margin,
  }
  const words = stackWords(sheet, area, {
    align: sheet.wide ? 'left' : 'center',
    vertical: 'middle',
    title: { weight: 800, color: white, maxSize: 0.185, letterSpacing: -0.03, lineHeight: 1.04 },
    subtitle: { weight: 500, color: oklch(0.97, 0.03, 70), maxSize: 0.038 },
    badge: { weight: 600, color: readableOn(accent), fill: accent },
  })
  const place = {
    left: margin,
    top: height - margin * 0.72 - unit * 0.034,
    width: width - 2 * margin,
    height: unit * 0.034,
  }
  const footer = oneLine(
    sheet,
    sheet.footer,
    place,
    0.025,
    600,
    oklch(0.95, 0.04, 70),
    sheet.wide ? 'left' : 'center',
    0.02,
  )
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

function hills({ width, height, unit }: Sheet, horizon: number): string[] {
  const far = mix(oklch(0.6, 0.16, 20), night, 0.1)
  return Array.from({ length: 5 }, (_, layer) => {
    const t = layer / 4
    const base = horizon + (height - horizon) * t * 0.72
    const steps = 60
    const crest = Array.from({ length: steps + 1 }, (_, i) => {
      const x = (width * i) / steps
      return `${x.toFixed(1)} ${(base - unit * 0.045 * waver((x / unit) * 2.1 + layer * 3.7, layer)).toFixed(1)}`
    })
    const color: Color = mix(far, night, t ** 0.8)
    return (
      defineLinear(`hill${layer}`, [lighten(color, 0.05), lighten(color, -0.04)]) +
      path(`M0 ${height}L${crest.join('L')}L${width} ${height}Z`, { gradient: `hill${layer}` })
    )
  })
}

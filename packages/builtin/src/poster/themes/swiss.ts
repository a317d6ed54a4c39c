// Theme `swiss`: a strict grid, huge grotesque type, one disc.

import { oklch } from '../../color.ts'
import { circle, line, rect } from '../shapes.ts'
import { oneLine, type Composition, readableOn, type Sheet, stackWords, type Theme } from '../sheet.ts'

const paper = oklch(0.965, 0.006, 90)
const black = oklch(0.17, 0.005, 270)
const red = oklch(0.61, 0.22, 29)

export const swiss: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = sheet.accent ?? red
  const margin = unit * 0.07
  const rule = unit * 0.005
  const footerTop = height - margin - unit * 0.03
  const disc = sheet.wide
    ? { x: width - height * 0.3, y: height * 0.5, r: height * 0.36 }
    : { x: width * 0.68, y: Math.max(height - unit * 0.5, height * 0.56 + unit * 0.4), r: unit * 0.37 }
  const columns = sheet.wide ? 6 : 4
  const grid = Array.from({ length: columns + 1 }, (_, i) => margin + ((width - 2 * margin) * i) / columns)
  const backdrop = [
    rect(0, 0, width, height, paper),
    ...grid.map((x) => line([x, 0], [x, height], black, unit * 0.001, 0.13)),
    circle(disc.x, disc.y, disc.r, accent),
    rect(margin, margin, width - 2 * margin, rule, black),
    // With a footer the disc sets behind its rule.
    ...(sheet.footer === ''
      ? []
      : [
          rect(0, footerTop - unit * 0.028, width, height, paper),
          rect(margin, footerTop - unit * 0.028, width - 2 * margin, rule * 0.5, black),
        ]),
  ]
  const top = margin + unit * 0.05
  const area = sheet.wide
    ? { left: margin, top, width: disc.x - disc.r - margin - unit * 0.06, height: footerTop - unit * 0.06 - top }
    : { left: margin, top, width: width - 2 * margin, height: disc.y - disc.r - unit * 0.03 - top }
  const words = stackWords(sheet, area, {
    align: 'left',
    vertical: 'top',
    title: { weight: 800, color: black, maxSize: 0.21, letterSpacing: -0.045, lineHeight: 0.98 },
    subtitle: { weight: 500, color: black, maxSize: 0.036 },
    badge: { weight: 600, color: readableOn(accent), fill: accent, square: true },
  })
  const footer = oneLine(
    sheet,
    sheet.footer,
    { left: margin, top: footerTop - unit * 0.005, width: width - 2 * margin, height: unit * 0.034 },
    0.024,
    600,
    black,
  )
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

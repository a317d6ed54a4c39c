// Theme `bauhaus`: circles, quarters and bars in primary colours.

import { type Color, oklch } from '../../color.ts'
import { circle, polygon, quarter, rect, ring } from '../shapes.ts'
import { oneLine, type Composition, readableOn, type Sheet, stackWords, type Theme } from '../sheet.ts'

const paper = oklch(0.945, 0.025, 88)
const black = oklch(0.2, 0.015, 60)
const blue = oklch(0.45, 0.15, 258)
const yellow = oklch(0.84, 0.165, 86)
const red = oklch(0.6, 0.21, 28)

export const bauhaus: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = sheet.accent ?? red
  const margin = unit * 0.07
  // The picture takes whole squares: above the words, or beside them.
  const [columns, rows] = sheet.wide
    ? [Math.max(2, Math.round((width * 0.42) / (height / 3))), 3]
    : [4, Math.max(2, Math.round((height * 0.46) / (width / 4)))]
  const cell = sheet.wide ? height / rows : width / columns
  const left = sheet.wide ? width - columns * cell : 0
  const backdrop = [rect(0, 0, width, height, paper)]
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      backdrop.push(square(left + column * cell, row * cell, cell, (column * 5 + row * 3) % 12, accent))
  }
  const pictureBottom = sheet.wide ? 0 : rows * cell
  const footerRoom = sheet.footer === '' ? 0 : unit * 0.075
  const area = sheet.wide
    ? { left: margin, top: margin, width: left - 2 * margin, height: height - 2 * margin - footerRoom }
    : {
        left: margin,
        top: pictureBottom + margin * 0.8,
        width: width - 2 * margin,
        height: height - pictureBottom - margin * 1.8 - footerRoom,
      }
  const words = stackWords(sheet, area, {
    align: 'left',
    vertical: sheet.wide ? 'bottom' : 'top',
    title: { weight: 900, color: black, maxSize: 0.16, letterSpacing: -0.035, lineHeight: 1, uppercase: true },
    subtitle: { weight: 500, color: black, maxSize: 0.034 },
    badge: { weight: 700, color: readableOn(accent), fill: accent, square: true, uppercase: true },
  })
  const place = { left: margin, top: height - margin - unit * 0.032, width: area.width, height: unit * 0.034 }
  const footer = oneLine(sheet, sheet.footer, place, 0.024, 700, black)
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

/** One square of the picture, in one of twelve ways. */
function square(x: number, y: number, s: number, kind: number, accent: Color): string {
  const ground = (color: Color): string => rect(x, y, s + 0.5, s + 0.5, color)
  switch (kind) {
    case 0:
      return ground(blue) + quarter(x, y + s, s, 3, paper) + quarter(x, y + s, s * 0.5, 3, accent)
    case 1:
      return (
        ground(paper) + circle(x + s / 2, y + s / 2, s * 0.38, black) + circle(x + s / 2, y + s / 2, s * 0.14, paper)
      )
    case 2:
      return ground(yellow) + quarter(x + s, y, s, 1, accent)
    case 3:
      return ground(accent) + [0, 1, 2, 3].map((i) => rect(x, y + s * (0.06 + i * 0.25), s, s * 0.12, paper)).join('')
    case 4:
      return ground(paper) + quarter(x, y, s, 0, blue) + quarter(x + s, y + s, s * 0.42, 2, yellow)
    case 5:
      return ground(black) + circle(x + s / 2, y + s / 2, s * 0.36, yellow)
    case 6:
      return (
        ground(paper) +
        polygon(
          [
            [x, y + s],
            [x + s, y + s],
            [x + s, y],
          ],
          accent,
        )
      )
    case 7:
      return (
        ground(blue) +
        quarter(x + s / 2, y + s, s / 2, 2, paper) +
        quarter(x + s / 2, y + s, s / 2, 3, paper) +
        quarter(x + s / 2, y + s / 2, s / 2, 2, yellow) +
        quarter(x + s / 2, y + s / 2, s / 2, 3, yellow)
      )
    case 8:
      return (
        ground(paper) + [0.42, 0.3, 0.18, 0.06].map((r) => ring(x + s / 2, y + s / 2, s * r, black, s * 0.055)).join('')
      )
    case 9:
      return ground(accent) + quarter(x, y, s, 0, black) + quarter(x, y, s * 0.5, 0, paper)
    case 10:
      return (
        ground(yellow) +
        [0.2, 0.5, 0.8]
          .flatMap((u) => [0.2, 0.5, 0.8].map((v) => circle(x + s * u, y + s * v, s * 0.085, black)))
          .join('')
      )
    default:
      return ground(paper) + quarter(x + s, y + s, s, 2, black) + quarter(x, y, s * 0.36, 0, accent)
  }
}

// Theme `blueprint`: a technical drawing, with the words in its field and its title block.

import { legibleOn, mix, oklch } from '../../color.ts'
import { defineLinear, frame, line, path, rect, ring } from '../shapes.ts'
import { oneLine, type Composition, type Sheet, stackWords, type Theme } from '../sheet.ts'

const blue = oklch(0.4, 0.125, 258)
const deep = oklch(0.32, 0.11, 262)
const chalk = oklch(0.96, 0.02, 230)

export const blueprint: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = legibleOn(blue, sheet.accent ?? oklch(0.86, 0.13, 90), 6)
  const margin = unit * 0.055
  const blockHeight = sheet.footer === '' ? 0 : unit * 0.085
  const drawing = sheet.wide
    ? { x: width - height * 0.44, y: (height - blockHeight) * 0.5, r: height * 0.27 }
    : {
        x: width * 0.62,
        y: Math.max(height - margin - blockHeight - unit * 0.36, height * 0.5 + unit * 0.38),
        r: unit * 0.265,
      }
  const backdrop = [
    defineLinear('print', [blue, deep]),
    rect(0, 0, width, height, { gradient: 'print' }),
    ...paperGrid(sheet, margin),
    frame(margin, margin, width - 2 * margin, height - 2 * margin, chalk, unit * 0.003, 0.9),
    // On a square sheet the field cuts the drawing off.
    `<clipPath id="field">${rect(margin, margin, width - 2 * margin, height - 2 * margin - blockHeight, chalk)}</clipPath><g clip-path="url(#field)">`,
    ...gear(sheet, drawing, accent),
    '</g>',
    ...(blockHeight === 0
      ? []
      : [
          line(
            [margin, height - margin - blockHeight],
            [width - margin, height - margin - blockHeight],
            chalk,
            unit * 0.002,
            0.9,
          ),
        ]),
  ]
  const inner = margin + unit * 0.05
  const area = sheet.wide
    ? { left: inner, top: inner, width: drawing.x - drawing.r * 1.28 - inner, height: height - 2 * inner - blockHeight }
    : { left: inner, top: inner, width: width - 2 * inner, height: drawing.y - drawing.r * 1.3 - inner }
  const words = stackWords(sheet, area, {
    align: 'left',
    vertical: sheet.wide ? 'middle' : 'top',
    title: { weight: 700, color: chalk, maxSize: 0.155, letterSpacing: -0.03, lineHeight: 1.04 },
    subtitle: { weight: 400, color: mix(chalk, blue, 0.12), maxSize: 0.033 },
    badge: { weight: 500, color: accent, outline: accent, square: true, uppercase: true },
  })
  const place = {
    left: inner,
    top: height - margin - blockHeight / 2 - unit * 0.017,
    width: width - 2 * inner,
    height: unit * 0.034,
  }
  const footer = oneLine(sheet, sheet.footer, place, 0.024, 500, chalk, 'left', 0.03)
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

function paperGrid({ width, height, unit }: Sheet, margin: number): string[] {
  const cell = unit / 36
  const lines: string[] = []
  for (let i = 1; margin + i * cell < width - margin; i++)
    lines.push(
      line(
        [margin + i * cell, margin],
        [margin + i * cell, height - margin],
        chalk,
        unit * 0.0008,
        i % 4 === 0 ? 0.2 : 0.09,
      ),
    )
  for (let i = 1; margin + i * cell < height - margin; i++)
    lines.push(
      line(
        [margin, margin + i * cell],
        [width - margin, margin + i * cell],
        chalk,
        unit * 0.0008,
        i % 4 === 0 ? 0.2 : 0.09,
      ),
    )
  return lines
}

/** A wheel with its axes, construction circles and one measure. */
function gear({ unit }: Sheet, { x, y, r }: { x: number; y: number; r: number }, accent: typeof chalk): string[] {
  const teeth = 24
  const outline = Array.from({ length: teeth * 4 }, (_, i) => {
    const angle = ((i - 0.5) / (teeth * 4)) * 2 * Math.PI
    const radius = i % 4 < 2 ? r : r * 0.89
    return `${i === 0 ? 'M' : 'L'}${(x + Math.cos(angle) * radius).toFixed(1)} ${(y + Math.sin(angle) * radius).toFixed(1)}`
  })
  const thin = unit * 0.0018
  const dash = `${unit * 0.012} ${unit * 0.007}`
  const holes = Array.from(
    { length: 6 },
    (_, i) => [x + Math.cos((i * Math.PI) / 3) * r * 0.5, y + Math.sin((i * Math.PI) / 3) * r * 0.5] as const,
  )
  const below = y + r * 1.16
  const arrow = unit * 0.012
  return [
    path(`${outline.join('')}Z`, null, chalk, unit * 0.0032),
    ring(x, y, r * 0.76, chalk, thin, 0.9),
    ring(x, y, r * 0.5, chalk, thin, 0.7, dash),
    ring(x, y, r * 0.22, chalk, unit * 0.0032),
    ring(x, y, r * 0.12, chalk, thin, 0.9),
    ring(x, y, r * 1.08, chalk, thin * 0.7, 0.5, dash),
    ...holes.map(([hx, hy]) => ring(hx, hy, r * 0.11, chalk, thin)),
    ...holes.map(([hx, hy]) => line([x, y], [hx, hy], chalk, thin * 0.6, 0.4)),
    line([x - r * 1.22, y], [x + r * 1.22, y], accent, thin, 0.9),
    line([x, y - r * 1.22], [x, y + r * 1.12], accent, thin, 0.9),
    line([x - r, below], [x + r, below], accent, thin),
    line([x - r, y], [x - r, below + arrow], accent, thin * 0.6, 0.6),
    line([x + r, y], [x + r, below + arrow], accent, thin * 0.6, 0.6),
    path(`M${x - r} ${below}l${arrow} ${-arrow * 0.4}v${arrow * 0.8}z`, accent),
    path(`M${x + r} ${below}l${-arrow} ${-arrow * 0.4}v${arrow * 0.8}z`, accent),
  ]
}

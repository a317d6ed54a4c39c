// Theme `editorial`: a quiet magazine cover, with an arch that looks out on a still life of discs.

import { legibleOn, mix, oklch } from '../../color.ts'
import { defineLinear, line, path, rect } from '../shapes.ts'
import { oneLine, type Composition, type Sheet, stackWords, type Theme } from '../sheet.ts'

const paper = oklch(0.955, 0.014, 85)
const ink = oklch(0.25, 0.02, 50)
const clay = oklch(0.62, 0.13, 40)

export const editorial: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = sheet.accent ?? clay
  const margin = unit * 0.075
  const footerRoom = unit * (sheet.footer === '' ? 0.03 : 0.085)
  const arch = sheet.wide
    ? { left: width - margin - height * 0.56, top: margin, width: height * 0.56, height: height - 2 * margin }
    : {
        left: width / 2 - unit * 0.3,
        top: height * 0.54,
        width: unit * 0.6,
        height: height * 0.46 - margin - footerRoom,
      }
  const backdrop = [rect(0, 0, width, height, paper), window_(sheet, arch, accent)]
  if (!sheet.wide)
    backdrop.push(
      line([margin, margin], [width - margin, margin], ink, unit * 0.0016),
      line([margin, height - margin], [width - margin, height - margin], ink, unit * 0.0016),
    )
  const area = sheet.wide
    ? {
        left: margin,
        top: margin,
        width: arch.left - 2 * margin,
        height: height - 2 * margin - (sheet.footer === '' ? 0 : footerRoom * 1.3),
      }
    : { left: margin * 1.2, top: margin * 1.6, width: width - 2.4 * margin, height: arch.top - margin * 2.2 }
  const words = stackWords(sheet, area, {
    align: sheet.wide ? 'left' : 'center',
    vertical: 'middle',
    letters: 'serif',
    title: { weight: 300, color: ink, maxSize: 0.17, letterSpacing: -0.022, lineHeight: 1.04 },
    subtitle: { weight: 400, color: mix(ink, paper, 0.15), maxSize: 0.035 },
    badge: { weight: 600, color: legibleOn(paper, accent), uppercase: true },
  })
  const place = sheet.wide
    ? { left: margin, top: height - margin - unit * 0.034, width: arch.left - 2 * margin, height: unit * 0.034 }
    : {
        left: margin,
        top: height - margin - footerRoom / 2 - unit * 0.017,
        width: width - 2 * margin,
        height: unit * 0.034,
      }
  const footer = oneLine(
    sheet,
    sheet.footer,
    place,
    0.023,
    500,
    mix(ink, paper, 0.15),
    sheet.wide ? 'left' : 'center',
    0.02,
  )
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

function window_(
  { unit }: Sheet,
  { left, top, width, height }: { left: number; top: number; width: number; height: number },
  accent: typeof clay,
): string {
  const r = width / 2
  const right = left + width
  const bottom = top + height
  const clip = `<clipPath id="arch"><path d="M${left} ${bottom}V${top + r}A${r} ${r} 0 0 1 ${right} ${top + r}V${bottom}Z"/></clipPath>`
  const sky = mix(accent, paper, 0.72)
  const sunY = top + height * 0.46
  const hill = (y: number, bend: number): string =>
    `M${left} ${y}C${left + width * 0.35} ${y - bend},${left + width * 0.6} ${y + bend * 0.7},${right} ${y - bend * 0.5}V${bottom}H${left}Z`
  const scene = [
    rect(left, top, width, height, { gradient: 'room' }),
    `<circle cx="${left + width * 0.58}" cy="${sunY}" r="${width * 0.2}" fill="#fffaf0"/>`,
    path(hill(top + height * 0.62, height * 0.07), mix(accent, paper, 0.35)),
    path(hill(top + height * 0.74, -height * 0.06), accent),
    path(hill(top + height * 0.87, height * 0.05), mix(accent, ink, 0.5)),
  ]
  const defs = `<defs>${clip}</defs>${defineLinear('room', [mix(accent, paper, 0.45), sky])}`
  const gap = unit * 0.014
  const outline = path(
    `M${left - gap} ${bottom}V${top + r}A${r + gap} ${r + gap} 0 0 1 ${right + gap} ${top + r}V${bottom}`,
    null,
    ink,
    unit * 0.0016,
  )
  return `${defs}<g clip-path="url(#arch)">${scene.join('')}</g>${outline}`
}

// Theme `botanical`: sprays of leaves on soft paper around the words.

import { type Color, lighten, mix, oklch } from '../../color.ts'
import { circle, defineLinear, path, rect } from '../shapes.ts'
import { oneLine, type Composition, type Sheet, stackWords, type Theme } from '../sheet.ts'

const paper = oklch(0.955, 0.022, 110)
const ink = oklch(0.3, 0.05, 160)
const greens = [oklch(0.42, 0.075, 155), oklch(0.54, 0.085, 145), oklch(0.68, 0.08, 130), oklch(0.8, 0.06, 120)]
const rose = oklch(0.7, 0.12, 30)

export const botanical: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = sheet.accent ?? rose
  const sideways = sheet.wide ? 0.2 : 0.13
  const inset = { x: width * sideways, y: sheet.wide ? height * 0.14 : Math.max(height * 0.27, unit * 0.3) }
  // Leaves stay out of the words: on a square sheet there is less room for them than on a tall one.
  const reach = sheet.wide ? Math.min(unit * 0.62, width * 0.29) : Math.min(unit * 0.46, inset.y + unit * 0.02)
  const backdrop = [
    defineLinear('paper', [lighten(paper, 0.015), mix(paper, greens[3] as Color, 0.28)]),
    rect(0, 0, width, height, { gradient: 'paper' }),
    circle(width * 0.9, height * 0.08, unit * 0.3, mix(accent, paper, 0.6)),
    circle(width * 0.08, height * 0.95, unit * 0.24, mix(accent, paper, 0.72)),
    ...[0, 1, 2, 3].map((i) =>
      spray(width * 1.02, -unit * 0.03, reach * (1 - 0.1 * i), 1.6 + i * 0.42, i, i % 2 === 0 ? 1 : -1, accent),
    ),
    ...[0, 1, 2, 3].map((i) =>
      spray(
        -unit * 0.02,
        height + unit * 0.03,
        reach * (0.94 - 0.09 * i),
        -1.5 + i * 0.42,
        i + 1,
        i % 2 === 0 ? 1 : -1,
        accent,
      ),
    ),
  ]
  const area = { left: inset.x, top: inset.y, width: width - 2 * inset.x, height: height - 2 * inset.y }
  const words = stackWords(sheet, area, {
    align: 'center',
    vertical: 'middle',
    letters: 'serif',
    title: { weight: 500, color: ink, maxSize: 0.165, letterSpacing: -0.02, lineHeight: 1.04 },
    subtitle: { weight: 400, color: mix(ink, paper, 0.12), maxSize: 0.036 },
    badge: { weight: 500, color: ink, outline: mix(ink, paper, 0.35) },
  })
  const place = {
    left: width * (sheet.wide ? 0.3 : 0.46),
    top: height - unit * 0.1,
    width: width * (sheet.wide ? 0.4 : 0.47),
    height: unit * 0.034,
  }
  const footer = oneLine(sheet, sheet.footer, place, 0.024, 500, ink, sheet.wide ? 'center' : 'right')
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

/** A bent stem with leaves in pairs, and berries at the end of some. */
function spray(x: number, y: number, length: number, angle: number, kind: number, bend: 1 | -1, accent: Color): string {
  const color = greens[kind % greens.length] as Color
  const leaves: string[] = []
  let [px, py, direction] = [x, y, angle]
  const count = 11
  let stem = `M${x.toFixed(1)} ${y.toFixed(1)}`
  for (let i = 1; i <= count; i++) {
    const step = length / count
    direction += bend * 0.055
    px += Math.cos(direction) * step
    py += Math.sin(direction) * step
    stem += `L${px.toFixed(1)} ${py.toFixed(1)}`
    const size = length * (0.24 - 0.011 * i)
    if (i < 2) continue
    for (const side of [1, -1])
      leaves.push(
        leaf(px, py, direction + side * (0.85 - 0.03 * i), size, lighten(color, side * 0.022 + 0.006 * (i % 3))),
      )
  }
  leaves.push(leaf(px, py, direction, length * 0.13, color))
  const berries =
    kind % 2 === 1
      ? [0.02, 0.05, 0.08].map((d, i) =>
          circle(
            px + Math.cos(direction + i - 1) * length * (0.1 + d),
            py + Math.sin(direction + i - 1) * length * (0.1 + d),
            length * 0.018,
            accent,
          ),
        )
      : []
  return path(stem, null, color, length * 0.009) + leaves.join('') + berries.join('')
}

function leaf(x: number, y: number, angle: number, length: number, color: Color): string {
  const point = (along: number, aside: number): string => {
    const [dx, dy] = [Math.cos(angle), Math.sin(angle)]
    return `${(x + dx * along * length - dy * aside * length).toFixed(1)} ${(y + dy * along * length + dx * aside * length).toFixed(1)}`
  }
  const blade = path(
    `M${point(0, 0)}C${point(0.25, 0.26)},${point(0.7, 0.22)},${point(1, 0)}C${point(0.7, -0.22)},${point(0.25, -0.26)},${point(0, 0)}Z`,
    color,
  )
  return blade + path(`M${point(0.05, 0)}L${point(0.9, 0)}`, null, lighten(color, 0.1), length * 0.014, 0.7)
}

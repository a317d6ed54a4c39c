// Style `midcentury`: quarter circles, leaves and dots on a grid, as on a printed cloth of 1957.

import { type Color, css, lighten } from '../../color.ts'
import { fillSky, type Stage, type Style } from '../stage.ts'

export const midcentury: Style = { grain: 0.3, vignette: 0.06, paint }

type Context = Stage['context']
/** Draws into the square from 0 to 1. */
type Motif = (context: Context, figure: string, second: string) => void

const motifs: readonly Motif[] = [
  (c, figure) => wedge(c, figure, 0, 0, 1, 0, 1),
  (c, figure, second) => [wedge(c, figure, 0, 0, 1, 0, 1), wedge(c, second, 0, 0, 0.5, 0, 1)],
  (c, figure) => [wedge(c, figure, 0, 0.5, 0.5, -1, 1), wedge(c, figure, 0.5, 0.5, 0.5, -1, 1)],
  (c, figure, second) => [wedge(c, figure, 0.5, 0, 0.5, 0, 2), wedge(c, second, 0.5, 1, 0.5, 2, 4)],
  (c, figure, second) => [wedge(c, figure, 0.5, 0.5, 0.5, 0, 4), wedge(c, second, 0.5, 0.5, 0.22, 0, 4)],
  (c, figure, second) => [leaf(c, figure), vein(c, second)],
  (c, figure, second) => [wedge(c, figure, 0, 0, 1, 0, 1), wedge(c, second, 1, 1, 0.62, 2, 3)],
  (c, figure) =>
    [0.18, 0.5, 0.82].forEach((y) => [0.18, 0.5, 0.82].forEach((x) => wedge(c, figure, x, y, 0.085, 0, 4))),
  (c, figure) => [0, 1, 2, 3].forEach((i) => bar(c, figure, i * 0.25 + 0.06)),
  (c, figure, second) =>
    [1, 0.76, 0.52, 0.28].forEach((r, i) => wedge(c, i % 2 === 0 ? figure : second, 0, 1, r, 3, 4)),
  (c, figure) => triangle(c, figure),
  (c, figure, second) => [wedge(c, figure, 0, 0.5, 0.5, -1, 1), wedge(c, second, 1, 0.5, 0.5, 1, 3)],
]

function paint(stage: Stage): void {
  const { context, width, height, unit, random, palette } = stage
  fillSky(stage, [
    [0, palette.ground],
    [1, lighten(palette.ground, -0.012)],
  ])
  const margin = unit * 0.07
  const wanted = (unit - 2 * margin) / random.int(4, 6)
  const [columns, rows] = [
    Math.max(1, Math.round((width - 2 * margin) / wanted)),
    Math.max(1, Math.round((height - 2 * margin) / wanted)),
  ]
  // Whole pixels: between squares that share a pixel the ground would shine through.
  const size = Math.max(1, Math.floor(Math.min((width - 2 * margin) / columns, (height - 2 * margin) / rows)))
  const [left, top] = [Math.round((width - columns * size) / 2), Math.round((height - rows * size) / 2)]
  const inks = [
    palette.accent(0),
    palette.accent(1),
    palette.accent(2),
    palette.accent(3),
    palette.shade(0.05),
    palette.shade(palette.dark ? 0.3 : 0.86),
  ]
  const favourites = random.shuffle(motifs).slice(0, 7)
  const taken = new Set<string>()
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (taken.has(`${column},${row}`)) continue
      // Here and there one motif fills four squares: the eye needs a place to rest.
      const large = column + 1 < columns && row + 1 < rows && !taken.has(`${column + 1},${row}`) && random.chance(0.13)
      const span = large ? 2 : 1
      for (let i = 0; i < span * span; i++) taken.add(`${column + (i % span)},${row + Math.floor(i / span)}`)
      const isRim = column === 0 || row === 0 || column + span === columns || row + span === rows
      paintSquare(stage, left + column * size, top + row * size, size * span, inks, random.pick(favourites), isRim)
    }
  }
  context.setTransform(1, 0, 0, 1, 0, 0)
}

function paintSquare(
  { context, random, palette }: Stage,
  x: number,
  y: number,
  size: number,
  inks: readonly Color[],
  motif: Motif,
  isRim: boolean,
): void {
  const [ground, figure, second] = random.shuffle(inks) as [Color, Color, Color]
  // Along the rim the colour of the paper would eat into the whole.
  const bare = random.chance(0.28) && !isRim
  const light = palette.shade(isRim ? 0.84 : 0.95)
  const fill = bare ? palette.ground : ground
  // Figures have to stand out from what they lie on.
  const strong = Math.abs(figure.l - fill.l) > 0.16 ? figure : fill.l > 0.5 ? palette.shade(0.08) : light
  context.save()
  context.translate(x + size / 2, y + size / 2)
  context.rotate((random.int(0, 3) * Math.PI) / 2)
  context.scale(size, size)
  context.translate(-0.5, -0.5)
  context.beginPath()
  context.rect(0, 0, 1, 1)
  context.clip()
  context.fillStyle = css(fill)
  context.fillRect(-0.01, -0.01, 1.02, 1.02)
  motif(context, css(strong), css(Math.abs(second.l - strong.l) > 0.1 ? second : fill))
  context.restore()
}

/** A part of a disc, from one quarter turn to another. */
function wedge(context: Context, fill: string, x: number, y: number, radius: number, from: number, to: number): void {
  context.beginPath()
  if (to - from < 4) context.moveTo(x, y)
  context.arc(x, y, radius, (from * Math.PI) / 2, (to * Math.PI) / 2)
  context.fillStyle = fill
  context.fill()
}

function leaf(context: Context, fill: string): void {
  context.beginPath()
  context.arc(0, 1, 1, -Math.PI / 2, 0)
  context.arc(1, 0, 1, Math.PI / 2, Math.PI)
  context.fillStyle = fill
  context.fill()
}

function vein(context: Context, stroke: string): void {
  context.beginPath()
  context.moveTo(0.08, 0.08)
  context.lineTo(0.92, 0.92)
  context.strokeStyle = stroke
  context.lineWidth = 0.035
  context.stroke()
}

function bar(context: Context, fill: string, x: number): void {
  context.fillStyle = fill
  context.fillRect(x, 0, 0.13, 1)
}

function triangle(context: Context, fill: string): void {
  context.beginPath()
  context.moveTo(0, 0)
  context.lineTo(1, 0)
  context.lineTo(0, 1)
  context.closePath()
  context.fillStyle = fill
  context.fill()
}

// Style `forest`: rows of conifers that lose themselves in mist.

import { type Color, css, mix } from '../../color.ts'
import { fractal } from '../random.ts'
import { birds, disc, fillSky, glow, linearGradient, type Stage, type Style } from '../stage.ts'

export const forest: Style = { grain: 0.24, vignette: 0.22, paint }

function paint(stage: Stage): void {
  const { context, width, height, unit, random, palette } = stage
  const mist = palette.dark ? palette.shade(0.66) : palette.shade(0.93)
  const zenith = palette.dark ? palette.shade(0.2) : palette.shade(0.72)
  fillSky(
    stage,
    Array.from({ length: 7 }, (_, i) => [i / 6, mix(zenith, mist, (i / 6) ** 0.8)]),
    height * 0.7,
  )
  const [x, y, radius] = [
    width * random.range(0.2, 0.8),
    height * random.range(0.14, 0.42),
    unit * random.range(0.05, 0.14),
  ]
  glow(stage, x, y, radius * 6, mix(palette.shade(1), palette.accent(0), 0.25), 0.65)
  disc(stage, x, y, radius, mix(palette.shade(1), palette.accent(0), 0.15), 0.9)
  birds(
    stage,
    width * random.range(0.25, 0.75),
    height * random.range(0.16, 0.3),
    random.int(4, 9),
    palette.shade(0.25),
  )

  const rows = random.int(4, 7)
  const view: View = {
    clearing: random.range(0.2, 0.8),
    openness: random.range(0.75, 1.5),
    size: random.range(0.8, 1.35),
  }
  const first = random.range(0.4, 0.58)
  for (let row = 0; row < rows; row++) {
    const t = row / (rows - 1)
    const base = height * (first + (1.06 - first) * t ** 1.1)
    const color = mix(mix(mist, palette.shade(0.5), 0.42), palette.shade(0.01), t ** 1.1)
    paintRow(stage, t, base, color, view)
    // Mist gathers between one row and the next.
    if (row < rows - 1) {
      context.fillStyle = linearGradient(
        stage,
        [0, base - unit * 0.12],
        [0, base + unit * 0.16],
        [
          [0, mist, 0],
          [0.7, mist, 0.62 - 0.3 * t],
          [1, mist, 0.75 - 0.35 * t],
        ],
      )
      context.fillRect(0, base - unit * 0.12, width, height)
      glow(stage, width * random.range(0, 1), base, unit * 0.45, mist, 0.35)
    }
  }
}

/** Where one stands in one picture. */
interface View {
  /** The middle of the clearing among near trees, as a fraction of the width, and how wide it is, around 1. */
  readonly clearing: number
  readonly openness: number
  /** How tall trees are, around 1. */
  readonly size: number
}

/** One row: a wavy floor with trees in clumps, tall ones framing the sides when it is near. */
function paintRow(stage: Stage, t: number, base: number, color: Color, view: View): void {
  const { context, width, height, unit, random, noise } = stage
  const salt = t * 37
  const floor = (x: number): number =>
    base - unit * (0.07 - 0.03 * t) * fractal(noise, (x / unit) * 1.6 + salt, salt, 3)
  context.fillStyle = css(color)
  context.beginPath()
  context.moveTo(-2, height)
  const step = Math.max(1, unit / 300)
  for (let x = -2; x <= width + step; x += step) context.lineTo(x, floor(x))
  context.lineTo(width + 2, height)
  context.closePath()
  context.fill()
  const typical = unit * (0.085 + 0.3 * t ** 1.5) * view.size
  for (let x = -typical * 0.2; x < width + typical * 0.2; x += typical * random.range(0.07, 0.24)) {
    const clump = noise((x / unit) * 2.4 + salt * 2, 5)
    const aside = Math.min(1, (Math.abs(x / width - view.clearing) * 2) / view.openness)
    // Near trees leave a clearing, so that one looks through.
    if (t > 0.55 && random.float() > aside ** 1.3 * 1.15 - (t > 0.9 ? 0.12 : 0)) continue
    if (t <= 0.55 && clump < -0.35) continue
    // Woods thin out towards their edge.
    const edge = t > 0.55 ? 0.65 + 0.55 * aside : Math.min(1, 0.35 + (clump + 0.35) * 3)
    const tall = typical * (0.62 + 0.32 * clump + random.range(0, 0.5)) * edge
    // The lowest branches touch the ground.
    paintConifer(stage, x, floor(x) + typical * 0.02 + tall * 0.11, tall, t)
  }
}

function paintConifer({ context, random }: Stage, x: number, foot: number, tall: number, t: number): void {
  const tiers = Math.round(7 + 9 * t + tall * 0.004)
  const half = tall * random.range(0.13, 0.19)
  context.fillRect(x - tall * 0.012, foot - tall * 0.2, tall * 0.024, tall * 0.22)
  context.beginPath()
  context.moveTo(x, foot - tall)
  const outline = (side: 1 | -1, from: number, to: number, by: 1 | -1): void => {
    for (let tier = from; tier !== to; tier += by) {
      const u = tier / tiers
      const y = foot - tall * (1 - 0.9 * u)
      const reach = half * u ** 0.85 * random.range(0.74, 1.12)
      const droop = tall * 0.02 * random.range(0.5, 1.5)
      const inner = x + side * reach * 0.42
      if (by === 1) {
        context.lineTo(x + side * reach, y + droop)
        context.lineTo(inner, y - droop * 0.1)
      } else {
        context.lineTo(inner, y - droop * 0.1)
        context.lineTo(x + side * reach, y + droop)
      }
    }
  }
  outline(1, 1, tiers + 1, 1)
  outline(-1, tiers, 0, -1)
  context.closePath()
  context.fill()
}

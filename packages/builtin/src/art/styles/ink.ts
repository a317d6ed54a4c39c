// Style `ink`: mountains in ink wash on paper, with a red sun and a seal.

import { type Color, css, mix } from '../../color.ts'
import { fractal } from '../random.ts'
import { birds, disc, fillSky, glow, linearGradient, type Stage, type Style } from '../stage.ts'

export const ink: Style = { grain: 0.3, vignette: 0.1, paint }

function paint(stage: Stage): void {
  const { width, height, unit, random, palette } = stage
  const paper = palette.dark ? palette.shade(0.95) : palette.ground
  fillSky(stage, [
    [0, paper],
    [0.6, mix(paper, palette.shade(0.8), 0.12)],
    [1, mix(paper, palette.shade(0.8), 0.3)],
  ])
  for (let i = 0; i < 26; i++)
    glow(
      stage,
      random.range(0, width),
      random.range(0, height),
      unit * random.range(0.15, 0.5),
      palette.shade(0.6),
      0.022,
    )
  paintSun(stage, width * random.range(0.14, 0.86), height * random.range(0.12, 0.34), unit * random.range(0.04, 0.12))
  birds(stage, width * random.range(0.3, 0.7), height * random.range(0.28, 0.36), random.int(4, 8), palette.shade(0.1))
  const layers = random.int(3, 6)
  const land: Land = {
    // Where the mountains are highest, as a fraction of the width, and how much they sink away from there.
    summit: random.range(-0.1, 1.1),
    fall: random.range(0.15, 0.85),
    rise: random.range(0.75, 1.55),
    top: random.range(0.4, 0.62),
  }
  for (let layer = 0; layer < layers; layer++) {
    const t = layer / (layers - 1)
    paintMountain(
      stage,
      layer,
      t,
      height * (land.top + (0.9 - land.top) * t),
      mix(palette.shade(0.62), palette.shade(0.03), t ** 1.15),
      paper,
      land,
    )
  }
  if (random.chance(0.65)) paintBoat(stage, width * random.range(0.2, 0.8), height * 0.945, unit * 0.05)
  paintSeal(stage, width - unit * 0.1, height - unit * 0.13, unit * 0.042, paper)
}

function paintSun(stage: Stage, x: number, y: number, radius: number): void {
  const { palette, random, unit } = stage
  disc(stage, x, y, radius, palette.accent(0), 0.86)
  // A wash dries darker at its rim and unevenly within.
  for (let i = 0; i < 9; i++)
    disc(
      stage,
      x + random.gauss() * unit * 0.001,
      y + random.gauss() * unit * 0.001,
      radius * (1 + random.gauss() * 0.012),
      palette.accent(0),
      0.05,
    )
}

/** How mountains lie in one picture. */
interface Land {
  readonly summit: number
  readonly fall: number
  readonly rise: number
  readonly top: number
}

/** One mountain: dark along its crest, fading into mist below; several translucent washes, each a little off. */
function paintMountain(
  stage: Stage,
  layer: number,
  t: number,
  base: number,
  color: Color,
  paper: Color,
  land: Land,
): void {
  const { context, width, unit, noise, random } = stage
  const salt = layer * 13.7 + random.range(0, 3)
  const rise = unit * (0.34 - 0.2 * t) * (1 + (land.rise - 1) * (1 - t))
  const crest = (x: number, wash: number): number => {
    const u = x / unit
    const peak = Math.max(0, 0.5 + 1.05 * fractal(noise, u * 1.15 + salt, salt, 2)) ** 1.5
    const rock = fractal(noise, u * 4.5 + salt, salt * 2, 5, 0.52)
    const side = 1.2 - land.fall * Math.abs(x / width - land.summit) * (t < 0.7 ? 1 : -0.4)
    return base - rise * Math.max(0.12, side) * (peak + 0.14 * rock) + unit * 0.004 * noise(u * 30, wash * 4.1 + salt)
  }
  const washes = 4
  const step = Math.max(1, unit / 520)
  // Paper first: what stands behind a mountain does not shine through it.
  context.beginPath()
  context.moveTo(-step, base + unit * 0.3)
  for (let x = -step; x <= width + step; x += step) context.lineTo(x, crest(x, 0))
  context.lineTo(width + step, base + unit * 0.3)
  context.closePath()
  context.fillStyle = linearGradient(
    stage,
    [0, base - rise * 0.4],
    [0, base + unit * 0.14],
    [
      [0, paper, 0.9],
      [1, paper, 0],
    ],
  )
  context.fill()
  for (let wash = 0; wash < washes; wash++) {
    const drop = unit * 0.011 * wash
    context.beginPath()
    context.moveTo(-step, base + unit * 0.3)
    for (let x = -step; x <= width + step; x += step)
      context.lineTo(x, crest(x, wash) + drop * (0.6 + 0.8 * noise((x / unit) * 7 + wash * 9, salt)))
    context.lineTo(width + step, base + unit * 0.3)
    context.closePath()
    const alpha = wash === 0 ? 0.5 : 0.24
    context.fillStyle = linearGradient(
      stage,
      [0, base - rise * 1.5],
      [0, base + unit * 0.14],
      [
        [0, color, alpha],
        [0.45, color, alpha * 0.8],
        [0.8, mix(color, paper, 0.5), alpha * 0.35],
        [1, paper, 0],
      ],
    )
    context.fill()
  }
  strokes(stage, crest, base, rise, color)
  glow(stage, width * random.range(0.1, 0.9), base + unit * 0.06, unit * 0.5, paper, 0.5)
}

/** Dry-brush strokes that follow the fall of the rock. */
function strokes(
  { context, width, unit, random }: Stage,
  crest: (x: number, wash: number) => number,
  base: number,
  rise: number,
  color: Color,
): void {
  context.lineCap = 'round'
  for (let i = 0; i < 150; i++) {
    const x = random.range(0, width)
    const top = crest(x, 0)
    const height = base - top
    if (height < rise * 0.35) continue
    const start = top + height * random.range(0.02, 0.3)
    const length = height * random.range(0.08, 0.3)
    const lean = unit * random.gauss() * 0.012
    context.strokeStyle = css(color, random.range(0.03, 0.11))
    context.lineWidth = unit * random.range(0.0008, 0.0035)
    context.beginPath()
    context.moveTo(x, start)
    context.quadraticCurveTo(x + lean * 0.2, start + length * 0.5, x + lean, start + length)
    context.stroke()
  }
}

function paintBoat({ context, palette, unit }: Stage, x: number, y: number, length: number): void {
  context.strokeStyle = css(palette.shade(0.04), 0.9)
  context.fillStyle = css(palette.shade(0.04), 0.9)
  context.lineWidth = unit * 0.0022
  context.beginPath()
  context.moveTo(x - length, y - length * 0.12)
  context.quadraticCurveTo(x, y + length * 0.3, x + length, y - length * 0.16)
  context.quadraticCurveTo(x, y + length * 0.1, x - length, y - length * 0.12)
  context.fill()
  context.beginPath()
  context.moveTo(x + length * 0.2, y)
  context.lineTo(x + length * 0.24, y - length * 0.42)
  context.stroke()
  context.beginPath()
  context.arc(x + length * 0.24, y - length * 0.47, length * 0.07, 0, 2 * Math.PI)
  context.fill()
  context.beginPath()
  context.moveTo(x + length * 0.1, y - length * 0.4)
  context.lineTo(x + length * 0.38, y - length * 0.4)
  context.lineTo(x + length * 0.24, y - length * 0.58)
  context.fill()
}

function paintSeal({ context, palette, random }: Stage, x: number, y: number, size: number, paper: Color): void {
  context.fillStyle = css(palette.accent(0), 0.9)
  context.beginPath()
  context.roundRect(x - size / 2, y - size / 2, size, size, size * 0.12)
  context.fill()
  context.strokeStyle = css(paper, 0.92)
  context.lineWidth = size * 0.085
  for (let column = 0; column < 2; column++) {
    for (let row = 0; row < 3; row++) {
      const [cx, cy] = [x + size * (column - 0.5) * 0.42, y + size * (row - 1) * 0.26]
      context.beginPath()
      if (random.chance(0.5)) context.rect(cx - size * 0.13, cy - size * 0.07, size * 0.26, size * 0.14)
      else {
        context.moveTo(cx - size * 0.14, cy)
        context.lineTo(cx + size * 0.14, cy)
        context.moveTo(cx, cy - size * 0.1)
        context.lineTo(cx, cy + size * 0.1)
      }
      context.stroke()
    }
  }
}

// Style `blocks`: an isometric city under a large sun.

import { type Color, css, lighten, mix } from '../../color.ts'
import { fractal } from '../random.ts'
import { disc, fillSky, glow, type Stage, type Style } from '../stage.ts'

export const blocks: Style = { grain: 0.2, vignette: 0.14, paint }

interface Block {
  /** Middle of the top face, then half its width, and the height of the walls, in pixels. */
  readonly x: number
  readonly y: number
  readonly half: number
  readonly tall: number
  readonly color: Color
}

function paint(stage: Stage): void {
  const { width, height, unit, random, palette } = stage
  const [top, low] = palette.dark
    ? [palette.shade(0.06), palette.shade(0.4)]
    : [palette.shade(0.72), palette.shade(0.97)]
  fillSky(
    stage,
    Array.from({ length: 6 }, (_, i) => [i / 5, mix(top, low, i / 5)]),
    height * 0.75,
  )
  const [sunX, sunY, sunRadius] = [
    width * random.range(0.3, 0.7),
    height * random.range(0.24, 0.32),
    unit * random.range(0.15, 0.2),
  ]
  glow(stage, sunX, sunY, sunRadius * 3, palette.accent(0), 0.45)
  disc(
    stage,
    sunX,
    sunY,
    sunRadius,
    palette.dark ? palette.accent(0) : mix(palette.accent(0), palette.shade(0.9), 0.15),
  )

  const half = unit / random.int(20, 26)
  const columns = Math.ceil(width / half / 2) + 2
  const front = height * 1.28
  const back = height * random.range(0.46, 0.54)
  const rows = Math.ceil((front - back) / (half / 2))
  const haze = mix(low, palette.shade(0.9), 0.3)
  for (let row = 0; row <= rows; row++) {
    const near = row / rows
    for (let column = -1; column < columns; column++) {
      const x = column * half * 2 + (row % 2 === 0 ? 0 : half)
      const ground = back + row * (half / 2)
      const block = placeBlock(stage, x, ground, half, near, haze)
      if (block) paintBlock(stage, block, near)
    }
  }
}

function placeBlock(stage: Stage, x: number, ground: number, half: number, near: number, haze: Color): Block | null {
  const { unit, random, palette, noise } = stage
  const district = fractal(noise, (x / unit) * 2.1, (ground / unit) * 3.6, 2)
  const towers = Math.max(0, 0.35 + district * 1.4)
  const tall = half * (0.5 + 5.2 * towers ** 1.6 * random.range(0.45, 1.25) + (random.chance(0.05) ? 3 : 0))
  const wish = random.float()
  const own =
    wish < 0.14
      ? palette.accent(0)
      : wish < 0.32
        ? palette.accent(1)
        : wish < 0.46
          ? palette.accent(2)
          : palette.shade(0.34 + 0.42 * random.float())
  const color = mix(mix(own, haze, 0.75 * (1 - near) ** 1.6), palette.shade(0.1), 0.28 * near)
  return { x, y: ground - tall, half: half * 0.94, tall, color }
}

function paintBlock(stage: Stage, block: Block, near: number): void {
  const { context, random, unit } = stage
  const { x, y, half, tall, color } = block
  const rise = half / 2
  const [left, right, light] = [lighten(color, -0.06), lighten(color, -0.17), lighten(color, 0.08)]
  wall(context, x, y, -half, rise, tall, left, lighten(left, -0.09))
  wall(context, x, y, half, rise, tall, right, lighten(right, -0.09))
  context.beginPath()
  context.moveTo(x, y - rise)
  context.lineTo(x + half, y)
  context.lineTo(x, y + rise)
  context.lineTo(x - half, y)
  context.closePath()
  context.fillStyle = css(light)
  context.fill()
  // The seam of antialiased edges would show what lies behind.
  context.strokeStyle = css(light)
  context.lineWidth = Math.max(0.5, unit * 0.0006)
  context.stroke()
  const kind = random.float()
  if (tall > half * 1.1 && kind < 0.8) windows(stage, block, near)
  if (kind > 0.62) roof(stage, block, light)
}

function wall(
  context: Stage['context'],
  x: number,
  y: number,
  half: number,
  rise: number,
  tall: number,
  color: Color,
  foot: Color,
): void {
  context.beginPath()
  context.moveTo(x, y + rise)
  context.lineTo(x + half, y)
  context.lineTo(x + half, y + tall)
  context.lineTo(x, y + tall + rise)
  context.closePath()
  const gradient = context.createLinearGradient(0, y, 0, y + tall + rise)
  gradient.addColorStop(0, css(color))
  gradient.addColorStop(1, css(foot))
  context.fillStyle = gradient
  context.fill()
}

/** Rows of windows on both walls, some of them lit. */
function windows({ context, random, palette }: Stage, { x, y, half, tall, color }: Block, near: number): void {
  const floors = Math.floor(tall / (half * 0.36)) - 1
  const lit = mix(palette.shade(0.96), palette.accent(0), 0.2)
  const share = random.range(0.1, 0.55)
  for (const side of [-1, 1]) {
    for (let floor = 0; floor < floors; floor++) {
      for (let i = 0; i < 3; i++) {
        const from = half * (0.17 + i * 0.25)
        const place = x + side * from
        const top = y + (half - from) / 2 + half * (0.3 + floor * 0.36)
        const wide = half * 0.14 * side
        context.beginPath()
        context.moveTo(place, top)
        context.lineTo(place + wide, top - Math.abs(wide) / 2)
        context.lineTo(place + wide, top - Math.abs(wide) / 2 + half * 0.19)
        context.lineTo(place, top + half * 0.19)
        context.closePath()
        context.fillStyle = random.chance(share) ? css(lit, 0.35 + 0.6 * near) : css(lighten(color, -0.24), 0.4)
        context.fill()
      }
    }
  }
}

/** A smaller block upon the roof. */
function roof(stage: Stage, { x, y, half, color }: Block, light: Color): void {
  const { context, random } = stage
  const small = half * random.range(0.32, 0.55)
  const tall = half * random.range(0.15, 0.7)
  wall(context, x, y - tall, -small, small / 2, tall, lighten(color, -0.04), lighten(color, -0.08))
  wall(context, x, y - tall, small, small / 2, tall, lighten(color, -0.15), lighten(color, -0.2))
  context.beginPath()
  context.moveTo(x, y - tall - small / 2)
  context.lineTo(x + small, y - tall)
  context.lineTo(x, y - tall + small / 2)
  context.lineTo(x - small, y - tall)
  context.closePath()
  context.fillStyle = css(lighten(light, 0.03))
  context.fill()
}

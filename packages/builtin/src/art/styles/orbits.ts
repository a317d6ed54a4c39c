// Style `orbits`: rings, sectors and planets around an off-centre middle.

import { type Color, css, lighten, mix } from '../../color.ts'
import { disc, fillSky, glow, scatterStars, type Stage, type Style } from '../stage.ts'

export const orbits: Style = { grain: 0.32, vignette: 0.2, paint }

function paint(stage: Stage): void {
  const { context, width, height, unit, random, palette } = stage
  fillSky(stage, [
    [0, palette.ground],
    [1, mix(palette.ground, palette.shade(palette.dark ? 0.2 : 0.82), 0.7)],
  ])
  const [x, y] = [width * random.range(0.38, 0.62), height * random.range(0.4, 0.6)]
  glow(stage, x, y, unit * 0.9, palette.dark ? palette.shade(0.45) : palette.shade(1), palette.dark ? 0.5 : 0.7)
  if (palette.dark) scatterStars(stage, 220, height * 1.2, palette.ink)

  const rings = random.int(9, 12)
  let radius = unit * random.range(0.1, 0.13)
  const planets: { x: number; y: number; size: number; color: Color; light: number }[] = []
  // In a long picture they go on to its far end, ever wider apart.
  const isLong = Math.max(width, height) > 1.3 * unit
  const far = isLong ? Math.hypot(Math.max(x, width - x), Math.max(y, height - y)) : 0
  for (let ring = 0; ring < rings || radius < far; ring++) {
    const wide = ring < rings ? 1 : 1.8
    const band = unit * random.range(0.012, ring % 3 === 0 ? 0.07 : 0.04)
    radius += band / 2 + unit * random.range(0.008, 0.02) * wide ** 4
    paintRing(stage, x, y, radius, band, ring)
    if (random.chance(0.62)) {
      const angle = random.range(0, 2 * Math.PI)
      planets.push({
        x: x + Math.cos(angle) * radius,
        y: y + Math.sin(angle) * radius,
        size: unit * random.range(0.008, 0.03) + band * 0.25,
        color: palette.accent(ring + 1),
        light: angle + Math.PI,
      })
    }
    radius += band / 2
  }
  paintSphere(stage, x, y, unit * random.range(0.085, 0.115), palette.accent(0), random.range(3.5, 4.6))
  context.lineWidth = unit * 0.0012
  context.strokeStyle = css(palette.ink, 0.5)
  const axis = random.range(0, Math.PI)
  for (const reach of [-1, 1]) {
    context.beginPath()
    context.moveTo(x + Math.cos(axis) * unit * 0.14 * reach, y + Math.sin(axis) * unit * 0.14 * reach)
    context.lineTo(x + Math.cos(axis) * radius * 1.12 * reach, y + Math.sin(axis) * radius * 1.12 * reach)
    context.stroke()
  }
  for (const planet of planets) {
    disc(stage, planet.x, planet.y, planet.size * 1.5, palette.ground)
    paintSphere(stage, planet.x, planet.y, planet.size, planet.color, planet.light)
  }
}

/** A ring in one of a few manners: a fine line, a band that fades around, a row of dots, or ticks. */
function paintRing(stage: Stage, x: number, y: number, radius: number, band: number, ring: number): void {
  const { context, unit, random, palette } = stage
  const color = random.chance(0.55) ? palette.accent(ring) : palette.shade(random.range(0.25, 0.7))
  const manner = random.float()
  context.lineCap = 'butt'
  context.lineWidth = unit * 0.0014
  context.strokeStyle = css(palette.ink, 0.38)
  context.beginPath()
  context.arc(x, y, radius, 0, 2 * Math.PI)
  context.stroke()
  if (manner < 0.55) {
    sweep(stage, x, y, radius, band, color)
  } else if (manner < 0.75) {
    const count = Math.floor((2 * Math.PI * radius) / (band * 0.7 + unit * 0.014))
    for (let i = 0; i < count; i++) {
      const angle = (i / count) * 2 * Math.PI
      disc(
        stage,
        x + Math.cos(angle) * radius,
        y + Math.sin(angle) * radius,
        Math.min(band * 0.16, unit * 0.005) * (1 + 0.5 * Math.sin(angle * 2)),
        color,
      )
    }
  } else {
    const count = Math.round(random.range(90, 220))
    context.strokeStyle = css(color, 0.9)
    context.lineWidth = unit * 0.0018
    for (let i = 0; i < count; i++) {
      const angle = (i / count) * 2 * Math.PI
      const tall = band * (i % 5 === 0 ? 0.5 : 0.28)
      context.beginPath()
      context.moveTo(x + Math.cos(angle) * (radius - tall), y + Math.sin(angle) * (radius - tall))
      context.lineTo(x + Math.cos(angle) * (radius + tall), y + Math.sin(angle) * (radius + tall))
      context.stroke()
    }
  }
}

/** An arc that is full at its head and fades along its tail. */
function sweep({ context, random }: Stage, x: number, y: number, radius: number, band: number, color: Color): void {
  const start = random.range(0, 2 * Math.PI)
  const length = random.range(0.35, 0.95)
  // The canvas does not turn the gradient by a start angle, so the whole canvas is turned.
  context.save()
  context.translate(x, y)
  context.rotate(start)
  const gradient = context.createConicGradient(0, 0, 0)
  for (let i = 0; i <= 8; i++)
    gradient.addColorStop((i / 8) * length, css(lighten(color, 0.06 * (i / 8)), 0.06 + 0.94 * (i / 8) ** 1.6))
  context.strokeStyle = gradient
  context.lineWidth = band
  context.beginPath()
  context.arc(0, 0, radius, 0, length * 2 * Math.PI)
  context.stroke()
  context.restore()
}

function paintSphere(stage: Stage, x: number, y: number, radius: number, color: Color, light: number): void {
  const { context } = stage
  const [lx, ly] = [x + Math.cos(light) * radius * 0.45, y + Math.sin(light) * radius * 0.45]
  const gradient = context.createRadialGradient(lx, ly, radius * 0.05, x, y, radius)
  gradient.addColorStop(0, css(lighten(color, 0.14)))
  gradient.addColorStop(0.5, css(color))
  gradient.addColorStop(1, css(lighten(color, -0.17)))
  context.beginPath()
  context.arc(x, y, radius, 0, 2 * Math.PI)
  context.fillStyle = gradient
  context.fill()
}

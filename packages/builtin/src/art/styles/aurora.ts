// Style `aurora`: northern lights over mountains and a still lake.

import { type Color, css, lighten, mix } from '../../color.ts'
import { fractal } from '../random.ts'
import { fillSky, glow, scatterStars, type Stage, type Style } from '../stage.ts'

export const aurora: Style = { grain: 0.2, vignette: 0.25, paint }

function paint(stage: Stage): void {
  const { context, width, height, unit, random, palette } = stage
  const shore = height * random.range(0.7, 0.78)
  const [deep, low] = [
    mix(palette.shade(0), { l: 0.1, c: 0.03, h: 270 }, 0.5),
    mix(mix(palette.shade(0.3), palette.shade(0.12), 0.4), { l: 0.16, c: 0.05, h: 265 }, 0.45),
  ]
  fillSky(
    stage,
    Array.from({ length: 7 }, (_, i) => [i / 6, mix(deep, low, (i / 6) ** 1.5)]),
    shore,
  )
  scatterStars(stage, 340, shore, lighten(palette.shade(1), 0.02))
  const colors = lightColors(stage)
  context.globalCompositeOperation = 'screen'
  glow(stage, width * random.range(0.3, 0.7), shore * 0.8, unit * 0.75, colors[0], 0.4)
  const ribbons = random.int(3, 4)
  for (let ribbon = 0; ribbon < ribbons; ribbon++)
    paintRibbon(stage, shore, ribbon / Math.max(1, ribbons - 1), ribbon, colors)
  context.globalCompositeOperation = 'source-over'
  paintMountains(stage, shore, 0.11, mix(low, palette.shade(0.06), 0.5), 3.1)
  paintMountains(stage, shore, 0.055, mix(deep, palette.shade(0.02), 0.6), 9.7)
  reflect(stage, shore, deep)
}

function lightColors({ palette }: Stage): [Color, Color, Color] {
  // Green, cyan and violet in the night; in other palettes their own accents, as bright as light has to be.
  const hue = (palette.shade(0.5).h + 360) % 360
  const isNight = palette.dark || hue > 130
  if (isNight)
    return [
      { l: 0.8, c: 0.21, h: 155 + (hue % 20) },
      { l: 0.72, c: 0.14, h: 195 },
      { l: 0.56, c: 0.22, h: 312 },
    ]
  return [bright(palette.accent(0), 0.76), bright(palette.accent(2), 0.7), bright(palette.accent(1), 0.55)]
}

function bright(color: Color, l: number): Color {
  return { l, c: Math.max(0.17, color.c), h: color.h }
}

/** A curtain: every column of it is a streak that rises from a wandering edge and fades. */
function paintRibbon(
  stage: Stage,
  shore: number,
  depth: number,
  index: number,
  [base, middle, tip]: readonly [Color, Color, Color],
): void {
  const { context, width, unit, random, noise } = stage
  const edge = shore * (0.46 + 0.3 * depth) - unit * 0.04 * random.float()
  const slope = random.range(-0.34, 0.34)
  const salt = index * 23.1
  const step = Math.max(1, unit / 420)
  const strength = 1 - 0.15 * index
  for (let x = -step; x < width + step; x += step) {
    const u = x / unit
    const fold = fractal(noise, u * 1.1 + salt, salt, 3)
    const bottom = edge + slope * (x - width / 2) + unit * (0.24 * fold + 0.035 * noise(u * 5.5 + salt, 2.2))
    const rays = 0.55 + 0.45 * fractal(noise, u * 16 + salt, fold * 2.5, 3, 0.65)
    const presence = Math.min(1, Math.max(0, 0.5 + 1.25 * noise(u * 1.5 - salt, 7.7)))
    const alpha = Math.min(1, strength * presence * (0.45 + 0.85 * rays))
    const tall = unit * (0.16 + 0.34 * presence) * (0.6 + 0.7 * rays)
    if (alpha < 0.01) continue
    const gradient = context.createLinearGradient(0, bottom + unit * 0.025, 0, bottom - tall)
    gradient.addColorStop(0, css(base, 0))
    gradient.addColorStop(0.07, css(lighten(base, 0.08), alpha))
    gradient.addColorStop(0.3, css(base, alpha * 0.78))
    gradient.addColorStop(0.6, css(middle, alpha * 0.45))
    gradient.addColorStop(0.8, css(tip, alpha * 0.3))
    gradient.addColorStop(1, css(tip, 0))
    context.fillStyle = gradient
    // Columns share pixels at fractional places, so they are drawn on whole ones.
    context.fillRect(
      Math.round(x),
      bottom - tall,
      Math.max(1, Math.round(x + step) - Math.round(x)),
      tall + unit * 0.025,
    )
  }
}

function paintMountains(
  { context, width, unit, noise }: Stage,
  shore: number,
  rise: number,
  color: Color,
  salt: number,
): void {
  const step = Math.max(1, unit / 500)
  context.beginPath()
  context.moveTo(-step, shore)
  for (let x = -step; x <= width + step; x += step) {
    const u = x / unit
    const ridge = 1 - Math.abs(fractal(noise, u * 2 + salt, salt, 5, 0.48)) * 2.2
    context.lineTo(x, shore - unit * rise * (0.25 + Math.max(0, 0.75 * ridge + 0.45 * noise(u * 0.9 + salt, 1.5))))
  }
  context.lineTo(width + step, shore + 1)
  context.closePath()
  context.fillStyle = css(color)
  context.fill()
}

/** The lake: what stands above it upside down, darker, and broken by ripples that widen towards us. */
function reflect({ context, width, height, unit, noise, palette }: Stage, shore: number, deep: Color): void {
  const depth = height - shore
  const sky = context.getImageData(0, 0, width, Math.ceil(shore))
  const water = context.getImageData(0, Math.floor(shore), width, height - Math.floor(shore))
  const rows = water.height
  for (let row = 0; row < rows; row++) {
    const near = row / rows
    const y = row / unit
    const source = Math.min(
      sky.height - 1,
      Math.max(0, Math.round(sky.height - 1 - row * 1.75 - unit * 0.02 * near * noise(y * (90 - 50 * near), 3))),
    )
    const shift = unit * (0.002 + 0.012 * near) * noise(y * (120 - 70 * near), 11)
    const dim = 0.78 - 0.3 * near
    for (let x = 0; x < width; x++) {
      const from = (source * width + Math.min(width - 1, Math.max(0, Math.round(x + shift)))) * 4
      const to = (row * width + x) * 4
      for (let c = 0; c < 3; c++) water.data[to + c] = (sky.data[from + c] as number) * dim
      water.data[to + 3] = 255
    }
  }
  context.putImageData(water, 0, Math.floor(shore))
  const veil = context.createLinearGradient(0, shore, 0, height)
  veil.addColorStop(0, css(palette.shade(0.5), 0.1))
  veil.addColorStop(0.12, css(deep, 0.08))
  veil.addColorStop(1, css(deep, 0.5))
  context.fillStyle = veil
  context.fillRect(0, shore, width, depth)
  context.fillStyle = css(lighten(palette.shade(0.9), 0), 0.18)
  context.fillRect(0, Math.round(shore), width, Math.max(1, unit * 0.0012))
}

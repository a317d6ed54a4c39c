// Style `ridges`: hills behind hills in haze, before a low sun.

import { type Color, css, lighten, mix } from '../../color.ts'
import { fractal } from '../random.ts'
import { birds, disc, fillSky, glow, linearGradient, scatterStars, type Stage, type Style } from '../stage.ts'

export const ridges: Style = { grain: 0.22, vignette: 0.22, paint }

function paint(stage: Stage): void {
  const { width, height, unit, random, palette } = stage
  const horizon = height * random.range(0.5, 0.62)
  const haze = palette.dark ? palette.shade(0.62) : palette.shade(0.9)
  const zenith = palette.dark ? palette.shade(0.08) : palette.shade(random.range(0.42, 0.6))
  fillSky(stage, skyStops(stage, zenith, haze), horizon * 1.15)
  if (palette.dark) scatterStars(stage, 260, horizon * 0.8, palette.ink)
  paintSun(
    stage,
    width * random.range(0.28, 0.72),
    horizon - unit * random.range(0.04, 0.2),
    unit * random.range(0.07, 0.13),
  )
  birds(
    stage,
    width * random.range(0.25, 0.75),
    horizon * random.range(0.35, 0.55),
    random.int(3, 7),
    palette.shade(0.15),
  )

  const count = random.int(6, 8)
  const near = palette.shade(0)
  for (let layer = 0; layer < count; layer++) {
    const t = layer / (count - 1)
    const top = horizon + (height * 1.02 - horizon) * t ** 1.25 * 0.82
    const color = mix(mix(haze, palette.shade(0.45), 0.25 + 0.5 * t), near, t ** 1.4)
    paintRidge(
      stage,
      layer,
      top,
      unit * (0.05 + 0.11 * (1 - Math.abs(t - 0.35))),
      color,
      mix(color, haze, 0.5 * (1 - t)),
      t,
    )
  }
}

function skyStops(stage: Stage, zenith: Color, haze: Color): [number, Color][] {
  const glowing = mix(haze, stage.palette.accent(0), stage.palette.dark ? 0.12 : 0.28)
  return Array.from({ length: 9 }, (_, i) => [
    i / 8,
    i < 6 ? mix(zenith, glowing, (i / 6) ** 1.15) : mix(glowing, haze, (i - 6) / 2),
  ])
}

function paintSun(stage: Stage, x: number, y: number, radius: number): void {
  const { palette } = stage
  const light = palette.dark ? palette.accent(0) : lighten(palette.shade(1), 0.03)
  stage.context.globalCompositeOperation = 'screen'
  glow(stage, x, y, radius * 7, mix(light, palette.accent(0), 0.4), 0.5)
  glow(stage, x, y, radius * 2.6, light, 0.55)
  stage.context.globalCompositeOperation = 'source-over'
  disc(stage, x, y, radius, light)
}

/** One hill from edge to edge; the last ones carry trees. */
function paintRidge(
  stage: Stage,
  layer: number,
  top: number,
  amplitude: number,
  color: Color,
  foot: Color,
  nearness: number,
): void {
  const { context, width, height, unit, noise } = stage
  const frequency = (2.6 - 1.3 * nearness) / unit
  const step = Math.max(1, unit / 500)
  const crest = (x: number): number => {
    const broad = fractal(noise, x * frequency + layer * 31.7, layer * 5.3, 6, 0.46)
    return (
      top - amplitude * (0.4 + 1.25 * (broad + 0.35 * (1 - Math.abs(noise(x * frequency * 0.8 + layer * 11, 3.1)) * 2)))
    )
  }
  context.beginPath()
  context.moveTo(-step, height)
  for (let x = -step; x <= width + step; x += step) context.lineTo(x, crest(x))
  context.lineTo(width + step, height)
  context.closePath()
  context.fillStyle = linearGradient(
    stage,
    [0, top - amplitude * 1.2],
    [0, top + unit * 0.3],
    [
      [0, color],
      [0.25, color],
      [1, foot],
    ],
  )
  context.fill()
  if (nearness > 0.5) plantTrees(stage, crest, color, nearness)
}

function plantTrees(stage: Stage, crest: (x: number) => number, color: Color, nearness: number): void {
  const { context, width, unit, random, noise } = stage
  context.fillStyle = css(color)
  const size = unit * 0.02 * nearness ** 2.5
  for (let x = 0; x < width; x += size * random.range(0.25, 1.1)) {
    if (noise((x / unit) * 3 + nearness * 50, 8.2) < -0.05) continue
    const tall = size * random.range(1.1, 2.8)
    const half = tall * random.range(0.14, 0.2)
    const foot = crest(x) + size * 0.4
    context.beginPath()
    for (let tier = 0; tier < 3; tier++) {
      const [tip, base, wide] = [
        foot - tall * (1 - tier * 0.22),
        foot - tall * (0.52 - tier * 0.26),
        half * (0.55 + tier * 0.25),
      ]
      context.moveTo(x, tip)
      context.lineTo(x + wide, base)
      context.lineTo(x - wide, base)
      context.closePath()
    }
    context.fill()
  }
}

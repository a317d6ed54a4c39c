// Style `nebula`: clouds of gas, stars, and sometimes a planet before them.

import { createCanvas } from '@napi-rs/canvas'
import { type Color, css, lighten, mix, toRgb } from '../../color.ts'
import { fractal } from '../random.ts'
import { disc, glow, type Stage, type Style } from '../stage.ts'

export const nebula: Style = { grain: 0.24, vignette: 0.3, paint }

// Clouds are soft: computed small and enlarged, they look the same and take a fraction of the time.
const cloudSide = 360

function paint(stage: Stage): void {
  const { width, height, random, palette } = stage
  paintClouds(stage)
  stage.context.globalCompositeOperation = 'screen'
  paintStars(stage)
  stage.context.globalCompositeOperation = 'source-over'
  if (random.chance(0.6))
    paintPlanet(
      stage,
      width * random.range(0.2, 0.8),
      height * random.range(0.6, 0.8),
      stage.unit * random.range(0.07, 0.14),
    )
  else glow(stage, width / 2, height / 2, stage.unit * 0.2, palette.shade(1), 0.05)
}

function paintClouds(stage: Stage): void {
  const { context, width, height, unit, random, noise, palette } = stage
  const scale = Math.min(1, cloudSide / Math.max(width, height))
  const [columns, rows] = [Math.max(2, Math.round(width * scale)), Math.max(2, Math.round(height * scale))]
  const canvas = createCanvas(columns, rows)
  const small = canvas.getContext('2d')
  const image = small.createImageData(columns, rows)
  const void_ = mix(palette.shade(0), { l: 0.08, c: 0.03, h: 275 }, 0.65)
  const colors = [
    vivid(palette.shade(0.5), 0.5),
    vivid(palette.accent(1), 0.6),
    vivid(palette.accent(2), 0.68),
    mix(palette.accent(0), palette.shade(1), 0.5),
  ].map(toRgb)
  const ground = toRgb(void_)
  const salt = random.range(0, 40)
  const tilt = random.range(-0.9, 0.9)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [x, y] = [((column / columns) * width) / unit, ((row / rows) * height) / unit]
      const warpX = fractal(noise, x * 1.7 + salt, y * 1.7, 3)
      const warpY = fractal(noise, x * 1.7 - salt, y * 1.7 + 5, 3)
      const gas = fractal(noise, x * 1.5 + warpX * 0.75 + salt, y * 1.5 + warpY * 0.75, 5, 0.55)
      const fine = fractal(noise, x * 3.2 + warpY * 1.1, y * 3.2 + warpX * 1.1 - salt, 5, 0.6)
      // A band across the sky, where most of the gas is.
      const across = y - height / unit / 2 - tilt * (x - width / unit / 2) + 0.14 * warpX
      const band = Math.exp(-(across * across) / 0.1)
      const dust = Math.max(0, -fine) * 1.15 * band
      const amounts = [
        Math.max(0, gas + 0.2 + band * 0.5) * 0.95,
        Math.max(0, fine * 1.3 + band * 0.25) * (0.5 + band),
        Math.max(0, gas * fine * 3.2 + band * 0.08),
        Math.max(0, band * (0.6 + fine) - 0.32) * 0.95,
      ]
      const at = (row * columns + column) * 4
      for (let c = 0 as 0 | 1 | 2; c < 3; c++) {
        let dark = 1 - (ground[c] ?? 0) / 255
        amounts.forEach((amount, i) => (dark *= 1 - Math.min(0.95, amount * 0.85) * ((colors[i]?.[c] ?? 0) / 255)))
        image.data[at + c] = 255 * (1 - dark) * (1 - Math.min(0.8, dust))
      }
      image.data[at + 3] = 255
    }
  }
  small.putImageData(image, 0, 0)
  context.imageSmoothingEnabled = true
  context.imageSmoothingQuality = 'high'
  context.drawImage(canvas, 0, 0, width, height)
}

/** A colour as bright and strong as glowing gas. */
function vivid(color: Color, l: number): Color {
  return { l, c: Math.max(0.15, color.c * 1.3), h: color.h }
}

function paintStars(stage: Stage): void {
  const { width, height, unit, random, palette } = stage
  const count = Math.round(((width * height) / unit ** 2) * 1100)
  for (let i = 0; i < count; i++) {
    const brightness = random.float() ** 14
    const [x, y] = [random.range(0, width), random.range(0, height)]
    const color = mix({ l: 0.97, c: 0.02, h: 230 }, palette.accent(random.int(0, 3)), random.range(0, 0.35))
    disc(stage, x, y, unit * (0.00045 + 0.0019 * brightness), color, 0.2 + 0.7 * random.float() ** 2)
    if (brightness > 0.3) glow(stage, x, y, unit * 0.03 * brightness, color, 0.5)
    if (brightness > 0.86) spikes(stage, x, y, unit * 0.045 * brightness, color)
  }
}

function spikes({ context }: Stage, x: number, y: number, length: number, color: Color): void {
  for (let arm = 0; arm < 4; arm++) {
    const angle = (arm * Math.PI) / 2
    const [dx, dy] = [Math.cos(angle) * length, Math.sin(angle) * length]
    const gradient = context.createLinearGradient(x, y, x + dx, y + dy)
    gradient.addColorStop(0, css(color, 0.85))
    gradient.addColorStop(1, css(color, 0))
    context.strokeStyle = gradient
    context.lineWidth = length * 0.035
    context.beginPath()
    context.moveTo(x, y)
    context.lineTo(x + dx, y + dy)
    context.stroke()
  }
}

function paintPlanet(stage: Stage, x: number, y: number, radius: number): void {
  const { context, random, palette } = stage
  const color = palette.accent(0)
  const tilt = random.range(-0.5, 0.5)
  const ringed = random.chance(0.6)
  if (ringed) paintRings(stage, x, y, radius, tilt, Math.PI, 2 * Math.PI)
  context.save()
  context.beginPath()
  context.arc(x, y, radius, 0, 2 * Math.PI)
  context.clip()
  context.translate(x, y)
  context.rotate(tilt)
  for (let band = -radius; band < radius; band += radius * 0.045) {
    context.fillStyle = css(lighten(mix(color, palette.shade(0.7), random.float() * 0.6), random.gauss() * 0.03))
    context.fillRect(-radius, band, 2 * radius, radius * 0.06)
  }
  context.rotate(-tilt)
  const shade = context.createRadialGradient(
    -radius * 0.6,
    -radius * 0.6,
    radius * 0.2,
    -radius * 0.25,
    -radius * 0.25,
    radius * 1.35,
  )
  shade.addColorStop(0, css(palette.shade(1), 0.28))
  shade.addColorStop(0.4, css(palette.shade(0), 0.12))
  shade.addColorStop(1, css({ l: 0.07, c: 0.02, h: 275 }, 0.97))
  context.fillStyle = shade
  context.fillRect(-radius, -radius, 2 * radius, 2 * radius)
  context.restore()
  if (ringed) paintRings(stage, x, y, radius, tilt, 0, Math.PI)
}

function paintRings(
  { context, palette }: Stage,
  x: number,
  y: number,
  radius: number,
  tilt: number,
  from: number,
  to: number,
): void {
  for (let ring = 0; ring < 7; ring++) {
    context.strokeStyle = css(mix(palette.shade(0.85), palette.accent(1), ring / 7), 0.75 - 0.08 * ring)
    context.lineWidth = radius * 0.055
    context.beginPath()
    context.ellipse(x, y, radius * (1.38 + ring * 0.085), radius * (0.34 + ring * 0.021), tilt, from, to)
    context.stroke()
  }
}

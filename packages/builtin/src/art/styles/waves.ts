// Style `waves`: a sea of bands, cut as if from paper, that roll towards us under a sun or moon.

import { type Color, css, lighten, mix } from '../../color.ts'
import { birds, disc, fillSky, glow, linearGradient, type Stage, type Style } from '../stage.ts'

export const waves: Style = { grain: 0.22, vignette: 0.16, paint }

function paint(stage: Stage): void {
  const { width, height, unit, random, palette } = stage
  const horizon = height * random.range(0.28, 0.55)
  const [zenith, low] = palette.dark
    ? [palette.shade(0.05), palette.shade(0.42)]
    : [palette.shade(0.62), palette.shade(0.98)]
  const warm = mix(low, palette.accent(0), 0.22)
  fillSky(
    stage,
    Array.from({ length: 7 }, (_, i) => [i / 6, i < 5 ? mix(zenith, warm, i / 5) : low]),
    horizon * 1.05,
  )
  const [sunX, sunRadius] = [width * random.range(0.2, 0.8), unit * random.range(0.08, 0.19)]
  const sunY = horizon - sunRadius * random.range(0.3, 1.4)
  glow(stage, sunX, sunY, sunRadius * 4, palette.accent(0), 0.4)
  disc(stage, sunX, sunY, sunRadius, palette.dark ? palette.shade(1) : mix(palette.accent(0), palette.shade(1), 0.1))
  birds(stage, width * random.range(0.2, 0.8), horizon * 0.45, random.int(3, 6), palette.shade(0.1))

  const count = random.int(7, 10)
  const swell = random.range(0.75, 1.35)
  const phase = random.range(0, 9)
  for (let band = 0; band < count; band++) {
    const t = band / (count - 1)
    const top = horizon + (height * 0.93 - horizon) * t ** 1.4
    const next = horizon + (height * 0.93 - horizon) * Math.min(1.3, (band + 1) / (count - 1)) ** 1.4
    const sea = mix(mix(palette.shade(0.74), low, 0.35 * (1 - t)), palette.shade(palette.dark ? 0.06 : 0.1), t ** 0.85)
    paintBand(stage, {
      top,
      room: next - top + unit * 0.02,
      t,
      phase: phase + band * 2.4,
      swell,
      color: sea,
      sunX,
      sunRadius,
    })
  }
}

interface Band {
  readonly top: number
  /** How far below it the next band begins. */
  readonly room: number
  readonly t: number
  readonly phase: number
  /** How high and long waves are today, around 1. */
  readonly swell: number
  readonly color: Color
  readonly sunX: number
  readonly sunRadius: number
}

function paintBand(stage: Stage, band: Band): void {
  const { context, width, height, unit, palette } = stage
  const { top, room, t, color } = band
  const crest = createCrest(stage, band)
  const lines = t < 0.12 ? 1 : 3
  trace(stage, crest, 0)
  context.lineTo(width + 2, height)
  context.lineTo(-2, height)
  context.closePath()
  const light = mix(lighten(color, 0.12), palette.shade(0.7), 0.22)
  context.fillStyle = linearGradient(
    stage,
    [0, top - room * 0.7],
    [0, top + room * 1.5],
    [
      [0, lighten(light, 0.05)],
      [0.35, color],
      [1, lighten(color, -0.09)],
    ],
  )
  // Each band lies above the one behind it.
  context.save()
  context.shadowColor = css(palette.shade(0.02), 0.1 + 0.32 * t)
  context.shadowBlur = unit * (0.008 + 0.03 * t)
  context.shadowOffsetY = -unit * 0.006 * t
  context.fill()
  context.restore()
  // A rim of light along the crest, and fainter lines that tell its roundness.
  for (let line = 0; line < lines; line++) {
    const fade = (1 - line / lines) ** 1.4
    trace(stage, crest, line === 0 ? unit * (0.001 + 0.003 * t) : room * (0.06 + line * 0.13))
    context.strokeStyle = css(
      line === 0 ? palette.shade(1) : mix(lighten(color, 0.2), palette.shade(0.95), 0.3),
      line === 0 ? 0.35 + 0.2 * t : 0.17 * fade,
    )
    context.lineWidth = unit * (line === 0 ? 0.0016 + 0.0024 * t : 0.001 + 0.0014 * t)
    context.stroke()
  }
  paintGlitter(stage, band, crest)
  if (t > 0.3) paintFoam(stage, band, crest)
}

/** Waves lean forward: sharp above, round below. */
function createCrest({ unit, noise }: Stage, { top, room, t, phase, swell }: Band): (x: number) => number {
  const length = unit * (0.1 + 0.42 * t) * swell
  const tall = Math.min(room * 0.7, unit * (0.006 + 0.085 * t) * swell)
  return (x) => {
    const wander = noise((x / unit) * 1.1 + phase * 3, phase)
    const angle = (x / length) * Math.PI * 2 + phase + wander * 1.6
    const lean = Math.sin(angle + 0.55 * Math.sin(angle))
    return top - tall * (lean * (0.65 + 0.5 * wander) + 0.3 * Math.sin(angle * 0.43 + phase * 2))
  }
}

function trace({ context, width, unit }: Stage, crest: (x: number) => number, below: number): void {
  const step = Math.max(1, unit / 480)
  context.beginPath()
  for (let x = -2; x <= width + step; x += step) context.lineTo(x, crest(x) + below)
}

/** The path of light below the sun. */
function paintGlitter(
  { context, unit, random, palette }: Stage,
  { t, room, sunX, sunRadius }: Band,
  crest: (x: number) => number,
): void {
  const light = mix(palette.accent(0), palette.shade(1), 0.55)
  context.lineCap = 'round'
  for (let i = 0; i < 26; i++) {
    const x = sunX + random.gauss() * sunRadius * (0.5 + 0.9 * t)
    const y = crest(x) + room * random.range(0.08, 0.85)
    const half = unit * random.range(0.004, 0.02) * (0.5 + t)
    context.strokeStyle = css(light, (0.75 - 0.5 * t) * random.range(0.3, 1))
    context.lineWidth = unit * (0.0012 + 0.0022 * t)
    context.beginPath()
    context.moveTo(x - half, y)
    context.lineTo(x + half, y)
    context.stroke()
  }
}

function paintFoam(stage: Stage, { t, room }: Band, crest: (x: number) => number): void {
  const { width, unit, random, noise, palette } = stage
  for (let i = 0; i < 260 * t; i++) {
    const x = random.range(0, width)
    if (noise((x / unit) * 3.3, t * 20) < 0.25) continue
    const off = Math.abs(random.gauss()) * room * 0.06
    disc(
      stage,
      x,
      crest(x) + off * (random.chance(0.7) ? 1 : -0.6),
      unit * random.range(0.0006, 0.0022) * t,
      palette.shade(1),
      0.75,
    )
  }
}

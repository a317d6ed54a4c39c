// Style `landscape`: a ride past hills in haze, the sun standing still behind them.

import type { SKRSContext2D } from '@napi-rs/canvas'
import { disc, fillSky, glow, linearGradient, type Stage } from '../../art/stage.ts'
import { type Color, css, lighten, mix } from '../../color.ts'
import { cycles, fraction, type MotionStage, type MotionStyle, turn } from '../stage.ts'

const layers = 6

interface Ridge {
  /** Height above its base at a place of its period, 0 … 1, in pixels. */
  readonly crest: Float32Array
  readonly period: number
  /** Whole periods that pass in the film. */
  readonly passes: number
  readonly base: number
  readonly color: Color
  readonly foot: Color
}

export const landscape: MotionStyle = (stage) => {
  const { width, height, unit, random, palette } = stage
  const horizon = height * random.range(0.52, 0.6)
  const sun = {
    x: width * random.range(0.3, 0.7),
    y: horizon - unit * random.range(0.08, 0.2),
    r: unit * random.range(0.1, 0.14),
    color: palette.dark ? { l: 0.95, c: 0.04, h: 95 } : lighten(palette.shade(1), 0.01),
  }
  const sky = Array.from({ length: 7 }, (_, i) =>
    palette.shade(palette.dark ? 0.04 + 0.46 * (i / 6) : 0.34 + 0.58 * (i / 6)),
  )
  const haze = sky.at(-1) as Color
  const ridges = Array.from({ length: layers }, (_, i) => createRidge(stage, i / (layers - 1), horizon, haze))
  const stars = palette.dark
    ? Array.from({ length: 150 }, () => ({
        x: random.float() * width,
        y: random.float() * horizon,
        size: unit * (0.0007 + 0.0014 * random.float() ** 3),
        offset: random.float(),
        rounds: cycles(stage, random.range(2, 5)),
      }))
    : []
  const flock = createFlock(stage, horizon)

  return (context, phase) => {
    const still: Stage = { ...stage, context }
    fillSky(
      still,
      sky.map((color, i) => [i / 6, color] as const),
      horizon + unit * 0.16,
    )
    for (const star of stars) {
      const twinkle = 0.55 + 0.45 * Math.sin(turn * (star.rounds * phase + star.offset))
      disc(still, star.x, star.y, star.size, sun.color, twinkle * (1 - (0.8 * star.y) / horizon))
    }
    glow(still, sun.x, sun.y, unit * 0.62, sun.color, palette.dark ? 0.32 : 0.6)
    disc(still, sun.x, sun.y, sun.r, sun.color)
    for (const [i, ridge] of ridges.entries()) {
      drawRidge(still, ridge, phase)
      if (i === 1) flock(context, phase)
    }
  }
}

function createRidge(stage: MotionStage, depth: number, horizon: number, haze: Color): Ridge {
  const { width, height, unit, random, palette } = stage
  const period = Math.max(width, height) * 1.6
  const tall = unit * (0.1 + 0.05 * depth)
  const roughness = 1.25 - 0.25 * depth
  // Waves that fit the period, each finer one lower: the end meets the beginning.
  const waves = Array.from({ length: 26 }, (_, i) => {
    const count = i + 2
    return { count, height: random.range(0.4, 1) / count ** roughness, offset: random.range(0, turn) }
  })
  const steps = Math.ceil(period / Math.max(2, unit / 240))
  const crest = Float32Array.from({ length: steps }, (_, step) => {
    let sum = 0
    for (const { count, height: h, offset } of waves) sum += h * Math.sin((turn * count * step) / steps + offset)
    return tall * sum
  })
  const near = depth ** 1.25
  const deep = palette.dark ? mix(palette.shade(0.02), { l: 0.08, c: 0.02, h: 270 }, 0.5) : palette.shade(0.04)
  const color = mix(mix(haze, palette.shade(palette.dark ? 0.3 : 0.55), 0.35), deep, near)
  return {
    crest,
    period,
    // Near ones pass faster: what is twice as near, twice as fast.
    passes: Math.max(1, Math.round((stage.seconds / 26) * (0.6 + 5.5 * depth ** 2))),
    base: horizon + (height * 1.02 - horizon) * (0.06 + 0.8 * depth ** 1.3),
    color,
    foot: mix(color, haze, 0.42 * (1 - depth)),
  }
}

function drawRidge(stage: Stage, { crest, period, passes, base, color, foot }: Ridge, phase: number): void {
  const { context, width, height, unit } = stage
  const step = period / crest.length
  const shift = fraction(phase * passes) * period
  const first = Math.floor(shift / step)
  context.beginPath()
  context.moveTo(-step, height)
  for (let i = -1; (i - 1) * step <= width + step; i++) {
    const index = (((first + i) % crest.length) + crest.length) % crest.length
    context.lineTo((first + i) * step - shift, base - crest[index]!)
  }
  context.lineTo(width + 2 * step, height)
  context.closePath()
  context.fillStyle = linearGradient(
    stage,
    [0, base - unit * 0.16],
    [0, base + unit * 0.26],
    [
      [0, color],
      [1, foot],
    ],
  )
  context.fill()
}

/** A few birds that cross the sky once and beat their wings. */
function createFlock(stage: MotionStage, horizon: number): (context: SKRSContext2D, phase: number) => void {
  const { width, unit, random, palette } = stage
  const birds = Array.from({ length: random.int(4, 7) }, () => ({
    dx: random.gauss() * unit * 0.07,
    dy: random.gauss() * unit * 0.035,
    span: unit * random.range(0.011, 0.018),
    beats: cycles(stage, random.range(0.55, 0.8)),
    offset: random.float(),
  }))
  const level = horizon * random.range(0.3, 0.5)
  const color = css(mix(palette.shade(0.05), palette.shade(0.4), 0.2), 0.85)
  const margin = unit * 0.35
  return (context, phase) => {
    context.strokeStyle = color
    context.lineCap = 'round'
    for (const { dx, dy, span, beats, offset } of birds) {
      const x = -margin + (width + 2 * margin) * phase + dx
      const y = level + dy + unit * 0.02 * Math.sin(turn * (phase * 2 + offset))
      const lift = Math.sin(turn * (beats * phase + offset))
      context.lineWidth = span * 0.15
      context.beginPath()
      context.moveTo(x - span, y - span * 0.55 * lift)
      context.quadraticCurveTo(x - span * 0.4, y - span * 0.35, x, y)
      context.quadraticCurveTo(x + span * 0.4, y - span * 0.35, x + span, y - span * 0.55 * lift)
      context.stroke()
    }
  }
}

// Style `particles`: sparks with long tails that follow the currents of an invisible river.

import type { SKRSContext2D } from '@napi-rs/canvas'
import { fractal } from '../../art/random.ts'
import { fillSky, glow } from '../../art/stage.ts'
import { type Color, css, lighten, mix } from '../../color.ts'
import { cycles, fraction, type MotionStage, type MotionStyle } from '../stage.ts'

const particlesPerFrame = 480
const pointsPerPath = 60
const brightnesses = 4
/** How much larger than usual sparks are: far ones, and a few near ones. */
const sizes = [0.7, 1, 1.9] as const
/** A tail is drawn in parts, each shorter, wider and brighter than the one below it: it fades without an end. */
const parts = [
  { share: 0.3, width: 0.0022, alpha: 0.2, light: 0 },
  { share: 0.19, width: 0.0028, alpha: 0.3, light: 0 },
  { share: 0.09, width: 0.0036, alpha: 0.5, light: 0.06 },
  { share: 0.014, width: 0.0046, alpha: 1, light: 0.16 },
] as const

interface Particle {
  /** x and y by turns. */
  readonly path: Float32Array
  readonly offset: number
  readonly rounds: number
  readonly color: number
  /** Which of the sizes. */
  readonly depth: number
}

export const particles: MotionStyle = (stage) => {
  const { random, unit, palette } = stage
  const colors = [0, 1, 2, 3].map((i) => {
    const accent = palette.accent(i)
    return { ...accent, l: Math.min(0.8, Math.max(0.62, accent.l)), c: Math.max(0.13, accent.c) }
  })
  const all = Array.from({ length: particlesPerFrame }, () => createParticle(stage, colors.length))
  const ground = [
    mix(palette.shade(0), { l: 0.1, c: 0.03, h: palette.shade(0.1).h }, 0.6),
    palette.shade(0.12),
  ] as const
  const eyes = [0, 1].map((i) => ({
    x: random.range(0.2, 0.8),
    y: random.range(0.25, 0.75),
    color: colors[i] as Color,
  }))
  const slow = cycles(stage, 9)

  return (context, phase) => {
    const still = { ...stage, context }
    fillSky(still, [
      [0, ground[0]],
      [1, mix(ground[0], ground[1], 0.8)],
    ])
    context.save()
    context.globalCompositeOperation = 'lighter'
    for (const [i, { x, y, color }] of eyes.entries()) {
      const pulse = 0.16 + 0.05 * Math.sin(2 * Math.PI * (slow * phase + i / 2))
      glow(still, x * stage.width, y * stage.height, unit * 0.75, color, pulse)
    }
    context.lineCap = 'round'
    context.lineJoin = 'round'
    drawTails(context, all, phase, colors, unit)
    context.restore()
  }
}

function createParticle(stage: MotionStage, colors: number): Particle {
  const { random, noise, unit, width, height } = stage
  const depth = random.chance(0.14) ? 2 : random.chance(0.5) ? 1 : 0
  // What is near goes faster.
  const step = unit * random.range(0.006, 0.009) * (0.75 + 0.3 * depth)
  const path = new Float32Array(2 * pointsPerPath)
  let [x, y] = [random.range(-0.1, 1.1) * width, random.range(-0.1, 1.1) * height]
  for (let i = 0; i < pointsPerPath; i++) {
    path[2 * i] = x
    path[2 * i + 1] = y
    // Along the lines of equal height of a landscape: currents that never meet.
    const [u, v, d] = [x / unit, y / unit, 0.01]
    const height0 = fractal(noise, u * 1.15, v * 1.15, 2)
    const dx = fractal(noise, (u + d) * 1.15, v * 1.15, 2) - height0
    const dy = fractal(noise, u * 1.15, (v + d) * 1.15, 2) - height0
    const length = Math.hypot(dx, dy) || 1
    x += (dy / length) * step + step * 0.25
    y += (-dx / length) * step
  }
  return {
    path,
    offset: random.float(),
    rounds: cycles(stage, random.range(2.4, 4.2)),
    color: Math.min(colors - 1, Math.floor(random.float() ** 1.6 * colors)),
    depth,
  }
}

/** Strokes of one colour, size and brightness are drawn as one: that is what makes hundreds of them cheap. */
function drawTails(
  context: SKRSContext2D,
  all: readonly Particle[],
  phase: number,
  colors: readonly Color[],
  unit: number,
): void {
  const count = colors.length * sizes.length * brightnesses
  const buckets = Array.from({ length: count }, (): [Float32Array, number][] => [])
  for (const { path, offset, rounds, color, depth } of all) {
    const life = fraction(phase * rounds + offset)
    const strength = Math.min(1, 4.5 * life * (1 - life))
    const level = Math.min(brightnesses - 1, Math.floor(strength * brightnesses))
    buckets[(color * sizes.length + depth) * brightnesses + level]?.push([path, life])
  }
  for (const [bucket, members] of buckets.entries()) {
    if (members.length === 0) continue
    const color = colors[Math.floor(bucket / brightnesses / sizes.length)] as Color
    const size = sizes[Math.floor(bucket / brightnesses) % sizes.length] ?? 1
    const strength = ((bucket % brightnesses) + 0.6) / brightnesses
    for (const part of parts) {
      context.beginPath()
      for (const [path, life] of members) trace(context, path, life - part.share, life)
      context.strokeStyle = css(lighten(color, part.light), part.alpha * strength)
      context.lineWidth = unit * part.width * size
      context.stroke()
    }
  }
}

/** Adds the part of a path between two shares of its length, to a fraction of a point. */
function trace(context: SKRSContext2D, path: Float32Array, from: number, to: number): void {
  const last = pointsPerPath - 1
  const [start, end] = [Math.max(0, from) * last, Math.min(1, to) * last]
  if (end <= start) return
  const at = (position: number): readonly [number, number] => {
    const i = Math.min(last - 1, Math.floor(position))
    const t = position - i
    return [path[2 * i]! * (1 - t) + path[2 * i + 2]! * t, path[2 * i + 1]! * (1 - t) + path[2 * i + 3]! * t]
  }
  context.moveTo(...at(start))
  for (let i = Math.ceil(start); i < end; i++) context.lineTo(path[2 * i]!, path[2 * i + 1]!)
  context.lineTo(...at(end))
}

// Style `particles`: thousands of sparks that follow the currents of an invisible river.

import type { SKRSContext2D } from '@napi-rs/canvas'
import { fractal } from '../../art/random.ts'
import { fillSky, glow } from '../../art/stage.ts'
import { type Color, css, lighten, mix } from '../../color.ts'
import { cycles, fraction, type MotionStage, type MotionStyle } from '../stage.ts'

const particlesPerFrame = 720
const pointsPerPath = 60
/** How much of its path a spark and its tail take. */
const tailShare = 0.22
const brightnesses = 4

interface Particle {
  /** x and y by turns. */
  readonly path: Float32Array
  readonly offset: number
  readonly rounds: number
  readonly group: number
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
    context.lineCap = 'butt'
    drawTails(context, all, phase, colors, unit)
    context.restore()
  }
}

function createParticle(stage: MotionStage, groups: number): Particle {
  const { random, noise, unit, width, height } = stage
  const step = unit * random.range(0.0055, 0.011)
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
    group: Math.min(groups - 1, Math.floor(random.float() ** 1.6 * groups)),
  }
}

/** Strokes of one colour and brightness are drawn as one: that is what makes thousands of them cheap. */
function drawTails(
  context: SKRSContext2D,
  all: readonly Particle[],
  phase: number,
  colors: readonly Color[],
  unit: number,
): void {
  const buckets = Array.from({ length: colors.length * brightnesses }, (): [Particle, number][] => [])
  for (const particle of all) {
    const life = fraction(phase * particle.rounds + particle.offset)
    const strength = Math.min(1, 4.5 * life * (1 - life))
    const level = Math.min(brightnesses - 1, Math.floor(strength * brightnesses))
    buckets[particle.group * brightnesses + level]?.push([particle, life])
  }
  for (const [bucket, members] of buckets.entries()) {
    const color = colors[Math.floor(bucket / brightnesses)] as Color
    const strength = ((bucket % brightnesses) + 0.6) / brightnesses
    context.beginPath()
    for (const [{ path }, life] of members) trace(context, path, life - tailShare, life)
    context.strokeStyle = css(color, 0.42 * strength)
    context.lineWidth = unit * 0.0034
    context.stroke()
    context.beginPath()
    for (const [{ path }, life] of members) trace(context, path, life - tailShare * 0.12, life)
    context.strokeStyle = css(lighten(color, 0.14), strength)
    context.lineWidth = unit * 0.0042
    context.stroke()
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

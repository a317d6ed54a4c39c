// What a style paints on: the canvas, its chance and its colours; and a few strokes that several styles share.

import type { SKRSContext2D } from '@napi-rs/canvas'
import { type Color, css } from '../color.ts'
import type { Palette } from './palette.ts'
import type { Noise, Random } from './random.ts'

/** Everything that a style may use. Lengths follow from `unit`, so that a picture looks alike at every size. */
export interface Stage {
  readonly context: SKRSContext2D
  readonly width: number
  readonly height: number
  /** The shorter side, in pixels. */
  readonly unit: number
  readonly random: Random
  readonly noise: Noise
  readonly palette: Palette
}

/** A way of painting. */
export interface Style {
  /** How strong the grain of the finished picture is, 0 … 1. */
  readonly grain: number
  /** How much its corners darken, 0 … 1. */
  readonly vignette: number
  paint(stage: Stage): void
}

/** A colour and where it stands on a gradient, 0 … 1. */
export type Stop = readonly [position: number, color: Color, alpha?: number]

/** What a canvas can be filled with from one point to another. */
export type Gradient = ReturnType<SKRSContext2D['createLinearGradient']>

/** A gradient from one point to another. The canvas mixes in sRGB: for far colours, give stops in between. */
export function linearGradient(
  stage: Stage,
  from: readonly [number, number],
  to: readonly [number, number],
  stops: readonly Stop[],
): Gradient {
  const gradient = stage.context.createLinearGradient(from[0], from[1], to[0], to[1])
  for (const [position, color, alpha] of stops) gradient.addColorStop(position, css(color, alpha))
  return gradient
}

/** Fills the whole canvas from top to bottom. */
export function fillSky(stage: Stage, stops: readonly Stop[], height = stage.height): void {
  stage.context.fillStyle = linearGradient(stage, [0, 0], [0, height], stops)
  stage.context.fillRect(0, 0, stage.width, height)
}

/** Light around a point that fades to nothing. */
export function glow(stage: Stage, x: number, y: number, radius: number, color: Color, alpha: number): void {
  const gradient = stage.context.createRadialGradient(x, y, 0, x, y, radius)
  // A falloff that ends softly: a straight one leaves a visible rim.
  for (let step = 0; step <= 8; step++) {
    const t = step / 8
    gradient.addColorStop(t, css(color, alpha * (1 - t) ** 2.2))
  }
  stage.context.fillStyle = gradient
  stage.context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius)
}

/** A filled circle. */
export function disc(stage: Stage, x: number, y: number, radius: number, fill: Color, alpha = 1): void {
  const { context } = stage
  context.beginPath()
  context.arc(x, y, radius, 0, 2 * Math.PI)
  context.fillStyle = css(fill, alpha)
  context.fill()
}

/** Stars of mixed brightness above `floor` (a height in pixels). */
export function scatterStars(stage: Stage, count: number, floor: number, color: Color): void {
  const { width, unit, random } = stage
  for (let i = 0; i < count; i++) {
    const brightness = random.float() ** 3
    const [x, y] = [random.range(0, width), random.range(0, floor)]
    disc(stage, x, y, unit * (0.0005 + 0.0014 * brightness), color, 0.25 + 0.75 * brightness * (1 - (0.7 * y) / floor))
    if (brightness > 0.8) glow(stage, x, y, unit * 0.012, color, 0.35)
  }
}

/** A few far birds, each two strokes. */
export function birds(stage: Stage, x: number, y: number, count: number, color: Color): void {
  const { context, unit, random } = stage
  context.strokeStyle = css(color, 0.8)
  context.lineCap = 'round'
  for (let i = 0; i < count; i++) {
    const span = unit * random.range(0.008, 0.016)
    const [left, top] = [x + unit * random.gauss() * 0.07, y + unit * random.gauss() * 0.03]
    context.lineWidth = span * 0.13
    context.beginPath()
    context.moveTo(left - span, top - span * random.range(0.2, 0.5))
    context.quadraticCurveTo(left - span * 0.3, top - span * 0.45, left, top)
    context.quadraticCurveTo(left + span * 0.3, top - span * 0.45, left + span, top - span * random.range(0.2, 0.5))
    context.stroke()
  }
}

// Style `gradient`: colours that flow into each other like light on silk.

import { createCanvas, ImageData } from '@napi-rs/canvas'
import { type Color, mix, toRgb } from '../../color.ts'
import { cycles, type MotionStage, type MotionStyle, type Scene, turn } from '../stage.ts'

/** Pixels along the longer side that are computed; the rest is in between. */
const computed = 176
const steps = 512

export const gradient: MotionStyle = (stage) => createGradient(stage, createRamp(stage), 7)

/** Colours that flow; one round of their movement takes about so many seconds. */
export function createGradient(stage: MotionStage, ramp: readonly Color[], secondsPerRound: number): Scene {
  const { width, height, random } = stage
  const scale = computed / Math.max(width, height)
  const [w, h] = [Math.max(8, Math.round(width * scale)), Math.max(8, Math.round(height * scale))]
  const small = createCanvas(w, h)
  const smallContext = small.getContext('2d')
  const pixels = new ImageData(w, h)
  const data = new Uint32Array(pixels.data.buffer)
  const colors = toPixels(ramp)
  const unit = Math.min(w, h)
  const rounds = cycles(stage, secondsPerRound)
  const salt = Array.from({ length: 6 }, () => random.range(0, turn))
  const angle = random.range(0, Math.PI)
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const stretch = random.range(1.25, 1.7)

  return (context, phase) => {
    const time = turn * rounds * phase
    const [a, b, c, d, e, f] = salt as [number, number, number, number, number, number]
    for (let y = 0, i = 0; y < h; y++) {
      for (let x = 0; x < w; x++, i++) {
        const [px, py] = [(x / unit) * stretch, (y / unit) * stretch]
        const [u, v] = [px * cos - py * sin, (px * sin + py * cos) * 1.6]
        const warpU = u + 0.42 * Math.sin(1.9 * v + a + time) + 0.2 * Math.sin(2.7 * u - 1.3 * v + b - time)
        const warpV = v + 0.36 * Math.sin(1.6 * u + c - time) + 0.16 * Math.sin(3.1 * v + d + 2 * time)
        const fold = Math.sin(1.5 * warpU + 1.1 * warpV + e) + 0.55 * Math.sin(2.3 * warpV - 1.2 * warpU + f + time)
        const sheen = 0.5 + 0.5 * Math.sin(4.2 * fold + 1.4 * warpU)
        const value = 0.5 + 0.26 * fold + 0.13 * (sheen * sheen - 0.4)
        data[i] = colors[Math.max(0, Math.min(steps - 1, Math.floor(value * steps)))]!
      }
    }
    smallContext.putImageData(pixels, 0, 0)
    context.imageSmoothingEnabled = true
    context.imageSmoothingQuality = 'high'
    // Half a pixel beyond each edge, where there is nothing to mix with.
    const [bleedX, bleedY] = [width / w, height / h]
    context.drawImage(small, -bleedX, -bleedY, width + 2 * bleedX, height + 2 * bleedY)
  }
}

/** From deep over accents to light. */
function createRamp({ palette }: MotionStage): readonly Color[] {
  const { shade, dark } = palette
  // Accents next to the shades on the colour wheel: between far ones there would be mud.
  const near = [0, 1, 2, 3, 4]
    .map((i) => palette.accent(i))
    .toSorted((a, b) => distance(a, shade(0.55)) - distance(b, shade(0.55)))
    .slice(0, 2)
    .toSorted((a, b) => a.l - b.l)
  const [deep, light] = near as [Color, Color]
  return dark
    ? [shade(0.02), shade(0.25), deep, shade(0.5), light, shade(0.9)]
    : [shade(0.12), shade(0.4), deep, shade(0.72), light, shade(1)]
}

/** Between two hues, 0 … 180. */
function distance(a: Color, b: Color): number {
  return Math.abs(turnBetween(a, b))
}

/** From one hue to another the shorter way, in degrees. */
function turnBetween(from: Color, to: Color): number {
  return ((to.h - from.h + 900) % 360) - 180
}

function toPixels(stops: readonly Color[]): Uint32Array {
  return Uint32Array.from({ length: steps }, (_, i) => {
    const at = (i / (steps - 1)) * (stops.length - 1)
    const index = Math.min(stops.length - 2, Math.floor(at))
    const [r, g, b] = toRgb(blend(stops[index] as Color, stops[index + 1] as Color, at - index))
    return (255 << 24) | (b << 16) | (g << 8) | r
  })
}

/** From colour to colour around the wheel: straight through it, far ones would meet in a muddy grey. */
function blend(from: Color, to: Color, t: number): Color {
  const way = turnBetween(from, to)
  const straight = mix(from, to, t)
  // Of opposite colours no way around is the right one.
  if (Math.min(from.c, to.c) < 0.04 || Math.abs(way) > 120) return straight
  return { l: straight.l, c: from.c + (to.c - from.c) * t, h: from.h + way * t }
}

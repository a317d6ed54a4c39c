// Style `tiles`: quarter discs, arcs and dots on a grid, turning a quarter at a time in waves.

import type { SKRSContext2D } from '@napi-rs/canvas'
import { type Color, css, mix } from '../../color.ts'
import { easeInOut } from '../../video/easing.ts'
import { cycles, fraction, type MotionStage, type MotionStyle } from '../stage.ts'

/** Tiles along the shorter side. */
const tilesAcross = 5
const secondsPerTurn = 1.6
/** How much of the time between two turns a tile takes for its own; the rest is the wave. */
const ownShare = 0.55

interface Tile {
  readonly x: number
  readonly y: number
  readonly ground: Color
  readonly paint: Color
  readonly second: Color
  readonly shape: number
  readonly start: number
  /** 0 … 1: when the wave reaches it. */
  readonly delay: number
  readonly direction: 1 | -1
}

export const tiles: MotionStyle = (stage) => {
  const { width, height, unit } = stage
  // Whole pixels, so that no seam shows between neighbours.
  const side = Math.max(4, Math.round(unit / tilesAcross))
  const all = layTiles(stage, side)
  // Four quarters, and everything stands as it stood.
  const turns = 4 * Math.max(1, Math.round(cycles(stage, secondsPerTurn) / 4))
  return (context, phase) => {
    context.fillStyle = css(stage.palette.ground)
    context.fillRect(0, 0, width, height)
    for (const tile of all) {
      const time = phase * turns
      const step = Math.floor(time)
      const own = (fraction(time) - tile.delay * (1 - ownShare)) / ownShare
      drawTile(context, tile, side, tile.direction * (step + easeInOut(own)))
    }
  }
}

function layTiles({ width, height, unit, random, palette }: MotionStage, side: number): Tile[] {
  const [columns, rows] = [Math.ceil(width / side) + 1, Math.ceil(height / side) + 1]
  const [left, top] = [Math.floor((width - columns * side) / 2), Math.floor((height - rows * side) / 2)]
  const grounds = [palette.ground, palette.shade(0.86), palette.shade(0.14), palette.accent(1), palette.accent(3)]
  const paints = [palette.accent(0), palette.accent(1), palette.accent(2), palette.shade(0.1), palette.shade(0.95)]
  const center = [width * random.range(0, 1), height * random.range(0, 1)] as const
  const far = Math.hypot(Math.max(center[0], width - center[0]), Math.max(center[1], height - center[1])) + unit * 0.01
  return Array.from({ length: columns * rows }, (_, i) => {
    const [x, y] = [left + (i % columns) * side, top + Math.floor(i / columns) * side]
    const ground = random.pick(grounds)
    // Whatever is painted can be told from its ground.
    const fit = random.shuffle(paints).filter(({ l, h, c }) => {
      const hue = Math.abs(((h - ground.h + 540) % 360) - 180)
      return Math.abs(l - ground.l) > 0.2 || (hue > 60 && Math.min(c, ground.c) > 0.08 && Math.abs(l - ground.l) > 0.1)
    })
    const paint = fit[0] ?? palette.ink
    return {
      x,
      y,
      ground,
      paint,
      second: fit[1] ?? mix(paint, ground, 0.4),
      shape: random.int(0, 5),
      start: random.int(0, 3),
      delay: Math.hypot(x + side / 2 - center[0], y + side / 2 - center[1]) / far,
      direction: random.chance(0.5) ? 1 : -1,
    }
  })
}

function drawTile(context: SKRSContext2D, tile: Tile, side: number, quarters: number): void {
  const { x, y, ground, paint, second, shape } = tile
  context.save()
  context.beginPath()
  context.rect(x, y, side, side)
  context.clip()
  context.fillStyle = css(ground)
  context.fillRect(x, y, side, side)
  context.translate(x + side / 2, y + side / 2)
  context.rotate(((tile.start + quarters) * Math.PI) / 2)
  context.translate(-side / 2, -side / 2)
  context.fillStyle = css(paint)
  context.strokeStyle = css(paint)
  const pie = (cx: number, cy: number, radius: number, from: number, to: number): void => {
    context.beginPath()
    context.moveTo(cx, cy)
    context.arc(cx, cy, radius, (from * Math.PI) / 2, (to * Math.PI) / 2)
    context.fill()
  }
  switch (shape) {
    case 0:
      pie(0, 0, side, 0, 1)
      context.fillStyle = css(second)
      pie(0, 0, side * 0.5, 0, 1)
      break
    case 1:
      pie(0, side / 2, side / 2, -1, 1)
      context.fillStyle = css(second)
      pie(side, side / 2, side / 2, 1, 3)
      break
    case 2:
      for (const radius of [0.25, 0.5, 0.75]) {
        context.lineWidth = side * 0.1
        context.beginPath()
        context.arc(0, 0, side * radius, 0, Math.PI / 2)
        context.stroke()
      }
      break
    case 3:
      pie(side / 2, side / 2, side * 0.36, 0, 4)
      context.fillStyle = css(second)
      pie(side / 2, side / 2, side * 0.36, 0, 2)
      break
    case 4:
      pie(0, 0, side / 2, 0, 1)
      pie(side, side, side / 2, 2, 3)
      context.fillStyle = css(second)
      pie(side, 0, side * 0.16, 0, 4)
      break
    default:
      context.beginPath()
      context.moveTo(0, 0)
      context.lineTo(side, 0)
      context.lineTo(0, side)
      context.fill()
      context.fillStyle = css(second)
      pie(side * 0.3, side * 0.3, side * 0.14, 0, 4)
  }
  context.restore()
}

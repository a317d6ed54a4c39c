// Style `waves`: ribbons of silk that swell and twist, with a few bright threads in each.

import { fillSky, glow } from '../../art/stage.ts'
import { type Color, css, mix } from '../../color.ts'
import { cycles, type MotionStage, type MotionStyle, type Scene, turn } from '../stage.ts'

const [ribbons, pointsPerLine] = [3, 72]
/** Layers of silk over each other, and threads: many fine threads would flicker, and cost a film most of its bytes. */
const [layers, threads] = [14, 7]
/** How much of its ribbon a layer covers: each overlaps its neighbours, so that no edge of it is seen. */
const layerShare = 0.34

interface Ribbon {
  readonly middle: number
  readonly spread: number
  readonly waves: readonly { count: number; height: number; rounds: number; offset: number }[]
  readonly twist: { count: number; rounds: number; offset: number }
  readonly from: Color
  readonly to: Color
}

export const waves: MotionStyle = (stage) => {
  const { width, unit, palette } = stage
  const all = Array.from({ length: ribbons }, (_, i) => createRibbon(stage, i))
  const ground = palette.dark
    ? ([palette.shade(0), palette.shade(0.14)] as const)
    : ([mix(palette.shade(0.02), { l: 0.16, c: 0.04, h: palette.shade(0.1).h }, 0.4), palette.shade(0.2)] as const)
  return (context, phase) => {
    const still = { ...stage, context }
    fillSky(still, [
      [0, ground[0]],
      [0.55, ground[1]],
      [1, ground[0]],
    ])
    context.save()
    context.globalCompositeOperation = 'screen'
    for (const { middle, from } of all) glow(still, width / 2, middle, unit * 0.8, from, 0.12)
    context.lineJoin = 'round'
    for (const ribbon of all) {
      for (let layer = 0; layer < layers; layer++) {
        const start = (layer / (layers - 1)) * (1 + layerShare) - layerShare
        const [low, high] = [Math.max(0, start), Math.min(1, start + layerShare)]
        context.beginPath()
        trace(stage, context, ribbon, low, phase, false)
        trace(stage, context, ribbon, high, phase, true)
        context.closePath()
        context.fillStyle = css(mix(ribbon.from, ribbon.to, (low + high) / 2), 0.085)
        context.fill()
      }
      for (let thread = 0; thread < threads; thread++) {
        const share = thread / (threads - 1)
        context.beginPath()
        trace(stage, context, ribbon, share, phase, false)
        context.strokeStyle = css(mix(ribbon.from, ribbon.to, share), 0.5)
        context.lineWidth = unit * 0.0026
        context.stroke()
      }
    }
    context.restore()
  }
}

/** Adds the line at `share`, 0 … 1, of a ribbon's width to the path, from left to right or back. */
function trace(
  { width, height, unit }: Pick<MotionStage, 'width' | 'height' | 'unit'>,
  context: Parameters<Scene>[0],
  ribbon: Ribbon,
  share: number,
  phase: number,
  back: boolean,
): void {
  for (let i = 0; i <= pointsPerLine; i++) {
    const x = ((back ? pointsPerLine - i : i) / pointsPerLine) * width
    context.lineTo(x, yOf(ribbon, x / Math.max(width, height), share, phase, unit))
  }
}

function createRibbon(stage: MotionStage, index: number): Ribbon {
  const { height, unit, random, palette } = stage
  const light = (color: Color): Color => ({
    ...color,
    l: Math.min(0.84, Math.max(0.66, color.l)),
    c: Math.max(0.12, color.c),
  })
  return {
    middle: height * (0.32 + 0.18 * index) + unit * random.range(-0.04, 0.04),
    spread: unit * random.range(0.16, 0.26),
    waves: [0.62, 1.2, 2.1].map((count, i) => ({
      count: count * random.range(0.85, 1.15),
      height: unit * (0.13 / (1 + 0.9 * i)),
      rounds: (random.chance(0.5) ? 1 : -1) * cycles(stage, 6 / (1 + 0.5 * i)),
      offset: random.range(0, turn),
    })),
    twist: {
      count: random.range(0.7, 1.3),
      rounds: (random.chance(0.5) ? 1 : -1) * cycles(stage, 8),
      offset: random.range(0, turn),
    },
    from: light(palette.accent(index)),
    to: light(palette.accent(index + 2)),
  }
}

function yOf(ribbon: Ribbon, x: number, share: number, phase: number, unit: number): number {
  const { middle, spread, twist } = ribbon
  let y = middle
  for (const { count, height, rounds, offset } of ribbon.waves)
    // Each line a little later than its neighbour: that is what makes a surface of them.
    y += height * Math.sin(turn * (count * x - rounds * phase) + offset + 0.9 * share)
  const width = Math.sin(turn * (twist.count * x - twist.rounds * phase) + twist.offset)
  return y + (share - 0.5) * spread * (0.25 + width) + 0.012 * unit * Math.sin(turn * 3 * x + share * 4 + twist.offset)
}

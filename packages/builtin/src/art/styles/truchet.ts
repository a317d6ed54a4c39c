// Style `truchet`: interlaced arcs of several sizes, after Christopher Carlson's multi-scale Truchet tiles.

import { type Color, mix } from '../../color.ts'
import { type Gradient, linearGradient, type Stage, type Style } from '../stage.ts'

export const truchet: Style = { grain: 0.18, vignette: 0.12, paint }

interface Tile {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly depth: number
}

function paint(stage: Stage): void {
  const { width, height, unit, random, palette } = stage
  const across = random.int(4, 6)
  const size = unit / across
  const depths = random.int(2, 3)
  const [columns, rows] = [Math.ceil(width / size) + 1, Math.ceil(height / size) + 1]
  const [left, top] = [(width - columns * size) / 2, (height - rows * size) / 2]
  const angle = random.range(0.15, 1.4)
  const deep = gradientAlong(stage, angle, [palette.shade(0), palette.shade(0.12), palette.shade(0.03)].map(sink))
  const bright = gradientAlong(stage, -angle, [
    palette.shade(0.95),
    lift(palette.accent(0)),
    lift(mix(palette.accent(0), palette.accent(1), 0.5)),
    lift(palette.accent(1)),
    palette.shade(0.85),
  ])

  const tiles: Tile[] = []
  const divide = (tile: Tile): void => {
    const { x, y, size: side, depth } = tile
    const wish = 0.5 + 0.9 * stage.noise(((x + side / 2) / unit) * 2.1 + 9, ((y + side / 2) / unit) * 2.1)
    if (depth + 1 < depths && random.chance(wish - depth * 0.12)) {
      for (const [dx, dy] of [
        [0, 0],
        [0.5, 0],
        [0, 0.5],
        [0.5, 0.5],
      ] as const)
        divide({ x: x + dx * side, y: y + dy * side, size: side / 2, depth: depth + 1 })
    } else {
      tiles.push(tile)
    }
  }
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      divide({ x: left + column * size, y: top + row * size, size, depth: 0 })
  }
  // Large before small: the wings of a small tile lie upon its larger neighbours.
  tiles.sort((a, b) => a.depth - b.depth)
  for (const tile of tiles) paintTile(stage, tile, tile.depth % 2 === 0 ? [deep, bright] : [bright, deep])
}

/** Figure and ground have to stay apart wherever their gradients meet. */
function sink(color: Color): Color {
  return { ...color, l: Math.min(color.l, 0.27) }
}

function lift(color: Color): Color {
  return { ...color, l: Math.max(color.l, 0.64) }
}

function gradientAlong(stage: Stage, angle: number, colors: readonly Color[]): Gradient {
  const { width, height } = stage
  const reach = (Math.abs(Math.cos(angle)) * width + Math.abs(Math.sin(angle)) * height) / 2
  const [dx, dy] = [Math.cos(angle) * reach, Math.sin(angle) * reach]
  const stops = Array.from({ length: 13 }, (_, i) => {
    const position = (i / 12) * (colors.length - 1)
    const index = Math.min(colors.length - 2, Math.floor(position))
    return [i / 12, mix(colors[index] as Color, colors[index + 1] as Color, position - index)] as const
  })
  return linearGradient(stage, [width / 2 - dx, height / 2 - dy], [width / 2 + dx, height / 2 + dy], stops)
}

function paintTile(
  { context, random }: Stage,
  { x, y, size }: Tile,
  [ground, figure]: readonly [Gradient, Gradient],
): void {
  const [third, sixth, half] = [size / 3, size / 6, size / 2]
  const corners = [
    [x, y],
    [x + size, y],
    [x + size, y + size],
    [x, y + size],
  ] as const
  const sides = [
    [x + half, y],
    [x + size, y + half],
    [x + half, y + size],
    [x, y + half],
  ] as const
  context.fillStyle = ground
  // Half a pixel over the edge, or the seam between two tiles shows.
  context.fillRect(x - 0.5, y - 0.5, size + 1, size + 1)
  for (const [cx, cy] of corners) circle(context, cx, cy, third)
  context.fillStyle = figure
  context.strokeStyle = figure
  context.lineWidth = third
  context.lineCap = 'butt'
  for (const [sx, sy] of sides) circle(context, sx, sy, sixth)
  const arc = (corner: 0 | 1 | 2 | 3): void => {
    const [cx, cy] = corners[corner]
    context.beginPath()
    context.arc(cx, cy, half, (corner * Math.PI) / 2, ((corner + 1) * Math.PI) / 2)
    context.stroke()
  }
  const bar = (from: number, to: number): void => {
    const [a, b] = [sides[from] as readonly [number, number], sides[to] as readonly [number, number]]
    context.beginPath()
    context.moveTo(a[0], a[1])
    context.lineTo(b[0], b[1])
    context.stroke()
  }
  const motif = random.float()
  if (motif < 0.4) for (const corner of [0, 2] as const) arc(corner)
  else if (motif < 0.8) for (const corner of [1, 3] as const) arc(corner)
  else if (motif < 0.92) bar(0, 2)
  if (motif >= 0.86 && motif < 0.97) bar(1, 3)
}

function circle(context: Stage['context'], x: number, y: number, radius: number): void {
  context.beginPath()
  context.arc(x, y, radius, 0, 2 * Math.PI)
  context.fill()
}

// Style `glass`: leaded glass with a sun, made of Voronoi cells that were let to settle.

import { type Color, css, lighten, mix, saturate } from '../../color.ts'
import { fillSky, glow, type Stage, type Style } from '../stage.ts'

export const glass: Style = { grain: 0.16, vignette: 0.28, paint }

type Point = readonly [x: number, y: number]

function paint(stage: Stage): void {
  const { context, width, height, unit, random, palette } = stage
  const lead = mix(palette.shade(0), { l: 0.14, c: 0.01, h: 270 }, 0.7)
  fillSky(stage, [
    [0, lead],
    [1, lead],
  ])
  const sun = {
    x: width * random.range(0.3, 0.7),
    y: height * random.range(0.25, 0.5),
    radius: unit * random.range(0.15, 0.21),
  }
  const rays = random.int(9, 16)
  const turn = random.float()
  for (const cell of settle(stage, placeSites(stage, sun))) {
    const center = centroid(cell)
    const pane = paneColor(stage, center, sun, rays, turn)
    paintPane(stage, cell, center, pane)
  }
  context.lineJoin = 'round'
  context.globalCompositeOperation = 'screen'
  glow(stage, sun.x, sun.y, sun.radius * 4.5, palette.accent(0), 0.3)
  glow(stage, width * 0.2, height * 0.1, unit * 0.8, palette.shade(1), 0.12)
  context.globalCompositeOperation = 'source-over'
}

interface Sun {
  readonly x: number
  readonly y: number
  readonly radius: number
}

/** Sites on rings around the sun, closer together near to it, so that cells form rays. */
function placeSites({ width, height, unit, random }: Stage, sun: Sun): Point[] {
  const sites: Point[] = [[sun.x, sun.y]]
  const reach = Math.hypot(width, height)
  let radius = sun.radius * 0.5
  for (let ring = 0; radius < reach; ring++) {
    const around = Math.max(6, Math.round(8 + ring * 4.6))
    const turn = random.float()
    for (let i = 0; i < around; i++) {
      const angle = ((i + turn + random.gauss() * 0.12) / around) * 2 * Math.PI
      const distance = radius * (1 + random.gauss() * 0.035)
      const point: Point = [sun.x + Math.cos(angle) * distance, sun.y + Math.sin(angle) * distance]
      const border = unit * 0.12
      if (point[0] > -border && point[1] > -border && point[0] < width + border && point[1] < height + border)
        sites.push(point)
    }
    radius += unit * (0.066 + 0.0085 * ring)
  }
  return sites
}

/** The cells after their sites moved to their middles once: even, but not regular. */
function settle(stage: Stage, sites: readonly Point[]): Point[][] {
  const moved = voronoi(stage, sites).map((cell, i): Point => {
    const [x, y] = centroid(cell)
    const site = sites[i] as Point
    return [site[0] + (x - site[0]) * 0.5, site[1] + (y - site[1]) * 0.5]
  })
  return voronoi(stage, moved)
}

function voronoi({ width, height, unit }: Stage, sites: readonly Point[]): Point[][] {
  const edge = unit * 0.15
  return sites
    .map((site) => {
      let cell: Point[] = [
        [-edge, -edge],
        [width + edge, -edge],
        [width + edge, height + edge],
        [-edge, height + edge],
      ]
      for (const other of sites) {
        if (other !== site && cell.length > 0) cell = clip(cell, site, other)
      }
      return cell
    })
    .filter((cell) => cell.length > 2)
}

/** Keeps the part of a polygon that is nearer to `site` than to `other`. */
function clip(polygon: readonly Point[], site: Point, other: Point): Point[] {
  const [nx, ny] = [other[0] - site[0], other[1] - site[1]]
  const limit = (other[0] ** 2 + other[1] ** 2 - site[0] ** 2 - site[1] ** 2) / 2
  const side = (p: Point): number => p[0] * nx + p[1] * ny - limit
  const kept: Point[] = []
  for (const [i, from] of polygon.entries()) {
    const to = polygon[(i + 1) % polygon.length] as Point
    const [a, b] = [side(from), side(to)]
    if (a <= 0) kept.push(from)
    if (a < 0 !== b < 0 && a !== b) {
      const t = a / (a - b)
      kept.push([from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t])
    }
  }
  return kept
}

function centroid(cell: readonly Point[]): Point {
  const sum = cell.reduce<[number, number]>(([x, y], point) => [x + point[0], y + point[1]], [0, 0])
  return [sum[0] / cell.length, sum[1] / cell.length]
}

function paneColor(stage: Stage, [x, y]: Point, sun: Sun, rays: number, turn: number): Color {
  const { random, palette, height, unit, noise } = stage
  const distance = Math.hypot(x - sun.x, y - sun.y)
  const vary = (color: Color): Color => lighten(saturate(color, 1 + random.gauss() * 0.12), random.gauss() * 0.035)
  if (distance < sun.radius * 1.02) return vary(mix(palette.shade(0.95), palette.accent(0), distance / sun.radius))
  const land = height * 0.74 + noise((x / unit) * 2.2, 4) * unit * 0.1
  if (y > land) {
    const depth = (y - land) / (height - land + 1)
    return vary(
      saturate(
        random.chance(0.16) ? palette.accent(2) : palette.shade(0.34 - 0.24 * depth + random.gauss() * 0.05),
        1.25,
      ),
    )
  }
  const angle = Math.atan2(y - sun.y, x - sun.x) / (2 * Math.PI) + turn
  const lit = Math.floor(angle * rays * 2) % 2 === 0
  const far = Math.min(1, distance / (unit * 0.85))
  if (random.chance(0.05)) return vary(palette.accent(random.int(1, 3)))
  return vary(saturate(palette.shade((lit ? 0.9 : 0.68) - far * (lit ? 0.36 : 0.3)), 1.3))
}

function paintPane(stage: Stage, cell: readonly Point[], center: Point, color: Color): void {
  const { context, unit, random } = stage
  const reach = Math.max(...cell.map(([x, y]) => Math.hypot(x - center[0], y - center[1])))
  const light: Point = [center[0] + random.gauss() * reach * 0.25, center[1] + random.gauss() * reach * 0.25]
  const gradient = context.createRadialGradient(light[0], light[1], 0, center[0], center[1], reach)
  gradient.addColorStop(0, css(lighten(color, 0.075)))
  gradient.addColorStop(0.55, css(color))
  gradient.addColorStop(1, css(lighten(color, -0.09)))
  context.save()
  context.beginPath()
  // Lead lies between the panes: each is a little smaller than its cell.
  roundedPolygon(context, inset(cell, center, unit * 0.0042), unit * 0.007)
  context.fillStyle = gradient
  context.fill()
  context.clip()
  paintStreaks(stage, center, reach, color)
  context.restore()
}

/** The waves and bubbles of glass that was blown by mouth. */
function paintStreaks({ context, unit, random }: Stage, [x, y]: Point, reach: number, color: Color): void {
  const angle = random.range(0, Math.PI)
  context.translate(x, y)
  context.rotate(angle)
  for (let i = 0; i < 5; i++) {
    const offset = random.range(-reach, reach)
    context.strokeStyle = css(lighten(color, random.chance(0.6) ? 0.14 : -0.12), 0.22)
    context.lineWidth = unit * random.range(0.001, 0.005)
    context.beginPath()
    context.moveTo(-reach, offset)
    context.quadraticCurveTo(0, offset + random.gauss() * reach * 0.25, reach, offset + random.gauss() * reach * 0.12)
    context.stroke()
  }
}

function inset(cell: readonly Point[], center: Point, by: number): Point[] {
  return cell.map(([x, y]) => {
    const distance = Math.hypot(x - center[0], y - center[1]) || 1
    const keep = Math.max(0.2, 1 - (by * 1.25) / distance)
    return [center[0] + (x - center[0]) * keep, center[1] + (y - center[1]) * keep]
  })
}

function roundedPolygon(context: Stage['context'], points: readonly Point[], radius: number): void {
  const middle = (a: Point, b: Point): Point => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]
  const start = middle(points.at(-1) as Point, points[0] as Point)
  context.moveTo(start[0], start[1])
  for (const [i, corner] of points.entries()) {
    const next = middle(corner, points[(i + 1) % points.length] as Point)
    context.arcTo(corner[0], corner[1], next[0], next[1], radius)
    context.lineTo(next[0], next[1])
  }
  context.closePath()
}

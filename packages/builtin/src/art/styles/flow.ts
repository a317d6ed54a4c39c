// Style `flow`: bands of many widths that drift through a field and never touch.

import { css, lighten, mix, type Color } from '../../color.ts'
import { fractal } from '../random.ts'
import { fillSky, type Stage, type Style } from '../stage.ts'

export const flow: Style = { grain: 0.2, vignette: 0.1, paint }

type Point = readonly [x: number, y: number]

function paint(stage: Stage): void {
  const { width, height, unit, random, palette } = stage
  fillSky(stage, [
    [0, palette.ground],
    [1, mix(palette.ground, palette.shade(palette.dark ? 0.15 : 0.85), 0.5)],
  ])
  const field = createField(stage)
  const taken = new Occupancy(width, height, unit / 360)
  const scale = random.range(0.8, 1.15)
  const widths: [number, number][] = [
    [0.046, 90],
    [0.026, 300],
    [0.014, 900],
    [0.007, 2200],
    [0.003, 3600],
  ]
  const accents = random.int(3, 4)
  const margin = unit * 0.06
  for (const [relative, attempts] of widths) {
    const thickness = relative * unit * scale
    for (let i = 0; i < attempts; i++) {
      const start: Point = [random.range(margin, width - margin), random.range(margin, height - margin)]
      const longest = unit * random.range(0.12, relative > 0.02 ? 0.75 : 0.5)
      const path = trace(stage, field, taken, start, thickness, longest, margin)
      if (!path) continue
      taken.add(path, thickness * 0.5)
      strokeBand(stage, path, thickness, bandColor(stage, start, accents))
    }
  }
}

function createField(stage: Stage): (x: number, y: number) => number {
  const { unit, random, noise, width, height } = stage
  const base = random.range(0, Math.PI * 2)
  const turns = random.range(0.7, 1.4)
  const scale = random.range(0.75, 1.25) / unit
  const swirl = random.chance(0.5) ? random.range(0.35, 0.7) * (random.chance(0.5) ? 1 : -1) : 0
  const eye: Point = [width * random.range(0.25, 0.75), height * random.range(0.25, 0.75)]
  return (x, y) => {
    const around = Math.atan2(y - eye[1], x - eye[0]) + Math.PI / 2
    const drift = base + turns * Math.PI * fractal(noise, x * scale, y * scale, 2, 0.35)
    return drift + swirl * Math.sin(around - drift)
  }
}

/** Walks through the field until something is in the way; null when the path is too short to show. */
function trace(
  stage: Stage,
  field: (x: number, y: number) => number,
  taken: Occupancy,
  start: Point,
  thickness: number,
  longest: number,
  margin: number,
): Point[] | null {
  const step = Math.max(1, stage.unit / 320)
  const room = thickness * 0.5 + stage.unit * 0.0028
  const walk = (direction: 1 | -1): Point[] => {
    const path: Point[] = []
    let [x, y] = start
    for (let length = 0; length < longest / 2; length += step) {
      const angle = field(x, y)
      x += Math.cos(angle) * step * direction
      y += Math.sin(angle) * step * direction
      if (
        x < margin ||
        y < margin ||
        x > stage.width - margin ||
        y > stage.height - margin ||
        !taken.isFree(x, y, room)
      )
        break
      path.push([x, y])
    }
    return path
  }
  if (!taken.isFree(start[0], start[1], room)) return null
  const path = [...walk(-1).toReversed(), start, ...walk(1)]
  return path.length * step < Math.max(thickness * 2.2, stage.unit * 0.03) ? null : path
}

function bandColor(stage: Stage, [x, y]: Point, accents: number): Color {
  const { random, palette, noise, unit } = stage
  const region = noise((x / unit) * 1.7 + 40, (y / unit) * 1.7 - 12) + random.gauss() * 0.22
  if (random.chance(0.16)) return palette.shade(palette.dark ? random.range(0.75, 1) : random.range(0.02, 0.2))
  if (region > 0.12) return lighten(palette.accent(0), random.gauss() * 0.03)
  if (region > -0.2) return palette.shade(random.range(0.3, 0.75))
  return lighten(palette.accent(random.int(1, accents)), random.gauss() * 0.03)
}

function strokeBand(stage: Stage, path: readonly Point[], thickness: number, color: Color): void {
  const { context } = stage
  const [first, last] = [path[0] as Point, path.at(-1) as Point]
  const gradient = context.createLinearGradient(first[0], first[1], last[0], last[1])
  gradient.addColorStop(0, css(lighten(color, -0.035)))
  gradient.addColorStop(1, css(lighten(color, 0.045)))
  context.strokeStyle = gradient
  context.lineWidth = thickness
  context.lineCap = 'round'
  context.lineJoin = 'round'
  context.beginPath()
  path.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)))
  context.stroke()
}

/** A coarse map of where paint already is. */
class Occupancy {
  readonly #columns: number
  readonly #rows: number
  readonly #cell: number
  readonly #cells: Uint8Array

  constructor(width: number, height: number, cell: number) {
    this.#cell = cell
    this.#columns = Math.ceil(width / cell)
    this.#rows = Math.ceil(height / cell)
    this.#cells = new Uint8Array(this.#columns * this.#rows)
  }

  isFree(x: number, y: number, radius: number): boolean {
    // A ring of probes finds what matters: bands are long, so nothing hides between them.
    const probes = Math.max(8, Math.ceil((radius / this.#cell) * 5))
    for (let i = 0; i < probes; i++) {
      const angle = (i / probes) * 2 * Math.PI
      if (this.#at(x + Math.cos(angle) * radius, y + Math.sin(angle) * radius)) return false
    }
    return !this.#at(x, y)
  }

  add(path: readonly Point[], radius: number): void {
    const reach = Math.ceil(radius / this.#cell)
    for (const [x, y] of path) {
      const [column, row] = [Math.floor(x / this.#cell), Math.floor(y / this.#cell)]
      for (let dy = -reach; dy <= reach; dy++) {
        for (let dx = -reach; dx <= reach; dx++) {
          const inside = (dx * dx + dy * dy) * this.#cell * this.#cell <= radius * radius
          const [c, r] = [column + dx, row + dy]
          if (inside && c >= 0 && r >= 0 && c < this.#columns && r < this.#rows) this.#cells[r * this.#columns + c] = 1
        }
      }
    }
  }

  #at(x: number, y: number): boolean {
    const [column, row] = [Math.floor(x / this.#cell), Math.floor(y / this.#cell)]
    if (column < 0 || row < 0 || column >= this.#columns || row >= this.#rows) return false
    return this.#cells[row * this.#columns + column] === 1
  }
}

// SVG elements for the backdrops of posters. They are made of numbers and colours only.

import { type Color, css, mix } from '../color.ts'

/** A point in pixels. */
export type Point = readonly [x: number, y: number]

/** Paint of a shape: a colour, or the id of a gradient. */
export type Paint = Color | { readonly gradient: string }

function paintOf(paint: Paint | null): string {
  if (paint === null) return 'none'
  return 'gradient' in paint ? `url(#${paint.gradient})` : css(paint)
}

function n(value: number): string {
  return value.toFixed(2)
}

export function rect(x: number, y: number, width: number, height: number, fill: Paint, radius = 0): string {
  return `<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" rx="${n(radius)}" fill="${paintOf(fill)}"/>`
}

export function frame(
  x: number,
  y: number,
  width: number,
  height: number,
  stroke: Paint,
  thickness: number,
  opacity = 1,
  radius = 0,
): string {
  return `<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" rx="${n(radius)}" fill="none" stroke="${paintOf(stroke)}" stroke-width="${n(thickness)}" opacity="${n(opacity)}"/>`
}

export function circle(x: number, y: number, radius: number, fill: Paint, opacity = 1): string {
  return `<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" fill="${paintOf(fill)}" opacity="${n(opacity)}"/>`
}

export function ring(
  x: number,
  y: number,
  radius: number,
  stroke: Paint,
  thickness: number,
  opacity = 1,
  dashes = '',
): string {
  return `<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" fill="none" stroke="${paintOf(stroke)}" stroke-width="${n(thickness)}" opacity="${n(opacity)}"${dashes === '' ? '' : ` stroke-dasharray="${dashes}"`}/>`
}

export function line(from: Point, to: Point, stroke: Paint, thickness: number, opacity = 1): string {
  return `<path d="M${n(from[0])} ${n(from[1])}L${n(to[0])} ${n(to[1])}" stroke="${paintOf(stroke)}" stroke-width="${n(thickness)}" opacity="${n(opacity)}" fill="none"/>`
}

export function polygon(points: readonly Point[], fill: Paint, opacity = 1): string {
  return `<path d="M${points.map(([x, y]) => `${n(x)} ${n(y)}`).join('L')}Z" fill="${paintOf(fill)}" opacity="${n(opacity)}"/>`
}

/** A quarter of a disc; `turn` counts clockwise from the one whose round side looks down and right. */
export function quarter(x: number, y: number, radius: number, turn: number, fill: Paint): string {
  const at = (angle: number): string => `${n(x + Math.cos(angle) * radius)} ${n(y + Math.sin(angle) * radius)}`
  const from = (turn * Math.PI) / 2
  return `<path d="M${n(x)} ${n(y)}L${at(from)}A${n(radius)} ${n(radius)} 0 0 1 ${at(from + Math.PI / 2)}Z" fill="${paintOf(fill)}"/>`
}

/** A path in SVG's own words; numbers only. */
export function path(d: string, fill: Paint | null, stroke: Paint | null = null, thickness = 0, opacity = 1): string {
  return `<path d="${d}" fill="${paintOf(fill)}" stroke="${paintOf(stroke)}" stroke-width="${n(thickness)}" stroke-linecap="round" opacity="${n(opacity)}"/>`
}

/** Defines a gradient down (or across) what it fills; colours are mixed in Oklab between the given ones. */
export function defineLinear(id: string, colors: readonly Color[], across = false): string {
  return `<defs><linearGradient id="${id}" x1="0" y1="0" x2="${across ? 1 : 0}" y2="${across ? 0 : 1}">${createStops(colors)}</linearGradient></defs>`
}

/** Defines a gradient around a point of the sheet. */
export function defineRadial(id: string, [x, y]: Point, radius: number, colors: readonly Color[]): string {
  return `<defs><radialGradient id="${id}" gradientUnits="userSpaceOnUse" cx="${n(x)}" cy="${n(y)}" r="${n(radius)}">${createStops(colors)}</radialGradient></defs>`
}

function createStops(colors: readonly Color[]): string {
  const count = 6 * (colors.length - 1)
  return Array.from({ length: count + 1 }, (_, i) => {
    const position = (i / count) * (colors.length - 1)
    const index = Math.min(colors.length - 2, Math.floor(position))
    return `<stop offset="${(i / count).toFixed(4)}" stop-color="${css(mix(colors[index] as Color, colors[index + 1] as Color, position - index))}"/>`
  }).join('')
}

/** Defines light that fades from the middle. */
export function defineGlow(id: string, color: Color, opacity: number): string {
  const [r, g, b] = css(color).slice(5).split(',')
  const stops = Array.from(
    { length: 9 },
    (_, i) =>
      `<stop offset="${n(i / 8)}" stop-color="rgb(${r},${g},${b})" stop-opacity="${(opacity * (1 - i / 8) ** 2).toFixed(3)}"/>`,
  )
  return `<defs><radialGradient id="${id}">${stops.join('')}</radialGradient></defs>`
}

/** A fixed wavering between -1 and 1, for shapes that should look drawn by hand and yet never change. */
export function waver(x: number, salt: number): number {
  return (
    0.5 * Math.sin(x * 1.7 + salt * 2.3) + 0.3 * Math.sin(x * 3.9 + salt * 5.1) + 0.2 * Math.sin(x * 7.3 + salt * 1.9)
  )
}

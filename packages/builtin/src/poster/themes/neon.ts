// Theme `neon`: glowing frames and a grid that runs to the horizon.

import { type Color, lighten, mix, oklch } from '../../color.ts'
import { circle, defineGlow, defineLinear, frame, line, type Paint, rect } from '../shapes.ts'
import { oneLine, type Composition, type Sheet, stackWords, type Theme } from '../sheet.ts'

const black = oklch(0.11, 0.03, 290)
const violet = oklch(0.22, 0.11, 295)
const pink = oklch(0.68, 0.26, 350)
const cyan = oklch(0.85, 0.14, 200)
const white = oklch(0.99, 0.01, 320)

export const neon: Theme = { compose }

function compose(sheet: Sheet): Composition {
  const { width, height, unit } = sheet
  const accent = sheet.accent ?? pink
  // Light behind the words stays dark enough for them, whatever the accent is.
  const light = { ...accent, l: Math.min(accent.l, 0.5) }
  const margin = unit * 0.065
  const horizon = height * 0.78
  const backdrop = [
    defineLinear('dark', [black, violet, mix(violet, light, 0.3)]),
    defineLinear('floor', [mix(violet, black, 0.3), black]),
    defineLinear('tube', [accent, mix(accent, cyan, 0.5), cyan], true),
    defineGlow('haze', light, 0.5),
    rect(0, 0, width, horizon, { gradient: 'dark' }),
    rect(0, horizon, width, height - horizon, { gradient: 'floor' }),
    `<ellipse cx="${width / 2}" cy="${horizon}" rx="${width * 0.75}" ry="${unit * 0.4}" fill="url(#haze)"/>`,
    ...grid(sheet, horizon, { ...light, l: light.l + 0.08 }),
    ...tube(margin, margin, width - 2 * margin, height - 2 * margin, unit, { gradient: 'tube' }),
    ...[
      [margin, margin],
      [width - margin, height - margin],
    ].map(([x = 0, y = 0], i) =>
      circle(x + (i === 0 ? 1 : -1) * unit * 0.13, y, unit * 0.009, i === 0 ? accent : cyan),
    ),
  ]
  const inner = margin + unit * 0.075
  const area = {
    left: inner,
    top: inner,
    width: width - 2 * inner,
    height: (sheet.footer === '' ? height - inner : height - inner - unit * 0.06) - inner,
  }
  const words = stackWords(sheet, area, {
    align: 'center',
    vertical: 'middle',
    title: {
      weight: 800,
      color: white,
      maxSize: 0.18,
      letterSpacing: -0.025,
      lineHeight: 1.05,
      uppercase: true,
      glow: { color: lighten(accent, 0.02), blur: 0.044 },
    },
    subtitle: { weight: 500, color: mix(cyan, white, 0.6), maxSize: 0.036 },
    badge: { weight: 600, color: cyan, outline: cyan, uppercase: true },
  })
  const place = { left: inner, top: height - margin - unit * 0.085, width: width - 2 * inner, height: unit * 0.034 }
  const footer = oneLine(sheet, sheet.footer, place, 0.024, 600, mix(cyan, white, 0.7), 'center', 0.03)
  return { backdrop: backdrop.join(''), words: [...words, ...footer] }
}

/** A glass tube: wide faint strokes below a narrow bright one. */
function tube(x: number, y: number, width: number, height: number, unit: number, stroke: Paint): string[] {
  const radius = unit * 0.05
  const light = [
    [0.044, 0.05],
    [0.03, 0.07],
    [0.02, 0.1],
    [0.012, 0.22],
    [0.0065, 0.95],
  ] as const
  return [
    ...light.map(([thick, opacity]) => frame(x, y, width, height, stroke, unit * thick, opacity, radius)),
    frame(x, y, width, height, white, unit * 0.0022, 0.85, radius),
  ]
}

function grid({ width, height, unit }: Sheet, horizon: number, accent: Color): string[] {
  const lines: string[] = []
  for (let i = -14; i <= 14; i++)
    lines.push(
      line([width / 2 + i * unit * 0.05, horizon], [width / 2 + i * unit * 0.3, height], accent, unit * 0.0018, 0.55),
    )
  for (let i = 0; i < 9; i++)
    lines.push(
      line(
        [0, horizon + (height - horizon) * (i / 8) ** 2.1],
        [width, horizon + (height - horizon) * (i / 8) ** 2.1],
        accent,
        unit * 0.0018,
        0.7 - 0.03 * i,
      ),
    )
  return lines
}

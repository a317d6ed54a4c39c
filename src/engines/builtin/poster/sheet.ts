// A poster in the making: its size, its words, and how words are stacked so that they always fit.

import type { Color } from '../color.ts'
import { css } from '../color.ts'
import { toCapitals, type Weight } from '../text/inter.ts'
import { fitText, measureText } from '../text/measure.ts'
import { at, type Box, box, type BoxStyle, lines } from '../text/typeset.ts'

/** What a theme is given. */
export interface Sheet {
  readonly width: number
  readonly height: number
  /** The shorter side; all lengths follow from it. */
  readonly unit: number
  /** Whether it is clearly wider than high, so that words and picture stand side by side. */
  readonly wide: boolean
  readonly title: string
  /** Empty when there is none; so are badge and footer. */
  readonly subtitle: string
  readonly badge: string
  readonly footer: string
  /** In place of the theme's own accent. */
  readonly accent: Color | null
}

/** A design. */
export interface Theme {
  /** All weights of type that it sets. */
  readonly weights: readonly Weight[]
  compose(sheet: Sheet): Composition
}

/** What a theme makes of a sheet. */
export interface Composition {
  /** SVG elements behind the words. */
  readonly backdrop: string
  readonly words: readonly Box[]
}

/** A rectangle in pixels. */
export interface Area {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** How badge, title and subtitle look in a theme; sizes are fractions of the sheet's unit. */
export interface StackStyle {
  readonly align: 'left' | 'center'
  readonly vertical: 'top' | 'middle' | 'bottom'
  readonly title: {
    readonly weight: Weight
    readonly color: Color
    readonly maxSize: number
    readonly letterSpacing: number
    readonly lineHeight: number
    readonly uppercase?: boolean
    readonly shadow?: string
  }
  readonly subtitle: { readonly weight: Weight; readonly color: Color; readonly maxSize: number }
  readonly badge: BadgeStyle
}

interface BadgeStyle {
  readonly weight: Weight
  readonly color: Color
  /** A filled pill of this colour, a line around, or nothing. */
  readonly fill?: Color
  readonly outline?: Color
  readonly uppercase?: boolean
  readonly square?: boolean
}

/** Stacks badge, title and subtitle in an area, each as large as it may be. */
export function stackWords(sheet: Sheet, area: Area, style: StackStyle): Box {
  const { unit } = sheet
  const badge = sheet.badge === '' ? null : createBadge(sheet, area, style.badge)
  const subtitle = sheet.subtitle === '' ? null : createSubtitle(sheet, area, style)
  const [badgeGap, subtitleGap] = [
    badge ? Math.min(unit * 0.035, area.height * 0.06) : 0,
    subtitle ? Math.min(unit * 0.035, area.height * 0.06) : 0,
  ]
  const room = area.height - (badge?.height ?? 0) - (subtitle?.height ?? 0) - badgeGap - subtitleGap
  const { weight, color, letterSpacing, lineHeight, maxSize, shadow } = style.title
  const words = style.title.uppercase ? toCapitals(sheet.title) : sheet.title
  const fitted = fitText(
    words,
    { weight, letterSpacing },
    { width: area.width, height: room, lineHeight, minSize: unit * 0.024, maxSize: unit * maxSize, maxLines: 9 },
  )
  const titleStyle: BoxStyle = {
    fontSize: fitted.size,
    fontWeight: weight,
    lineHeight,
    letterSpacing: fitted.size * letterSpacing,
    color: css(color),
    ...alignment(style),
  }
  const title = lines(fitted.lines, { ...titleStyle, ...(shadow ? { textShadow: shadow } : {}) })
  const justify = { top: 'flex-start', middle: 'center', bottom: 'flex-end' }[style.vertical]
  return at(
    area.left,
    area.top,
    area.width,
    area.height,
    { flexDirection: 'column', justifyContent: justify, ...alignment(style) },
    badge && box({ marginBottom: badgeGap, flexShrink: 0 }, badge.box),
    title,
    subtitle && box({ marginTop: subtitleGap, flexShrink: 0 }, subtitle.box),
  )
}

/** One line at a place, as large as `maxSize` (in units) or as its width allows; null when there is nothing to set. */
export function oneLine(
  sheet: Sheet,
  text: string,
  area: Area,
  maxSize: number,
  weight: Weight,
  color: Color,
  align: 'flex-start' | 'center' | 'flex-end' = 'flex-start',
  letterSpacing = 0,
): Box | null {
  if (text === '') return null
  const size = Math.min(sheet.unit * maxSize, area.height, area.width / measureText(text, { weight, letterSpacing }))
  return at(
    area.left,
    area.top,
    area.width,
    area.height,
    {
      alignItems: 'center',
      justifyContent: align,
      fontSize: size,
      fontWeight: weight,
      letterSpacing: size * letterSpacing,
      color: css(color),
      whiteSpace: 'pre',
      lineHeight: 1,
    },
    text,
  )
}

/** Black or white, whichever can be read on a colour. */
export function readableOn(color: Color): Color {
  return color.l > 0.66 ? { l: 0.2, c: 0.02, h: color.h } : { l: 0.99, c: 0.005, h: color.h }
}

function alignment(style: StackStyle): BoxStyle {
  return { alignItems: style.align === 'center' ? 'center' : 'flex-start' }
}

function createSubtitle({ unit, wide, subtitle }: Sheet, area: Area, style: StackStyle): { box: Box; height: number } {
  const { weight, color, maxSize } = style.subtitle
  const lineHeight = 1.36
  const fitted = fitText(
    subtitle,
    { weight },
    {
      width: Math.min(area.width, unit * (wide ? 1.7 : 1.1)),
      height: area.height * 0.34,
      lineHeight,
      minSize: unit * 0.019,
      maxSize: unit * maxSize,
      maxLines: 5,
    },
  )
  const look = { fontSize: fitted.size, fontWeight: weight, lineHeight, color: css(color), ...alignment(style) }
  return { box: lines(fitted.lines, look), height: Math.ceil(fitted.lines.length * fitted.size * lineHeight) }
}

function createBadge({ unit, badge }: Sheet, area: Area, style: BadgeStyle): { box: Box; height: number } {
  const text = style.uppercase ? toCapitals(badge) : badge
  const letterSpacing = style.uppercase ? 0.09 : 0.01
  const boxed = style.fill !== undefined || style.outline !== undefined
  const wanted = unit * 0.027
  const size = Math.min(
    wanted,
    (area.width - (boxed ? 2 * wanted : 0)) / measureText(text, { weight: style.weight, letterSpacing }),
  )
  const height = Math.ceil(size * (boxed ? 2.1 : 1.3))
  const border = style.outline ? { border: `${Math.max(1, unit * 0.0022)}px solid ${css(style.outline)}` } : {}
  const plate = boxed ? { paddingLeft: size, paddingRight: size, borderRadius: style.square ? 0 : height / 2 } : {}
  const look = {
    fontSize: size,
    fontWeight: style.weight,
    letterSpacing: size * letterSpacing,
    lineHeight: 1,
    color: css(style.color),
    whiteSpace: 'pre',
    height,
    alignItems: 'center',
    flexShrink: 0,
  }
  return {
    box: box({ ...look, ...plate, ...border, ...(style.fill ? { backgroundColor: css(style.fill) } : {}) }, text),
    height,
  }
}

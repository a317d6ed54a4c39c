// A poster in the making: its size, its words, and how words are stacked so that they always fit.

import { type Color, contrast, css, oklch } from '../color.ts'
import { type Direction, directionOf } from '../text/bidi.ts'
import { capHeights, type LineLook, measureText, type Weight } from '../text/draw.ts'
import { fitLine, fitText, type FittedText, heightOf, widthOf } from '../text/fit.ts'
import type { CjkLanguage } from '../text/language.ts'
import { toCapitals } from '../text/runs.ts'

/** What a theme is given. */
export interface Sheet {
  readonly width: number
  readonly height: number
  /** The shorter side; all lengths follow from it. */
  readonly unit: number
  /** What small type is measured by: more than `unit` where a sheet is long. */
  readonly small: number
  /** Whether it is clearly wider than high, so that words and picture stand side by side. */
  readonly wide: boolean
  readonly title: string
  /** Empty when there is none; so are badge and footer. */
  readonly subtitle: string
  readonly badge: string
  readonly footer: string
  /** In place of the theme's own accent. */
  readonly accent: Color | null
  /** In whose forms shared characters are drawn. */
  readonly language: CjkLanguage
  /** Where its words begin. Themes lay out from left to right; `mirror` turns a sheet round. */
  readonly direction: Direction
}

/** A design. */
export interface Theme {
  compose(sheet: Sheet): Composition
}

/** What a theme makes of a sheet. */
export interface Composition {
  /** SVG elements behind the words. */
  readonly backdrop: string
  readonly words: readonly Mark[]
}

/** Lines of text, or a plate that lies under some. */
export type Mark = TextMark | PlateMark

export interface TextMark {
  readonly kind: 'text'
  readonly text: FittedText
  /** Left edge, middle or right edge, as `look.align` says. */
  readonly x: number
  /** Upper edge of the capitals of the first line. */
  readonly top: number
  readonly look: Omit<LineLook, 'size' | 'language' | 'emoji' | 'direction' | 'color'> & { readonly color: Color }
}

export interface PlateMark extends Area {
  readonly kind: 'plate'
  readonly radius: number
  readonly fill: Color | null
  readonly outline: Color | null
  /** Of the outline, in pixels. */
  readonly thickness: number
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
    /** A glow of this colour, so wide in units. */
    readonly glow?: { readonly color: Color; readonly blur: number }
  }
  readonly subtitle: { readonly weight: Weight; readonly color: Color; readonly maxSize: number }
  readonly badge: BadgeStyle
  /** What sets title and subtitle. Default: sans. */
  readonly letters?: 'sans' | 'serif'
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
export function stackWords(sheet: Sheet, area: Area, style: StackStyle): Mark[] {
  const { unit, small, language, direction } = sheet
  const { letters = 'sans' } = style
  const badgeGap = Math.min(small * 0.042, area.height * 0.08)
  const subtitleGap = Math.min(small * 0.05, area.height * 0.09)
  const beside = (badge: Badge | null, subtitle: FittedText | null): number =>
    (badge ? badge.height + badgeGap : 0) + (subtitle ? heightOf(subtitle) + subtitleGap : 0)
  const badge = sheet.badge === '' ? null : createBadge(sheet, area, style.badge)
  const subtitle = sheet.subtitle === '' ? null : fitSubtitle(sheet, area, style)
  const { weight, color, letterSpacing, lineHeight, maxSize, glow } = style.title
  const words = style.title.uppercase ? toCapitals(sheet.title) : sheet.title
  const set = { weight, letterSpacing, display: true, letters, language, direction: directionOf(words, direction) }
  const title = fitText(words, set, {
    width: area.width,
    height: area.height - beside(badge, subtitle),
    lineHeight,
    minSize: unit * 0.024,
    // A word or two may stand much larger than a sentence.
    maxSize: (sheet.wide ? small : unit) * maxSize * Math.min(2.2, Math.max(1, shortWidth / measureText(words, set))),
    maxLines: 9,
  })
  // Large letters want more room below them than small ones, whatever hangs below their line.
  const wantedGap = Math.max(subtitleGap, title.size * (gapBelow - title.descent))
  const height = heightOf(title) + beside(badge, subtitle)
  const extraGap = subtitle ? Math.min(wantedGap - subtitleGap, Math.max(0, area.height - height)) : 0
  const spare = Math.max(0, area.height - height - extraGap) * { top: 0, middle: 0.5, bottom: 1 }[style.vertical]
  const x = style.align === 'center' ? area.left + area.width / 2 : area.left
  let top = area.top + spare
  const marks: Mark[] = []
  if (badge) {
    marks.push(...badge.place(style.align === 'center' ? x - badge.width / 2 : x, top))
    top += badge.height + badgeGap
  }
  const shadow = glow ? { shadow: { color: css(glow.color), blur: unit * glow.blur } } : {}
  const look = { weight, letterSpacing, display: true, letters, color, align: style.align, ...shadow }
  marks.push({ kind: 'text', text: title, x, top, look })
  top += heightOf(title) + subtitleGap + extraGap
  if (subtitle) {
    const { weight, color } = style.subtitle
    marks.push({ kind: 'text', text: subtitle, x, top, look: { weight, color, letters, align: style.align } })
  }
  return marks
}

/** One line in an area, as large as `maxSize` (in small units) or as its width allows; nothing when there is nothing to set. */
export function oneLine(
  sheet: Sheet,
  text: string,
  area: Area,
  maxSize: number,
  weight: Weight,
  color: Color,
  align: 'left' | 'center' | 'right' = 'left',
  letterSpacing = 0,
): Mark[] {
  if (text === '') return []
  const style = { weight, letterSpacing, language: sheet.language, direction: directionOf(text, sheet.direction) }
  const line = fitLine(text, style, Math.min(sheet.small * maxSize, area.height), area.width)
  const x = area.left + area.width * { left: 0, center: 0.5, right: 1 }[align]
  // Letters stand in the middle of the area by their capitals, whatever hangs below the line.
  const top = area.top + (area.height - line.size * capHeights.sans) / 2 - line.size * (line.ascent - capHeights.sans)
  return [{ kind: 'text', text: line, x, top, look: { weight, letterSpacing, color, align } }]
}

/** A composition as in a mirror, for words that begin at the right: the picture is turned round, the words are not. */
export function mirror({ backdrop, words }: Composition, width: number): Composition {
  const turned = { left: 'right', center: 'center', right: 'left' } as const
  return {
    backdrop: `<g transform="translate(${width} 0) scale(-1 1)">${backdrop}</g>`,
    words: words.map((mark) =>
      mark.kind === 'plate'
        ? { ...mark, left: width - mark.left - mark.width }
        : { ...mark, x: width - mark.x, look: { ...mark.look, align: turned[mark.look.align ?? 'left'] } },
    ),
  }
}

/** Black or white, whichever can be read on a colour. */
export function readableOn(color: Color): Color {
  const [dark, light] = [oklch(0.12, 0.02, color.h), oklch(0.995, 0.003, color.h)]
  return contrast(dark, color) > contrast(light, color) ? dark : light
}

// From the last line of a title to what follows, as a fraction of its size.
const gapBelow = 0.46
// In ems: what is narrower counts as short.
const shortWidth = 7

function fitSubtitle(sheet: Sheet, area: Area, style: StackStyle): FittedText {
  const { unit, small, wide, subtitle, language } = sheet
  const direction = directionOf(subtitle, sheet.direction)
  return fitText(
    subtitle,
    { weight: style.subtitle.weight, letters: style.letters ?? 'sans', language, direction },
    {
      width: Math.min(area.width, unit * (wide ? 1.7 : 1.1)),
      height: area.height * 0.34,
      lineHeight: 1.36,
      minSize: unit * 0.019,
      maxSize: small * style.subtitle.maxSize,
      maxLines: 5,
      steady: true,
    },
  )
}

interface Badge {
  readonly width: number
  readonly height: number
  place(left: number, top: number): Mark[]
}

function createBadge(sheet: Sheet, area: Area, style: BadgeStyle): Badge {
  const { unit, small, badge, language } = sheet
  const { weight, color, fill = null, outline = null } = style
  const isBoxed = fill !== null || outline !== null
  const letterSpacing = style.uppercase ? 0.09 : 0.01
  const wanted = small * 0.027
  const padding = isBoxed ? wanted : 0
  const set = { weight, letterSpacing, language, direction: directionOf(badge, sheet.direction) }
  const line = fitLine(style.uppercase ? toCapitals(badge) : badge, set, wanted, area.width - 2 * padding)
  const inner = widthOf(line, set)
  const height = Math.ceil(line.size * (isBoxed ? 2.1 : line.ascent + 0.05))
  const width = inner + 2 * padding
  return {
    width,
    height,
    place: (left, top) => [
      ...(isBoxed
        ? [
            {
              kind: 'plate' as const,
              left,
              top,
              width,
              height,
              radius: style.square ? 0 : height / 2,
              fill,
              outline,
              thickness: Math.max(1, unit * 0.0022),
            },
          ]
        : []),
      {
        kind: 'text',
        text: line,
        x: left + padding,
        top:
          top +
          (isBoxed ? (height - line.size * capHeights.sans) / 2 - line.size * (line.ascent - capHeights.sans) : 0),
        look: { weight, letterSpacing, color },
      },
    ],
  }
}

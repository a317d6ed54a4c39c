// Measures and draws lines of text on a canvas, in whatever typefaces their characters need. Nothing has to be registered.

import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas'
import type { Face, FaceName } from './faces.ts'
import { type CjkLanguage, languageOf } from './language.ts'
import { type Run, splitRuns } from './runs.ts'

/** Weights that the designs use. */
export type Weight = 300 | 400 | 500 | 600 | 700 | 800 | 900

/** How a text is set. */
export interface TextStyle {
  readonly weight: Weight
  /** Added after each letter of an alphabet, as a fraction of the size. */
  readonly letterSpacing?: number
  /** Whether letters are drawn for large sizes: finer and closer. */
  readonly display?: boolean
  /** What draws alphabets: Inter or Source Serif. Default: sans. */
  readonly letters?: 'sans' | 'serif'
  /** Whose forms shared characters have. Default: by the text, so give it for a line of a longer one. */
  readonly language?: CjkLanguage
}

/** What a line of text covers at size 1, from where it begins on its baseline. */
export interface TextBounds {
  /** How far the next text would begin. */
  readonly width: number
  /** Ink above and below the baseline. */
  readonly ascent: number
  readonly descent: number
}

/** How a line is drawn; lengths in pixels. */
export interface LineLook extends TextStyle {
  readonly size: number
  /** As CSS. */
  readonly color: string
  /** Default: left. */
  readonly align?: 'left' | 'center' | 'right'
  /** Light or shade around the letters. */
  readonly shadow?: { readonly color: string; readonly blur: number }
}

// All is drawn at one size and scaled: widths are in proportion at every size, without hinting.
const drawnSize = 100
// Emoji fill their box more than letters do.
const emojiScale = 0.9
const emojiDrop = 0.02

// What alphabets are drawn for, in points: reading, and display. Other typefaces have one drawing for all sizes.
const opticalSizes: ReadonlyMap<FaceName, readonly [number, number]> = new Map([
  ['inter', [18, 32]],
  ['serif', [16, 60]],
])

const context = createCanvas(1, 1).getContext('2d')

/** Width of a text at size 1. */
export function measureText(text: string, style: TextStyle): number {
  return measureBounds(text, style).width
}

/** What a text covers at size 1. */
export function measureBounds(text: string, style: TextStyle): TextBounds {
  let [width, ascent, descent] = [0, 0, 0]
  for (const run of splitStyled(text, style)) {
    const scale = scaleOf(run.face) / drawnSize
    useFace(context, run.face, style)
    const measured = context.measureText(run.text)
    width += measured.width * scale
    ascent = Math.max(ascent, measured.actualBoundingBoxAscent * scale)
    descent = Math.max(descent, measured.actualBoundingBoxDescent * scale)
  }
  return { width, ascent, descent }
}

/** Draws one line of text with its baseline at `y`, and left edge, middle or right edge at `x`. */
export function drawText(target: SKRSContext2D, text: string, x: number, y: number, look: LineLook): void {
  const runs = splitStyled(text, look)
  const { align = 'left', size } = look
  const width = align === 'left' ? 0 : measureText(text, look) * size
  target.save()
  target.translate(align === 'left' ? x : align === 'center' ? x - width / 2 : x - width, y)
  target.fillStyle = look.color
  target.textAlign = 'left'
  target.textBaseline = 'alphabetic'
  if (look.shadow) [target.shadowColor, target.shadowBlur] = [look.shadow.color, look.shadow.blur]
  for (const run of runs) drawRun(target, run, look)
  target.restore()
}

function splitStyled(text: string, { language = languageOf(text), letters = 'sans' }: TextStyle): Run[] {
  return splitRuns(text, language, letters === 'serif' ? 'serif' : 'inter')
}

function drawRun(target: SKRSContext2D, { text, face }: Run, look: LineLook): void {
  const scale = (look.size / drawnSize) * scaleOf(face)
  useFace(target, face, look)
  const width = target.measureText(text).width * scale
  target.save()
  target.scale(scale, scale)
  target.fillText(text, 0, face.typeface === 'emoji' ? emojiDrop * drawnSize : 0)
  target.restore()
  target.translate(width, 0)
}

function useFace(target: SKRSContext2D, face: Face, { weight, letterSpacing = 0, display = false }: TextStyle): void {
  face.register()
  target.font = `${drawnSize}px ${face.family}`
  target.fontKerning = 'normal'
  // Asked for as a variation, not as a weight of the font: that would be drawn bold once more.
  const sizes = opticalSizes.get(face.typeface)
  const optical = sizes ? `, "opsz" ${sizes[display ? 1 : 0]}` : ''
  target.fontVariationSettings = face.typeface === 'emoji' ? 'normal' : `"wght" ${weight}${optical}`
  target.letterSpacing = sizes ? `${letterSpacing * drawnSize}px` : '0px'
}

function scaleOf(face: Face): number {
  return face.typeface === 'emoji' ? emojiScale : 1
}

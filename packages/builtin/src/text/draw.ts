// Measures and draws lines of text on a canvas, in whatever typefaces their characters need. Nothing has to be registered.

import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas'
import { type Direction, type Line, toLine } from './bidi.ts'
import type { TextBounds } from './bounds.ts'
import { type Face, type FaceName, facesFor } from './faces.ts'
import { type CjkLanguage, languageOf } from './language.ts'
import { type Run, splitRuns } from './runs.ts'
import { baseLetter, isTight, splitTight } from './spacing.ts'

/** Weights that the designs use. */
export type Weight = 300 | 400 | 500 | 600 | 700 | 800 | 900

/** How a text is set. What says “by the text” is to be given for a line of a longer one. */
export interface TextStyle {
  readonly weight: Weight
  /** Added after each letter of an alphabet, as a fraction of the size. */
  readonly letterSpacing?: number
  /** Whether letters are drawn for large sizes: finer and closer. */
  readonly display?: boolean
  /** What draws letters and characters: Inter and Noto Sans, or Source Serif and Noto Serif. Default: sans. */
  readonly letters?: 'sans' | 'serif'
  /** Whose forms shared characters have. Default: by the text. */
  readonly language?: CjkLanguage
  /** What emoji are as high as: a little more than capitals, or ideographs. Default: by the text. */
  readonly emoji?: EmojiHeight
  /** Of the paragraph. Default: by the text. */
  readonly direction?: Direction
}

export type EmojiHeight = 'capitals' | 'ideographs'

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

// All is measured at one size and scaled: widths are in proportion at every size, without hinting.
const drawnSize = 200
// Where a canvas lets a text begin that runs from right to left.
const farRight = 100_000

// Typefaces of alphabets, and what they are drawn for, in points: reading, and display. Others have one drawing for all sizes.
const alphabets: ReadonlyMap<FaceName, readonly [number, number] | null> = new Map([
  ['inter', [18, 32]],
  ['source-serif', [16, 60]],
  ['noto-serif', null],
])

/** Height of capitals at size 1. */
export const capHeights = { sans: 0.727, serif: 0.658 } as const
// Round emoji are so high at size 1, and their middle is so far above the baseline.
const [emojiHeight, emojiMiddle] = [1.024, 0.341]
// A round shape looks as high as a straight one when it is a little higher.
const emojiOvershoot = 1.2
const [ideographHeight, ideographMiddle] = [0.92, 0.36]
const ideographs = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

const context = createCanvas(1, 1).getContext('2d')

/** Width of a text at size 1. */
export function measureText(text: string | Line, style: TextStyle): number {
  return measureBounds(text, style).width
}

/** What a text covers at size 1. */
export function measureBounds(text: string | Line, style: TextStyle): TextBounds {
  return place(text, style).bounds
}

/** Draws one line of text with its baseline at `y`, and the left edge, middle or right edge of what is seen of it at `x`. */
export function drawText(target: SKRSContext2D, text: string | Line, x: number, y: number, look: LineLook): void {
  const { align = 'left', size } = look
  const { runs, bounds } = place(text, look)
  const from = { left: bounds.left, center: (bounds.left + bounds.right) / 2, right: bounds.right }[align]
  target.save()
  target.translate(x - from * size, y)
  target.fillStyle = look.color
  target.textBaseline = 'alphabetic'
  if (look.shadow) [target.shadowColor, target.shadowBlur] = [look.shadow.color, look.shadow.blur]
  for (const run of runs) {
    useFace(target, run.face, run.direction, look)
    const scale = (run.scale * size) / drawnSize
    target.save()
    target.translate(run.x * size, run.y * size)
    target.scale(scale, scale)
    target.fillText(run.text, 0, 0)
    target.restore()
  }
  target.restore()
}

/** What emoji in a text are as high as. */
export function emojiHeightIn(text: string): EmojiHeight {
  return ideographs.test(text) ? 'ideographs' : 'capitals'
}

interface DirectedRun extends Run {
  readonly direction: Direction
}

/** A run and where it stands at size 1, from the beginning of the baseline. */
interface PlacedRun extends DirectedRun {
  readonly x: number
  readonly y: number
  readonly scale: number
}

/** Puts the runs of a line beside each other. */
function place(text: string | Line, style: TextStyle): { runs: PlacedRun[]; bounds: TextBounds } {
  const line = typeof text === 'string' ? toLine(text, style.direction) : text
  const emoji = fitEmoji(style.emoji ?? emojiHeightIn(line.text), style.letters ?? 'sans')
  const runs: PlacedRun[] = []
  let [x, left, right, ascent, descent] = [0, Infinity, -Infinity, 0, 0]
  let before: DirectedRun | null = null
  for (const run of splitLine(line, style)) {
    const { scale, y } = run.face.typeface === 'emoji' ? emoji : { scale: 1, y: 0 }
    x += gapBetween(before, run, style)
    const ink = measureRun(run, style)
    runs.push({ ...run, x, y, scale })
    if (ink.right > ink.left) {
      left = Math.min(left, x + ink.left * scale)
      right = Math.max(right, x + ink.right * scale)
      ascent = Math.max(ascent, ink.ascent * scale - y)
      descent = Math.max(descent, ink.descent * scale + y)
    }
    x += ink.width * scale
    before = run
  }
  const edges = left < right ? { left, right } : { left: 0, right: x }
  return { runs, bounds: { width: x, ...edges, ascent, descent } }
}

/** The runs of a line from left to right. */
function splitLine({ text, stretches }: Line, style: TextStyle): DirectedRun[] {
  const { language = languageOf(text), letters } = style
  return stretches.flatMap(({ text: part, direction }) => {
    const runs = splitRuns(part, language, letters).flatMap((run) =>
      (alphabets.has(run.face.typeface) ? [run.text] : splitTight(run.text)).map((piece) => ({
        text: piece,
        face: run.face,
        direction,
      })),
    )
    return direction === 'rtl' ? runs.toReversed() : runs
  })
}

/** The space between two runs: 0, or negative where they would stand too far apart. */
function gapBetween(before: DirectedRun | null, after: DirectedRun, style: TextStyle): number {
  if (!before || before.direction === 'rtl') return 0
  const { typeface } = after.face
  if (before.face.typeface !== typeface) return 0
  if (alphabets.has(typeface)) return before.face === after.face ? 0 : kernBetween(before, after, style)
  const ink =
    ({ face }: Run) =>
    (text: string) =>
      measureRun({ text, face, direction: 'ltr' }, style)
  return isTight(before.text, after.text, ink(before), ink(after)) ? -0.5 : 0
}

/** Files of one typeface do not know of each other: letters with accents are kerned as those without, which one file has. */
function kernBetween(before: DirectedRun, after: DirectedRun, style: TextStyle): number {
  const [first, second] = [baseLetter(before.text, 'last'), baseLetter(after.text, 'first')]
  if (first === null || second === null) return 0
  const face = facesFor(after.face.typeface, codeOf(first)).find(
    (one) => one.has(codeOf(first)) && one.has(codeOf(second)),
  )
  if (!face) return 0
  const width = (text: string): number =>
    measureRun({ text, face, direction: 'ltr' }, { ...style, letterSpacing: 0 }).width
  return width(first + second) - width(first) - width(second)
}

function codeOf(letter: string): number {
  return letter.codePointAt(0) as number
}

function measureRun({ text, face, direction }: DirectedRun, style: TextStyle): TextBounds {
  useFace(context, face, direction, style)
  const found = context.measureText(text)
  const [before, after] = [found.actualBoundingBoxLeft, found.actualBoundingBoxRight]
  // From right to left the canvas counts the left edge from the far end of an endless line.
  const left = before > farRight / 2 ? farRight - found.width - before : -before
  // Letters are followed by what is between them, but the box is that of letters with half of it on each side.
  const isAlphabet = alphabets.has(face.typeface)
  const spacing = isAlphabet ? (style.letterSpacing ?? 0) : 0
  const width = found.width / drawnSize
  const ink = { left: left / drawnSize + spacing, right: after / drawnSize + spacing / 2 }
  return {
    width,
    // The overhang of a letter, such as the tail of a j, may leave the line, so that its stem is aligned with the other lines.
    left: isAlphabet ? Math.max(ink.left, 0) : ink.left,
    right: isAlphabet ? Math.min(ink.right, width - spacing) : ink.right,
    ascent: found.actualBoundingBoxAscent / drawnSize,
    descent: found.actualBoundingBoxDescent / drawnSize,
  }
}

/** How large emoji are, and how far below the baseline, so that they suit what stands beside them. */
function fitEmoji(height: EmojiHeight, letters: 'sans' | 'serif'): { scale: number; y: number } {
  const caps = capHeights[letters]
  const [tall, middle] =
    height === 'ideographs' ? [ideographHeight, ideographMiddle] : [caps * emojiOvershoot, caps / 2]
  const scale = tall / emojiHeight
  return { scale, y: emojiMiddle * scale - middle }
}

function useFace(
  target: SKRSContext2D,
  face: Face,
  direction: Direction,
  { weight, letterSpacing = 0, display = false }: TextStyle,
): void {
  face.register()
  target.font = `${drawnSize}px ${face.family}`
  target.fontKerning = 'normal'
  target.textAlign = 'left'
  target.direction = direction
  // Asked for as a variation, not as a weight of the font: that would be drawn bold once more.
  const sizes = alphabets.get(face.typeface)
  const optical = sizes ? `, "opsz" ${sizes[display ? 1 : 0]}` : ''
  target.fontVariationSettings = face.typeface === 'emoji' ? 'normal' : `"wght" ${weight}${optical}`
  target.letterSpacing = alphabets.has(face.typeface) ? `${letterSpacing * drawnSize}px` : '0px'
}

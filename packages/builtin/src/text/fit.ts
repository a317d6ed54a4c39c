// Breaks lines of text and finds their size, so that type is as large as its room allows and never runs out of it.

import type { SKRSContext2D } from '@napi-rs/canvas'
import { cutLines, type Direction, directionOf, type Line, type Span } from './bidi.ts'
import { type BreakLevel, splitUnits, type Unit } from './breaks.ts'
import {
  capHeights,
  drawText,
  type EmojiHeight,
  emojiHeightIn,
  type LineLook,
  measureBounds,
  measureText,
  type TextStyle,
} from './draw.ts'
import { type CjkLanguage, languageOf } from './language.ts'

/** The room that a text may take; lengths in pixels. */
export interface TextRoom {
  readonly width: number
  readonly height: number
  /** From baseline to baseline, as a fraction of the size; more where the letters need it. */
  readonly lineHeight: number
  readonly minSize: number
  readonly maxSize: number
  readonly maxLines: number
  /** Whether a text is as large as it may be, even where a little less would give a better shape, as for one of many. */
  readonly steady?: boolean
}

/** Lines that fit, and how they stand. */
export interface FittedText {
  readonly size: number
  readonly lines: readonly Line[]
  /** From baseline to baseline, as a fraction of the size. */
  readonly lineHeight: number
  /** From the top of the block to the first baseline, as a fraction of the size: capitals, or more where there is ink. */
  readonly ascent: number
  /** From the last baseline to the bottom of the ink, as a fraction of the size. */
  readonly descent: number
  /** What the whole text tells, not a line of it: whose forms shared characters have, how high emoji are, where it begins. */
  readonly language: CjkLanguage
  readonly emoji: EmojiHeight
  readonly direction: Direction
}

// How much smaller a text may become to avoid breaks at such places.
const worth: Readonly<Record<BreakLevel, number>> = { phrase: 1, word: 0.85, character: 0.48, soft: 0.6, force: 0.5 }
// Words are broken earlier if whole words would be this small in proportion to the room.
const [small, worthWhenSmall] = [0.35, 0.65]
// How much smaller lines may become to save one line, and how much more even they must become.
const [evenWorth, muchMoreEven] = [0.8, 0.12]
const levels = Object.keys(worth) as readonly BreakLevel[]
const step = 0.97
// A reader pauses here, so a line may end here even if the lines become less even.
const halts = /[,.;:!?…—–，。、；：！？،؛؟।]["'”’»)」』）》】]*$/u
const haltWorth = 0.03
// With more lines, the last one would only hold the rest.
const fewLines = 3
// Words in pieces are hard to read in more lines than that.
const fewHyphens = 4
const smallestSize = 6
const characters = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u
// Scripts with marks above and below most of their letters.
const marked = /[\p{Script=Arabic}\p{Script=Thai}\p{Script=Devanagari}]/u
// Ink of two lines stays so far apart; ideographs fill their boxes and need more.
const [letterGap, markGap, characterGap] = [0.03, 0.08, 0.2]

/** The largest size at which a text fits its room, and its lines: as even as they can be. Words are broken last of all. */
export function fitText(text: string, style: TextStyle, room: TextRoom): FittedText {
  const set = settle(text, style)
  const { language } = set
  const { ascent, descent } = measureBounds(text, set)
  const gap = characters.test(text) ? characterGap : marked.test(text) ? markGap : letterGap
  const capHeight = capHeights[style.letters ?? 'sans']
  const metrics = {
    lineHeight: Math.max(room.lineHeight, ascent + descent + gap),
    ascent: Math.max(capHeight, ascent),
    descent,
  }
  const { measured, size: largest } =
    chooseWay(text, set, room, metrics) ??
    squeeze(measureUnits(splitUnits(text, 'force', language), set), room, metrics)
  const { size, rows } = setRows(measured, largest, room)
  const lines = cutLines(text, set.direction, spansOf(rows))
  const inks = lines.map((line) => measureBounds(line, set))
  // Of the whole text one line may have a mark above that no line below another has.
  const tall = inks.slice(1).map(({ ascent: above }, index) => (inks[index]?.descent ?? 0) + above + gap)
  return {
    // The sum of its parts is not quite the width of a line.
    size: Math.min(size, ...inks.map(({ left, right }) => room.width / (right - left))),
    lines,
    lineHeight: Math.max(room.lineHeight, ...tall),
    ascent: Math.max(capHeight, inks[0]?.ascent ?? 0),
    descent: inks.at(-1)?.descent ?? 0,
    language,
    emoji: set.emoji,
    direction: set.direction,
  }
}

/** Of all ways to break a text the one that comes out largest, places that are better counting more; null when none fits. */
function chooseWay(
  text: string,
  style: TextStyle & { readonly language: CjkLanguage },
  room: TextRoom,
  metrics: Metrics,
): Way | null {
  const seen = new Set<number>()
  let best: Way | null = null
  for (const level of levels) {
    const measured = measureUnits(splitUnits(text, level, style.language), style)
    // A level that allows no more breaks than the one before it is the same.
    if (seen.has(measured.length)) continue
    seen.add(measured.length)
    const few = { ...room, maxLines: Math.min(fewHyphens, room.maxLines) }
    const size = (level === 'force' ? findSize(measured, few, metrics) : null) ?? findSize(measured, room, metrics)
    if (size === null) continue
    const isSmall: boolean = best !== null && best.size < room.maxSize * small
    const value: number = size * (level === 'force' && isSmall ? worthWhenSmall : worth[level])
    if (value > (best?.value ?? 0)) best = { measured, size, value }
  }
  return best
}

/** A text as a single line of a size, or a smaller one where it would be wider than its room. */
export function fitLine(text: string, style: TextStyle, size: number, room: number): FittedText {
  const { language, emoji, direction, ...set } = settle(text, style)
  const [line] = cutLines(text, direction, [{ start: 0, end: text.length, added: '' }]) as [Line]
  const { left, right, ascent, descent } = measureBounds(line, { ...set, language, emoji })
  return {
    size: Math.min(size, room / (right - left)),
    lines: [line],
    lineHeight: 1,
    ascent: Math.max(capHeights[style.letters ?? 'sans'], ascent),
    descent,
    language,
    emoji,
    direction,
  }
}

/** Width of the ink of the widest line in pixels. */
export function widthOf({ size, lines, language, emoji }: FittedText, style: TextStyle): number {
  return size * Math.max(...lines.map((line) => inkWidth(line, { ...style, language, emoji })))
}

function inkWidth(line: Line, style: TextStyle): number {
  const { left, right } = measureBounds(line, style)
  return right - left
}

/** The style with what the whole text decides. */
function settle<Style extends TextStyle>(
  text: string,
  style: Style,
): Style & Required<Pick<TextStyle, 'language' | 'emoji' | 'direction'>> {
  return {
    ...style,
    language: style.language ?? languageOf(text),
    emoji: style.emoji ?? emojiHeightIn(text),
    direction: style.direction ?? directionOf(text),
  }
}

/** Whether a reader pauses after it; Thai has spaces for that and no other sign. */
function isHalt({ text, space }: Unit): boolean {
  return halts.test(text) || (space !== '' && /\p{Script=Thai}\p{M}*$/u.test(text))
}

/** Height of a block of lines in pixels: from the top of its capitals to the bottom of its last line. */
export function heightOf({ size, lines, lineHeight, ascent, descent }: FittedText): number {
  return size * (ascent + (lines.length - 1) * lineHeight + descent)
}

/**
 * Draws lines below each other.
 * @param x left edge, middle or right edge, as `look.align` says
 * @param top upper edge of the first line's capitals
 */
export function drawLines(
  target: SKRSContext2D,
  { size, lines, lineHeight, ascent, language, emoji }: FittedText,
  x: number,
  top: number,
  look: Omit<LineLook, 'size' | 'language' | 'emoji' | 'direction'>,
): void {
  for (const [index, line] of lines.entries())
    drawText(target, line, x, top + size * (ascent + index * lineHeight), { ...look, size, language, emoji })
}

interface MeasuredUnit extends Unit {
  /** At size 1. */
  readonly width: number
  readonly spaceWidth: number
  readonly hyphenWidth: number
}

/** A way to break a text, and the size that it allows; a better one has more value. */
interface Way {
  readonly measured: readonly MeasuredUnit[]
  readonly size: number
  readonly value: number
}

interface Metrics {
  readonly lineHeight: number
  readonly ascent: number
  readonly descent: number
}

function measureUnits(units: readonly Unit[], style: TextStyle): MeasuredUnit[] {
  const known = new Map<string, number>([['', 0]])
  const measure = (text: string): number => {
    const width = known.get(text) ?? measureText(text, style)
    known.set(text, width)
    return width
  }
  return units.map((unit) => ({
    ...unit,
    width: measure(unit.text),
    spaceWidth: measure(unit.space),
    hyphenWidth: measure(unit.hyphen),
  }))
}

/** The largest size of the room at which the units fit it; null when there is none. */
function findSize(units: readonly MeasuredUnit[], room: TextRoom, metrics: Metrics): number | null {
  const widest = Math.max(...units.map(({ width, hyphenWidth }) => width + hyphenWidth))
  for (let size = Math.min(room.maxSize, room.width / widest); size >= room.minSize; size *= step) {
    const count = countLines(units, room.width / size)
    if (count <= room.maxLines && isLowEnough(count, size, room, metrics)) return size
  }
  return null
}

/** The text does not fit at the smallest size, so it becomes smaller than that. */
function squeeze(
  units: readonly MeasuredUnit[],
  room: TextRoom,
  metrics: Metrics,
): { measured: readonly MeasuredUnit[]; size: number } {
  let size = room.minSize
  while (size > smallestSize && !isLowEnough(countLines(units, room.width / size), size, room, metrics)) size *= step
  return { measured: units, size }
}

function isLowEnough(count: number, size: number, room: TextRoom, { lineHeight, ascent, descent }: Metrics): boolean {
  return size * (ascent + (count - 1) * lineHeight + descent) <= room.height
}

/** How many lines there are when each is filled; `width` at size 1. */
function countLines(units: readonly MeasuredUnit[], width: number): number {
  let [count, used] = [1, 0]
  for (const unit of units) {
    if (used > 0 && used + unit.width + unit.hyphenWidth > width) [count, used] = [count + 1, 0]
    used += unit.width + unit.spaceWidth
  }
  return count
}

/** The lines of a number whose lengths differ least, and which rather end where a reader halts: no widow at the end. Every line is at most `width` at size 1. */
function balance(units: readonly MeasuredUnit[], count: number, width: number): MeasuredUnit[][] {
  const lengthOf = (first: number, end: number): number => {
    const last = units[end - 1] as MeasuredUnit
    let length = last.width + last.hyphenWidth
    for (let i = first; i < end - 1; i++)
      length += (units[i] as MeasuredUnit).width + (units[i] as MeasuredUnit).spaceWidth
    return length
  }
  // best[n][end]: the least sum of squares of n lines that end before unit `end`, and where the last of them begins.
  let best: ({ cost: number; starts: readonly number[] } | undefined)[] = [{ cost: 0, starts: [] }]
  for (let line = 0; line < count; line++) {
    const next: typeof best = []
    for (let end = line + 1; end <= units.length; end++) {
      for (let first = end - 1; first >= line; first--) {
        const length = lengthOf(first, end)
        if (length > width * 1.0001 && first < end - 1) break
        const before = best[first]
        const halt = count > fewLines || end === units.length || isHalt(units[end - 1] as MeasuredUnit) ? 0 : haltWorth
        const cost = (before?.cost ?? Infinity) + length * length + halt * width * width
        if (before && cost < (next[end]?.cost ?? Infinity)) next[end] = { cost, starts: [...before.starts, first] }
      }
    }
    best = next
  }
  const starts = best[units.length]?.starts ?? [0]
  return starts.map((first, index) => units.slice(first, starts[index + 1] ?? units.length))
}

/** Where lines lie in their text. */
function spansOf(lines: readonly (readonly MeasuredUnit[])[]): Span[] {
  let offset = 0
  return lines.map((line) => {
    const start = offset
    for (const { text, space } of line) offset += text.length + space.length
    const last = line.at(-1) as MeasuredUnit
    return { start, end: offset - last.space.length, added: last.hyphen }
  })
}

/** The units of each line; a line fewer at a somewhat smaller size, where that makes the lines much more even. */
function setRows(
  units: readonly MeasuredUnit[],
  largest: number,
  { width, steady = false }: TextRoom,
): { size: number; rows: readonly (readonly MeasuredUnit[])[] } {
  const setAt = (size: number) => balance(units, countLines(units, width / size), width / size)
  const rows = setAt(largest)
  if (steady || rows.length <= 2) return { size: largest, rows }
  for (let size = largest * step; size >= largest * evenWorth; size *= step) {
    if (countLines(units, width / size) === rows.length) continue
    const fewer = setAt(size)
    return evennessOf(fewer) > evennessOf(rows) + muchMoreEven ? { size, rows: fewer } : { size: largest, rows }
  }
  return { size: largest, rows }
}

/** The shortest line as a part of the longest one. */
function evennessOf(lines: readonly (readonly MeasuredUnit[])[]): number {
  const lengths = lines.map((line) => line.reduce((sum, { width, spaceWidth }) => sum + width + spaceWidth, 0))
  return Math.min(...lengths) / Math.max(...lengths)
}

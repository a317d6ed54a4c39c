// Measures and breaks lines of text, so that type is as large as its room allows and never runs out of it.

import { createCanvas, GlobalFonts } from '@napi-rs/canvas'
import { interFamilies, loadInter, type Weight } from './inter.ts'

/** How a text is set; lengths in pixels. */
export interface TextStyle {
  readonly weight: Weight
  /** Added after each letter, as a fraction of the size. */
  readonly letterSpacing?: number
}

/** The room that a text may take. */
export interface TextRoom {
  readonly width: number
  readonly height: number
  readonly lineHeight: number
  readonly minSize: number
  readonly maxSize: number
  readonly maxLines: number
}

export interface FittedText {
  readonly size: number
  readonly lines: readonly string[]
}

const measureSize = 200
// Canvas and satori round differently; a line that fits by less than this might not fit.
const safety = 1.015
const muchLarger = 1.8
const registered = new Set<string>()
const context = createCanvas(1, 1).getContext('2d')

/** Width of a text at size 1. */
export function measureText(text: string, { weight, letterSpacing = 0 }: TextStyle): number {
  for (const { name, data } of loadInter([text], [weight])) register(`${name}-${weight}`, data)
  const families = interFamilies.split(', ').map((name) => `${name}-${weight}`)
  context.font = `${measureSize}px ${families.join(', ')}`
  return safety * (context.measureText(text).width / measureSize + letterSpacing * [...text].length)
}

/** The largest size, and the lines, at which a text fits its room. A word is broken only where that gains much. */
export function fitText(text: string, style: TextStyle, room: TextRoom): FittedText {
  const words = text.split(' ')
  const measure = createMeasure(style)
  const whole = fitWords(words, room, measure, false)
  const broken = fitWords(words, room, measure, true)
  if (whole && (!broken || whole.size * muchLarger >= broken.size)) return whole
  return broken ?? squeeze(words, room, measure)
}

/** At the largest size of the room at which it fits; null when there is none. */
function fitWords(words: readonly string[], room: TextRoom, measure: Measure, breaking: boolean): FittedText | null {
  for (let size = room.maxSize; size >= room.minSize; size *= 0.97) {
    const width = room.width / size
    if (!breaking && words.some((word) => measure(word) > width)) continue
    const parts = breaking ? words.flatMap((word) => splitWord(word, width, measure)) : words
    const count = breakLines(parts, width, measure).length
    if (count <= room.maxLines && count * size * room.lineHeight <= room.height)
      return { size, lines: balance(parts, count, width, measure) }
  }
  return null
}

type Measure = (text: string) => number

function createMeasure(style: TextStyle): Measure {
  const known = new Map<string, number>()
  return (text) => {
    const width = known.get(text) ?? measureText(text, style)
    known.set(text, width)
    return width
  }
}

/** Too much text even for the smallest size: it goes below that. */
function squeeze(words: readonly string[], room: TextRoom, measure: Measure): FittedText {
  for (let size = room.minSize; ; size *= 0.95) {
    const width = room.width / size
    const lines = breakLines(
      words.flatMap((word) => splitWord(word, width, measure)),
      width,
      measure,
    )
    if (lines.length * size * room.lineHeight <= room.height || size < 6) return { size, lines }
  }
}

function breakLines(words: readonly string[], width: number, measure: Measure): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && measure(longer) > width) {
      lines.push(line)
      line = word
    } else {
      line = longer
    }
  }
  return line === '' ? lines : [...lines, line]
}

/** The narrowest measure that still gives as many lines: no widow at the end. */
function balance(words: readonly string[], count: number, width: number, measure: Measure): string[] {
  let low = width / 3
  let high = width
  for (let step = 0; step < 8; step++) {
    const middle = (low + high) / 2
    const fits = words.every((word) => measure(word) <= middle) && breakLines(words, middle, measure).length <= count
    if (fits) high = middle
    else low = middle
  }
  return breakLines(words, high, measure)
}

function splitWord(word: string, width: number, measure: Measure): string[] {
  if (measure(word) <= width) return [word]
  const parts: string[] = []
  let part = ''
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    if (part !== '' && measure(`${part}${segment}-`) > width) {
      parts.push(`${part}-`)
      part = ''
    }
    part += segment
  }
  return [...parts, part]
}

function register(family: string, data: Buffer): void {
  if (registered.has(family)) return
  registered.add(family)
  GlobalFonts.register(data, family)
}

// Captions in time with a voice: spoken words are bright, the current word is coloured, later words are dim.

import { createCanvas, type Canvas, type SKRSContext2D } from '@napi-rs/canvas'
import { measureBounds, measureText } from '../text/draw.ts'
import { drawLines, fitText, heightOf, type FittedText } from '../text/fit.ts'
import { clamp, easeInOut, easeOut } from '../video/easing.ts'
import type { Page } from './narration.ts'

/** Colours of the words, as CSS. */
export interface CaptionColors {
  readonly said: string
  readonly saying: string
  readonly coming: string
}

/** Where captions stand. */
export interface CaptionArea {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  /** The shorter side of the frame. */
  readonly unit: number
}

const style = { weight: 700, letterSpacing: -0.015, display: true } as const
/** Seconds before its first word at which a page comes, and how long it takes to come and to go. */
const [ahead, comes, goes] = [0.22, 0.4, 0.22]
/** How long a word takes to change its colour. */
const changes = 0.09

/** A word of a page and the part of the picture that it takes. */
interface PlacedWord {
  readonly start: number
  readonly end: number
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

interface SetPage {
  readonly said: Canvas
  readonly saying: Canvas
  readonly coming: Canvas
  readonly top: number
  readonly words: readonly PlacedWord[]
}

/** Sets all pages in one size; the result draws what is seen at a time, until `end`. */
export function createCaptions(
  pages: readonly Page[],
  area: CaptionArea,
  colors: CaptionColors,
  end: number,
): (context: SKRSContext2D, seconds: number) => void {
  const { unit } = area
  const room = {
    width: area.width,
    height: area.height,
    lineHeight: 1.22,
    minSize: unit * 0.03,
    maxLines: 6,
    steady: true,
  }
  const fit = (page: Page, maxSize: number): FittedText => fitText(toText(page), style, { ...room, maxSize })
  const size = Math.min(...pages.map((page) => fit(page, unit * 0.118).size))
  // A page is drawn when it appears and released when it is over, because a long text has many pages.
  const known = new Map<number, SetPage>()
  const open = (index: number): SetPage => {
    const page = known.get(index) ?? setPage(pages[index] ?? [], fit(pages[index] ?? [], size), area, colors)
    known.set(index, page)
    known.delete(index - 2)
    return page
  }
  const startOf = (index: number): number => (pages[index]?.[0]?.start ?? end) - ahead
  return (context, seconds) => {
    for (let index = 0; index < pages.length; index++) {
      const [start, stop] = [startOf(index), index < pages.length - 1 ? startOf(index + 1) : end - goes]
      if (seconds < start || seconds > stop + goes) continue
      const come = easeOut((seconds - start) / comes)
      const gone = clamp((seconds - stop) / goes)
      const alpha = easeInOut((seconds - start) / (comes * 0.6)) * (1 - easeInOut(gone))
      drawPage(context, open(index), area, seconds, alpha, unit * (0.03 * (1 - come) - 0.02 * gone * gone))
    }
  }
}

function toText(page: Page): string {
  return page.map(({ text }) => text).join(' ')
}

function setPage(page: Page, fitted: FittedText, area: CaptionArea, colors: CaptionColors): SetPage {
  const tall = heightOf(fitted)
  const margin = Math.ceil(fitted.size * 0.35)
  const draw = (color: string): Canvas => {
    const canvas = createCanvas(Math.ceil(area.width + 2 * margin), Math.ceil(tall + 2 * margin))
    drawLines(canvas.getContext('2d'), fitted, margin, margin, { ...style, color })
    return canvas
  }
  return {
    said: draw(colors.said),
    saying: draw(colors.saying),
    coming: draw(colors.coming),
    top: area.top + (area.height - tall) / 2 - margin,
    words: placeWords(page, fitted, margin),
  }
}

/** Finds each word in the lines. A word that was broken has several places, all with its time. */
function placeWords(page: Page, { lines, size, lineHeight, ascent }: FittedText, margin: number): PlacedWord[] {
  const lettersBefore = page.map((_, i) => page.slice(0, i + 1).reduce((sum, { text }) => sum + text.length, 0))
  let letters = 0
  return lines.flatMap(({ text: line }, row) => {
    let prefix = ''
    const { left } = measureBounds(line, style)
    return line.split(' ').map((token) => {
      // Half of it: a hyphen at a break does not count for the next word.
      const word = page[lettersBefore.findIndex((count) => letters + token.length / 2 <= count)] ?? page.at(-1)
      letters += token.length
      const x = margin + (measureText(prefix, style) - left) * size
      prefix += `${token} `
      return {
        start: word?.start ?? 0,
        end: word?.end ?? 0,
        // A little more than the word, for letters that lean out; half a space at the most.
        x: x - size * 0.05,
        y: margin + size * (row * lineHeight + ascent - 1) - size * 0.05,
        width: measureText(token, style) * size + size * 0.1,
        height: size * 1.34,
      }
    })
  })
}

function drawPage(
  context: SKRSContext2D,
  page: SetPage,
  area: CaptionArea,
  seconds: number,
  alpha: number,
  dy: number,
): void {
  const margin = (page.said.width - area.width) / 2
  const put = (picture: Canvas, word: PlacedWord, share: number): void => {
    if (share <= 0) return
    const { x, y, width, height } = word
    context.globalAlpha = alpha * share
    context.drawImage(picture, x, y, width, height, area.left - margin + x, page.top + y + dy, width, height)
  }
  context.save()
  for (const word of page.words) {
    const began = clamp((seconds - word.start) / changes + 0.5)
    const ended = clamp((seconds - word.end) / changes + 0.5)
    put(page.coming, word, 1 - began)
    put(page.saying, word, began * (1 - ended))
    put(page.said, word, ended)
  }
  context.restore()
}

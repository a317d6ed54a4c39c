// Lines of text as small pictures, drawn once and then moved about.

import { createCanvas, type Canvas, type SKRSContext2D } from '@napi-rs/canvas'
import type { LineLook } from '../text/draw.ts'
import { drawLines, fitText, heightOf, type TextRoom } from '../text/fit.ts'

/** One line: its picture, and where it goes. */
export interface LetteredLine {
  readonly picture: Canvas
  /** Upper left corner of the picture at rest, in pixels of the frame. */
  readonly left: number
  readonly top: number
  /** From line to line. */
  readonly pitch: number
}

/** A block of lines. */
export interface Lettering {
  readonly lines: readonly LetteredLine[]
  /** Size of the letters in pixels. */
  readonly size: number
  readonly top: number
  readonly height: number
}

/** A place for text: its room, and where in the frame its middle is. */
export interface LetteringRoom extends TextRoom {
  readonly centerX: number
  readonly centerY: number
}

/** Sets words as large as their room allows, around a point; aligned as `look` says. */
export function letter(words: string, look: Omit<LineLook, 'size' | 'emoji'>, room: LetteringRoom): Lettering {
  const fitted = fitText(words, look, room)
  const tall = heightOf(fitted)
  const top = room.centerY - tall / 2
  const { align = 'left' } = look
  const left = room.centerX - room.width / 2
  const x = align === 'left' ? left : align === 'center' ? room.centerX : left + room.width
  const [margin, pitch] = [Math.ceil(fitted.size * 0.4), fitted.size * fitted.lineHeight]
  const lines = fitted.lines.map((line, i): LetteredLine => {
    const above = top + i * pitch - margin
    const height = Math.ceil(fitted.size * (fitted.ascent + fitted.descent) + 2 * margin)
    const picture = createCanvas(Math.ceil(room.width + 2 * margin), height)
    const context = picture.getContext('2d')
    context.translate(margin - left, -above)
    drawLines(context, { ...fitted, lines: [line] }, x, top + i * pitch, look)
    return { picture, left: left - margin, top: above, pitch }
  })
  return { lines, size: fitted.size, top, height: tall }
}

/** Draws a line away from its place, by so many pixels. */
export function drawLine(context: SKRSContext2D, line: LetteredLine, dx: number, dy: number, alpha = 1): void {
  if (alpha <= 0) return
  const before = context.globalAlpha
  context.globalAlpha = before * Math.min(1, alpha)
  context.drawImage(line.picture, line.left + dx, line.top + dy)
  context.globalAlpha = before
}

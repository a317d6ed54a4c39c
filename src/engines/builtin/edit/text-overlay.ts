// The operation `text`: sets words upon a picture, always whole and always within its edges.

import type { JsonObject } from '../../../core/engine.ts'
import { fromPixels, type Pixels } from '../image-output.ts'
import { loadInter, toSettableText, type Weight } from '../text/inter.ts'
import { fitText, measureText } from '../text/measure.ts'
import { at, lines, typeset } from '../text/typeset.ts'
import { toPixels } from './pixels.ts'

const weights: Record<string, Weight> = { regular: 400, medium: 500, bold: 700, black: 900 }
const lineHeight = 1.22
const smallestSize = 6

/** Draws `text`, as large as `size` says or as fits. */
export async function overlayText(pixels: Pixels, settings: JsonObject): Promise<Pixels> {
  const text = toSettableText('text', String(settings['text']))
  if (text === '') return pixels
  const { width, height } = pixels
  const weight = weights[String(settings['weight'])] ?? 700
  const background = settings['background'] === undefined ? null : String(settings['background'])
  const margin = Math.round(Math.min(width, height) * 0.05)
  const maxSize = Math.max(smallestSize, Number(settings['size']) * height)
  const padding = Math.min(maxSize * 0.5, Math.min(width, height) * 0.1)
  const room = { width: width - 2 * (margin + padding), height: height - 2 * (margin + padding) }
  const fitted = fitText(
    text,
    { weight },
    { ...room, lineHeight, minSize: Math.min(maxSize, smallestSize), maxSize, maxLines: 30 },
  )

  const blockWidth = Math.min(
    width,
    Math.ceil(Math.max(...fitted.lines.map((line) => measureText(line, { weight }))) * fitted.size + 2 * padding),
  )
  const blockHeight = Math.min(height, Math.ceil(fitted.lines.length * fitted.size * lineHeight + 2 * padding))
  const { left, top, align } = place(String(settings['position']), width, height, blockWidth, blockHeight, margin)
  const style = {
    alignItems: align,
    justifyContent: 'center',
    padding,
    fontSize: fitted.size,
    fontWeight: weight,
    lineHeight,
    color: String(settings['color']),
    // Without a plate of its own the text needs something that sets it off from whatever is behind it.
    ...(background
      ? { backgroundColor: background, borderRadius: padding * 0.6 }
      : { textShadow: `0 0 ${Math.max(2, fitted.size * 0.18)}px rgba(0,0,0,0.55)` }),
  }
  const block = await typeset(
    at(0, 0, blockWidth, blockHeight, {}, lines(fitted.lines, { width: blockWidth, height: blockHeight, ...style })),
    blockWidth,
    blockHeight,
    loadInter([text], [weight]),
  )
  const overlay = {
    input: Buffer.from(block.data),
    raw: { width: block.width, height: block.height, channels: 4 as const },
    left,
    top,
  }
  return toPixels(fromPixels(pixels).composite([overlay]))
}

function place(
  position: string,
  width: number,
  height: number,
  blockWidth: number,
  blockHeight: number,
  margin: number,
): { left: number; top: number; align: string } {
  const along = (start: boolean, end: boolean, whole: number, part: number): number =>
    Math.round(
      Math.min(
        Math.max(0, start ? margin : end ? whole - part - margin : (whole - part) / 2),
        Math.max(0, whole - part),
      ),
    )
  const [isLeft, isRight] = [position.includes('left'), position.includes('right')]
  return {
    left: along(isLeft, isRight, width, blockWidth),
    top: along(position.includes('top'), position.includes('bottom'), height, blockHeight),
    align: isLeft ? 'flex-start' : isRight ? 'flex-end' : 'center',
  }
}

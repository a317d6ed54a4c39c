// The operation `text`: sets words upon a picture, always whole and always within its edges.

import type { JsonObject } from '@mediagen/engine/engine.ts'
import { createCanvas } from '@napi-rs/canvas'
import { fromPixels, type Pixels, toPixels } from '../image-output.ts'
import type { Weight } from '../text/draw.ts'
import { drawLines, fitText, heightOf, widthOf } from '../text/fit.ts'
import { languageOf } from '../text/language.ts'
import { toSettableText } from '../text/runs.ts'

const weights: Record<string, Weight> = { regular: 400, medium: 500, bold: 700, black: 900 }
const lineHeight = 1.22
const smallestSize = 6

/** Draws `text`, as large as `size` says or as fits. */
export async function overlayText(pixels: Pixels, settings: JsonObject, where: string): Promise<Pixels> {
  const text = toSettableText(`${where}.text`, String(settings['text']))
  if (text === '') return pixels
  const { width, height } = pixels
  const weight = weights[String(settings['weight'])] ?? 700
  const background = settings['background'] === undefined ? null : String(settings['background'])
  const margin = Math.round(Math.min(width, height) * 0.05)
  const maxSize = Math.max(smallestSize, Number(settings['size']) * height)
  const padding = Math.min(maxSize * 0.5, Math.min(width, height) * 0.1)
  const fitted = fitText(
    text,
    { weight, language: languageOf(text, settings['language']) },
    {
      width: width - 2 * (margin + padding),
      height: height - 2 * (margin + padding),
      lineHeight,
      minSize: Math.min(maxSize, smallestSize),
      maxSize,
      maxLines: 30,
      steady: true,
    },
  )
  const textWidth = widthOf(fitted, { weight })
  const block = {
    width: Math.max(1, Math.min(width, Math.ceil(textWidth + 2 * padding))),
    height: Math.max(1, Math.min(height, Math.ceil(heightOf(fitted) + 2 * padding))),
  }
  const { left, top, align } = place(String(settings['position']), pixels, block, margin)
  const context = createCanvas(block.width, block.height).getContext('2d')
  if (background) {
    context.fillStyle = background
    context.beginPath()
    context.roundRect(0, 0, block.width, block.height, padding * 0.6)
    context.fill()
  }
  const x = { left: padding, center: block.width / 2, right: block.width - padding }[align]
  drawLines(context, fitted, x, padding, {
    weight,
    align,
    color: String(settings['color']),
    // Without a plate the text needs a shade that sets it off from the picture behind it.
    ...(background ? {} : { shadow: { color: 'rgba(0,0,0,0.85)', blur: Math.max(3, fitted.size * 0.34) } }),
  })
  const { data } = context.getImageData(0, 0, block.width, block.height)
  const input = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return toPixels(fromPixels(pixels).composite([{ input, raw: { ...block, channels: 4 }, left, top }]))
}

interface Size {
  readonly width: number
  readonly height: number
}

function place(
  position: string,
  whole: Size,
  part: Size,
  margin: number,
): { left: number; top: number; align: 'left' | 'center' | 'right' } {
  const along = (start: boolean, end: boolean, room: number): number =>
    Math.round(Math.min(Math.max(0, start ? margin : end ? room - margin : room / 2), Math.max(0, room)))
  const [isLeft, isRight] = [position.includes('left'), position.includes('right')]
  return {
    left: along(isLeft, isRight, whole.width - part.width),
    top: along(position.includes('top'), position.includes('bottom'), whole.height - part.height),
    align: isLeft ? 'left' : isRight ? 'right' : 'center',
  }
}

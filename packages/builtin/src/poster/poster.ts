// The renderer `poster`: sets words in one of several designs.

import { EngineError, type JsonObject } from '@mediagen/engine/engine.ts'
import { createCanvas, ImageData, type SKRSContext2D } from '@napi-rs/canvas'
import { Resvg } from '@resvg/resvg-js'
import { css, parseHex } from '../color.ts'
import { writeImage } from '../image-output.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { directionOf } from '../text/bidi.ts'
import { drawLines } from '../text/fit.ts'
import { languageOf } from '../text/language.ts'
import { toSettableText } from '../text/runs.ts'
import { deband } from './deband.ts'
import { type Composition, type Mark, mirror, type Sheet, type Theme } from './sheet.ts'
import { themes } from './themes.ts'

/** Width and height in pixels. */
export const posterSizes: Readonly<Record<string, readonly [number, number]>> = {
  square: [1080, 1080],
  portrait: [1080, 1350],
  story: [1080, 1920],
  landscape: [1200, 630],
  wide: [1920, 1080],
  banner: [1500, 500],
  print: [1414, 2000],
}

/** Sets the input's `title` and whatever goes with it. */
export async function renderPoster(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const theme = themes[String(input['theme'])]
  if (!theme) throw new EngineError('invalid_input', 'There is no such theme.')
  const sheet = layOut(input)
  task.onProgress(0.1)
  const { backdrop, words } = compose(theme, sheet)
  task.onProgress(0.3)
  const { width, height } = sheet
  const context = createCanvas(width, height).getContext('2d')
  const ground = drawBackdrop(backdrop, width, height)
  deband(ground.data, width, height)
  context.putImageData(ground, 0, 0)
  task.onProgress(0.5)
  for (const mark of words) draw(context, mark)
  const { data } = context.getImageData(0, 0, width, height)
  task.onProgress(0.7)
  return writeImage(task, { data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength), width, height })
}

/**
 * The sheet that an input asks for.
 * @throws EngineError `invalid_input` naming characters that no typeface has
 */
export function layOut(input: JsonObject): Sheet {
  const size = posterSizes[String(input['size'])]
  if (!size) throw new EngineError('invalid_input', 'There is no such size.')
  const [width, height] = size
  const text = (field: string): string => (typeof input[field] === 'string' ? toSettableText(field, input[field]) : '')
  const [title, subtitle, badge, footer] = [text('title'), text('subtitle'), text('badge'), text('footer')]
  if (title === '') throw new EngineError('invalid_input', 'title has no visible characters.')
  return {
    width,
    height,
    unit: Math.min(width, height),
    small: Math.min(Math.sqrt(width * height), Math.min(width, height) * 1.35),
    wide: width > height * 1.2,
    title,
    subtitle,
    badge,
    footer,
    accent: typeof input['accent'] === 'string' ? parseHex(input['accent']) : null,
    language: languageOf([title, subtitle, badge, footer].join(' '), input['language']),
    direction: directionOf(title, directionOf(subtitle)),
  }
}

/** What a theme makes of a sheet, turned round where its words begin at the right. */
export function compose(theme: Theme, sheet: Sheet): Composition {
  const composition = theme.compose(sheet)
  return sheet.direction === 'rtl' ? mirror(composition, sheet.width) : composition
}

/** Draws SVG elements that are made of numbers and colours, never of words. */
export function drawBackdrop(elements: string, width: number, height: number): ImageData {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${elements}</svg>`
  const { pixels } = new Resvg(svg, { font: { loadSystemFonts: false } }).render()
  return new ImageData(new Uint8ClampedArray(pixels), width, height)
}

function draw(context: SKRSContext2D, mark: Mark): void {
  if (mark.kind === 'text') {
    drawLines(context, mark.text, mark.x, mark.top, { ...mark.look, color: css(mark.look.color) })
    return
  }
  const { left, top, width, height, radius, fill, outline, thickness } = mark
  context.beginPath()
  context.roundRect(left, top, width, height, radius)
  if (fill) {
    context.fillStyle = css(fill)
    context.fill()
  }
  if (outline) {
    context.strokeStyle = css(outline)
    context.lineWidth = thickness
    context.stroke()
  }
}

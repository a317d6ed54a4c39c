// The operations of the renderer `edit`. An operation is an object with one key: its name, with its settings as value.

import { EngineError, type JsonObject, type JsonValue } from '@mediagen/engine/engine.ts'
import type { FitEnum, Sharp } from 'sharp'
import { fromPixels, type Pixels, toPixels } from '../image-output.ts'
import { checkPixels, type PixelBound } from './pixels.ts'
import { sharpen } from './sharpen.ts'
import { overlayText } from './text-overlay.ts'
import { workOfOperation } from './work.ts'

/** Makes a new picture; `where` names the operation for the words of a refusal. */
type Operation = (pixels: Pixels, settings: JsonValue, where: string, bound: PixelBound) => Promise<Pixels>

/** What an operation came to. */
export interface Applied {
  readonly pixels: Pixels
  /** Seconds of a processor. */
  readonly work: number
}

const lightness = [0.2126, 0.7152, 0.0722] as const

const operations: Record<string, Operation> = {
  crop,
  resize,
  rotate,
  flip: (pixels, axis) => toPixels(mirror(fromPixels(pixels), String(axis))),
  blur,
  sharpen: (pixels, sigma) => sharpen(pixels, Number(sigma)),
  grayscale: (pixels) => toPixels(fromPixels(pixels).recomb([[...lightness], [...lightness], [...lightness]])),
  tint: (pixels, color) => toPixels(fromPixels(pixels).tint(String(color))),
  adjust,
  text: (pixels, settings, where) => overlayText(pixels, settings as JsonObject, where),
}

/**
 * Applies one operation.
 * @param where the operation's place in the input, such as `operations[2]`
 * @throws EngineError `invalid_input` when it does not suit the picture
 */
export async function applyOperation(
  pixels: Pixels,
  operation: JsonObject,
  where: string,
  bound: PixelBound,
): Promise<Applied> {
  const [entry] = Object.entries(operation)
  const apply = entry && operations[entry[0]]
  if (!entry || !apply) throw new EngineError('invalid_input', `${where} names no operation.`)
  const [name, settings] = entry
  const made = await apply(pixels, settings, `${where}.${name}`, bound)
  return { pixels: made, work: workOfOperation(name, settings, pixels, made) }
}

/** Seconds that an operation may be expected to take, before its picture is there. */
export function expectWork(operation: JsonObject, pixels: Pixels): number {
  const [entry] = Object.entries(operation)
  return entry ? workOfOperation(entry[0], entry[1], pixels, pixels) : 0
}

async function crop(pixels: Pixels, settings: JsonValue, where: string): Promise<Pixels> {
  const { left, top, width, height } = settings as { left: number; top: number; width: number; height: number }
  if (left + width > pixels.width || top + height > pixels.height) {
    throw new EngineError(
      'invalid_input',
      `${where} reaches outside of the picture, which is ${pixels.width} × ${pixels.height} at that point.`,
    )
  }
  return toPixels(fromPixels(pixels).extract({ left, top, width, height }))
}

async function resize(pixels: Pixels, settings: JsonValue, where: string, bound: PixelBound): Promise<Pixels> {
  const { fit, position, background, ...wanted } = settings as {
    width?: number
    height?: number
    fit: keyof FitEnum
    position: string
    background: string
  }
  const scaleX = wanted.width === undefined ? null : wanted.width / pixels.width
  const scaleY = wanted.height === undefined ? null : wanted.height / pixels.height
  // If one side is given, the other follows from the proportions. To cover a box, the picture is first made larger than the box.
  const scale = Math.max(scaleX ?? scaleY ?? 1, scaleY ?? scaleX ?? 1)
  if (scaleX === null || scaleY === null || fit === 'cover')
    checkPixels(pixels.width * scale, pixels.height * scale, where, bound)
  else if (fit !== 'inside') checkPixels(wanted.width ?? 0, wanted.height ?? 0, where, bound)
  else checkPixels(pixels.width * Math.min(scaleX, scaleY), pixels.height * Math.min(scaleX, scaleY), where, bound)
  return toPixels(fromPixels(pixels).resize({ ...wanted, fit, position, background }))
}

async function rotate(pixels: Pixels, settings: JsonValue, where: string, bound: PixelBound): Promise<Pixels> {
  const { angle, background } = settings as { angle: number; background: string }
  const [sin, cos] = [Math.abs(Math.sin((angle * Math.PI) / 180)), Math.abs(Math.cos((angle * Math.PI) / 180))]
  checkPixels(pixels.width * cos + pixels.height * sin, pixels.width * sin + pixels.height * cos, where, bound)
  return toPixels(fromPixels(pixels).rotate(angle, { background }))
}

function mirror(image: Sharp, axis: string): Sharp {
  if (axis === 'both') return image.flip().flop()
  return axis === 'vertical' ? image.flip() : image.flop()
}

// The time of a blur grows with its radius, and a wide blur keeps no detail, so it is done on a smaller picture.
const widestExactSigma = 8

async function blur(pixels: Pixels, settings: JsonValue): Promise<Pixels> {
  const sigma = Number(settings)
  const shrink = sigma / widestExactSigma
  const [width, height] = [Math.round(pixels.width / shrink), Math.round(pixels.height / shrink)]
  if (shrink <= 1 || width < 4 || height < 4) return toPixels(fromPixels(pixels).blur(sigma))
  const small = await toPixels(fromPixels(pixels).resize({ width, height, fit: 'fill', kernel: 'mitchell' }))
  const blurred = await toPixels(fromPixels(small).blur(widestExactSigma))
  return toPixels(
    fromPixels(blurred).resize({ width: pixels.width, height: pixels.height, fit: 'fill', kernel: 'cubic' }),
  )
}

async function adjust(pixels: Pixels, settings: JsonValue): Promise<Pixels> {
  const { brightness, saturation, contrast, hue } = settings as {
    brightness: number
    saturation: number
    contrast: number
    hue: number
  }
  const modulated = await toPixels(fromPixels(pixels).modulate({ brightness, saturation, hue }))
  if (contrast === 1) return modulated
  // Around middle grey; the alpha channel stays as it is.
  const offset = 128 * (1 - contrast)
  return toPixels(fromPixels(modulated).linear([contrast, contrast, contrast, 1], [offset, offset, offset, 0]))
}

// The processor time of an edit, estimated from the sizes of its pictures. The price is based on it. Measured in seconds a megapixel on
// one core; the same edit of the same picture always comes to the same.

import type { JsonValue } from '@mediagen/engine/engine.ts'
import { mostTrellisQuality } from '../image-output.ts'

interface Size {
  readonly width: number
  readonly height: number
}

/** Decoding, upright and to sRGB, and scaling to what comes out. */
const opening = 0.03
// Resampling costs by what goes in and what comes out; looking for the interesting part more.
const resizing = { in: 0.015, out: 0.05, looking: 0.05 }
const turning = { right: 0.015, other: 0.05 }
/** Up to this standard deviation a blur is exact, and cheap. */
const cheapSigma = 8
const blurring = { narrow: 0.02, wide: 0.06 }
const lettering = 0.02
/** Laying out a text, whatever the size of the picture. */
const typesetting = 0.03

const flat: Readonly<Record<string, number>> = {
  crop: 0.01,
  flip: 0.01,
  sharpen: 0.02,
  grayscale: 0.015,
  tint: 0.02,
  adjust: 0.09,
}
const formats: Readonly<Record<string, number>> = { png: 0.07, jpeg: 0.16, webp: 0.12, avif: 0.12 }
const fineJpeg = 0.04

const megapixels = ({ width, height }: Size): number => (width * height) / 1e6

/** Seconds for opening a picture of this size. */
export function workOfOpening(picture: Size): number {
  return opening * megapixels(picture)
}

/** Seconds for one operation that made `after` of `before`. */
export function workOfOperation(name: string, settings: JsonValue, before: Size, after: Size): number {
  const [from, to] = [megapixels(before), megapixels(after)]
  switch (name) {
    case 'resize': {
      const { position } = settings as { position?: string }
      const looks = position === 'attention' || position === 'entropy'
      return resizing.in * from + (resizing.out + (looks ? resizing.looking : 0)) * to
    }
    case 'rotate':
      return ((settings as { angle: number }).angle % 90 === 0 ? turning.right : turning.other) * to
    case 'blur':
      return (Number(settings) > cheapSigma ? blurring.wide : blurring.narrow) * to
    case 'text':
      return typesetting + lettering * to
    default:
      return (flat[name] ?? 0) * to
  }
}

/** Seconds for encoding what comes out. */
export function workOfEncoding(format: string, quality: number, picture: Size): number {
  const fine = format === 'jpeg' && quality > mostTrellisQuality
  return (fine ? fineJpeg : (formats[format] ?? 0)) * megapixels(picture)
}

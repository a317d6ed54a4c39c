// Pixels between two operations: always 8-bit sRGB with alpha, so that no operation has to ask what it gets.

import type { Sharp } from 'sharp'
import { EngineError } from '../../../core/engine.ts'
import type { Pixels } from '../image-output.ts'
import { maxInputPixels } from '../media-input.ts'

/** Pixels that an image may have, when it comes in and after every operation. */
export const maxPixels = maxInputPixels

/** Runs a sharp pipeline to raw pixels. */
export async function toPixels(image: Sharp): Promise<Pixels> {
  const { data, info } = await image
    .toColourspace('srgb')
    .ensureAlpha()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  if (info.channels !== 4) throw new Error(`An operation left ${info.channels} channels`)
  return { data, width: info.width, height: info.height }
}

/** @throws EngineError `invalid_input` when an operation would make a picture that is too large to work on */
export function checkPixels(width: number, height: number, where: string): void {
  if (width * height <= maxPixels) return
  throw new EngineError(
    'invalid_input',
    `${where} would need ${Math.round(width)} × ${Math.round(height)} pixels, more than ${maxPixels / 1e6} megapixels.`,
  )
}

// How large a picture may become on its way through the operations.

import { EngineError } from '../../../core/engine.ts'
import { maxInputPixels } from '../media-input.ts'

/** @throws EngineError `invalid_input` when an operation would make a picture that is too large to work on */
export function checkPixels(width: number, height: number, where: string): void {
  if (width * height <= maxInputPixels) return
  throw new EngineError(
    'invalid_input',
    `${where} would need ${Math.round(width)} × ${Math.round(height)} pixels, more than ${maxInputPixels / 1e6} megapixels.`,
  )
}

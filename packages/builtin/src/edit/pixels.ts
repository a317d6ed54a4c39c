// How large a picture may become during the operations: as large as the request asked and paid for.

import { EngineError } from '@mediagen/engine/engine.ts'

// What can be asked for, by the schema.
const mostMegapixels = 50

/** Pixels that the picture that is handed in, and all that operations make of it, may have. */
export interface PixelBound {
  readonly megapixels: number
}

/** @throws EngineError `invalid_input` when the picture that was handed in is larger */
export function checkInputPixels(width: number, height: number, bound: PixelBound): void {
  if (width * height <= bound.megapixels * 1e6) return
  throw tooLarge(`image is ${width} × ${height}`, width * height, bound)
}

/** @throws EngineError `invalid_input` when an operation would make a larger one */
export function checkPixels(width: number, height: number, where: string, bound: PixelBound): void {
  if (width * height <= bound.megapixels * 1e6) return
  throw tooLarge(`${where} would need ${Math.round(width)} × ${Math.round(height)} pixels`, width * height, bound)
}

function tooLarge(what: string, pixels: number, { megapixels }: PixelBound): EngineError {
  const words = `${what}, more than the ${megapixels} megapixels requested`
  const advice = pixels > mostMegapixels * 1e6 ? '' : ` Request ${Math.ceil(pixels / 1e6)} (megapixels).`
  return new EngineError('invalid_input', `${words}.${advice}`)
}

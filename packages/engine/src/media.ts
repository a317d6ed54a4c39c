// Media of inputs: names of fields for messages, and refusals.
import { EngineError } from './engine.ts'

/** The readable name of a field of an input: `/images/0/url` is `images[0].url`. */
export function toFieldName(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((token, index) => (/^\d+$/.test(token) ? `[${token}]` : index === 0 ? token : `.${token}`))
    .join('')
}

/** The refusal of a media reference; the same reference would be refused again. */
export function invalidMedia(field: string, words: string, options?: ErrorOptions): EngineError {
  return new EngineError('invalid_media', `${field} ${words}.`, false, options)
}

/** The size limits of a picture. */
export interface PictureBounds {
  /** Pixels of a picture, or of one frame. */
  readonly pixels: number
  /** Pixels of the longer side, because algorithms that work by rows spend time on each row, however short. */
  readonly side: number
}

/** The default limits. */
export const usualPictureBounds: PictureBounds = { pixels: 50_000_000, side: 32_768 }

// The brands of AVIF files that libvips knows; they are at the same offset in every file.
const knownBrands: ReadonlySet<string> = new Set(['avif', 'mif1', 'msf1'])

/** An AVIF file as sharp takes it: of a sequence, sharp does not know the brand, though it decodes the picture in it. */
export function toStillAvif(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 4, 8) !== 'ftyp' || knownBrands.has(bytes.toString('latin1', 8, 12))) return bytes
  return Buffer.concat([bytes.subarray(0, 8), Buffer.from('avif'), bytes.subarray(12)])
}

/** What is wrong with the size of a picture, as a clause after its name; null if it is within the limits. */
export function whyTooLarge(width: number, height: number, { pixels, side }: PictureBounds): string | null {
  if (width * height > pixels)
    return `is ${width} × ${height}, which is more than the ${pixels / 1e6} megapixels that are accepted`
  return Math.max(width, height) > side
    ? `is ${width} × ${height}, and no side may be longer than ${side} pixels`
    : null
}

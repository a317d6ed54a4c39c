// Media that is handed in: how messages name the place of an input where it stands, and how they refuse it.
import { EngineError } from './engine.ts'

/** The name of a place in an input as people write it: `/images/0/url` is `images[0].url`. */
export function toFieldName(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((token, index) => (/^\d+$/.test(token) ? `[${token}]` : index === 0 ? token : `.${token}`))
    .join('')
}

/** A refusal of what was handed in: the same reference would be refused again. */
export function invalidMedia(field: string, words: string, options?: ErrorOptions): EngineError {
  return new EngineError('invalid_media', `${field} ${words}.`, false, options)
}

/** How large a picture may be. */
export interface PictureBounds {
  /** Pixels in all. */
  readonly pixels: number
  /** Pixels of the longer side: what works by rows spends its time on each of them, however short they are. */
  readonly side: number
}

/** The bounds that hold where nobody has set others. */
export const usualPictureBounds: PictureBounds = { pixels: 50_000_000, side: 32_768 }

/** What is wrong with the size of a picture, to follow its name; null when it is within the bounds. */
export function whyTooLarge(width: number, height: number, { pixels, side }: PictureBounds): string | null {
  if (width * height > pixels)
    return `is ${width} × ${height}, which is more than the ${pixels / 1e6} megapixels that are accepted`
  return Math.max(width, height) > side
    ? `is ${width} × ${height}, and no side may be longer than ${side} pixels`
    : null
}

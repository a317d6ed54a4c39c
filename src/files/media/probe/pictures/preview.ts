// The preview of an output, and its blurhash.

import { encode } from 'blurhash'
import type { Sharp } from 'sharp'

const longSide = 512
const quality = 80
// A blurhash has at most nine components across, so it does not improve beyond this size; each pixel takes part in all of them.
const blurSide = 32
const blurComponents = 12

/** Writes the preview: WebP, at most 512 pixels on its long side, and never larger than its source. */
export async function writePreview(picture: Sharp, path: string): Promise<void> {
  await picture
    .clone()
    .resize({ width: longSide, height: longSide, fit: 'inside', withoutEnlargement: true })
    .webp({ quality })
    .toFile(path)
}

/** The blurhash of a picture: about twelve components, split by its aspect ratio, on a white ground. */
export async function toBlurhash(picture: Sharp): Promise<string> {
  const { data, info } = await picture
    .clone()
    .resize({ width: blurSide, height: blurSide, fit: 'inside' })
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const across = toComponents(Math.sqrt((blurComponents * info.width) / info.height))
  const down = toComponents(blurComponents / across)
  return encode(new Uint8ClampedArray(data), info.width, info.height, across, down)
}

function toComponents(count: number): number {
  return Math.min(Math.max(Math.round(count), 1), 9)
}

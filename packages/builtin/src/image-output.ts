// Writes a finished picture in the format that the input asks for, and looks at what was written.

import type { JsonObject } from '@mediagen/engine/engine.ts'
import sharp, { type Sharp } from 'sharp'
import type { Rendered, RenderTask } from './renderer.ts'

/** Formats in which pictures can be had. */
export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'avif'

const extensions = { png: 'png', jpeg: 'jpg', webp: 'webp', avif: 'avif' } as const satisfies Record<
  ImageFormat,
  string
>
const defaultQuality = 88
const leastDraftedPixels = 1_000_000
/** A JPEG above this quality is encoded without trellis quantization. */
export const mostTrellisQuality = 90

/** Pixels as they lie in memory: 8 bits each of red, green, blue and (not premultiplied) alpha. */
export interface Pixels {
  readonly data: Uint8Array
  readonly width: number
  readonly height: number
}

/** Opens raw pixels with sharp. */
export function fromPixels({ data, width, height }: Pixels): Sharp {
  return sharp(data, { raw: { width, height, channels: 4 } })
}

/** Runs a sharp pipeline to raw pixels: always 8-bit sRGB with alpha, so that nobody has to ask what it gets. */
export async function toPixels(image: Sharp): Promise<Pixels> {
  const { data, info } = await image
    .toColourspace('srgb')
    .ensureAlpha()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  if (info.channels !== 4) throw new Error(`An operation left ${info.channels} channels`)
  return { data, width: info.width, height: info.height }
}

/**
 * Encodes pixels to the task's file as its input's `format` and `quality` say (defaults: PNG, 88), then reads the
 * header back. Metadata of any kind stays behind. JPEG knows no transparency: it gets `background` instead.
 */
export async function writeImage(task: RenderTask, pixels: Pixels, background = '#ffffff'): Promise<Rendered> {
  const format = formatOf(task.input)
  // A smaller picture is there as soon as its draft.
  if (pixels.width * pixels.height >= leastDraftedPixels) await task.onDraft?.(fromPixels(pixels))
  const image = isOpaque(pixels)
    ? fromPixels(pixels).removeAlpha()
    : format === 'jpeg'
      ? fromPixels(pixels).flatten({ background })
      : fromPixels(pixels)
  await encode(image, format, qualityOf(task.input)).toFile(task.file)
  task.onProgress(0.95)
  const written = await sharp(task.file).metadata()
  if (written.width !== pixels.width || written.height !== pixels.height)
    throw new Error(`Wrote ${written.width}x${written.height} of ${pixels.width}x${pixels.height}`)
  return { extension: extensions[format], usage: { megapixels: (pixels.width * pixels.height) / 1e6 } }
}

function isOpaque({ data }: Pixels): boolean {
  for (let i = 3; i < data.length; i += 4) if (data[i] !== 255) return false
  return true
}

/** The format that an input asks for. */
export function formatOf(input: JsonObject): ImageFormat {
  const format = input['format']
  return typeof format === 'string' && Object.hasOwn(extensions, format) ? (format as ImageFormat) : 'png'
}

/** The quality that an input asks for. */
export function qualityOf(input: JsonObject): number {
  return typeof input['quality'] === 'number' ? input['quality'] : defaultQuality
}

function encode(image: Sharp, format: ImageFormat, quality: number): Sharp {
  switch (format) {
    case 'png':
      return image.png({ compressionLevel: 6 })
    case 'jpeg':
      // In fine ones it takes a second a megapixel, and saves next to nothing.
      return image.jpeg({
        quality,
        mozjpeg: quality <= mostTrellisQuality,
        chromaSubsampling: quality >= 80 ? '4:4:4' : '4:2:0',
      })
    case 'webp':
      return image.webp({ quality, effort: 4 })
    case 'avif':
      // AV1 is perceptually far ahead at the same number. More effort saves a few per cent of the bytes for five times the work.
      return image.avif({ quality: Math.max(1, quality - 20), effort: 0 })
  }
}

// Decodes pictures to the last pixel, because encoders have reported success on files that nobody can open.

import { readFile } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import { type PictureBounds, toStillAvif } from '@mediagen/engine/media.ts'
import sharp, { type Sharp } from 'sharp'
import { invalidOutput } from '../../invalid-output.ts'
import type { Metadata } from '../../provenance/read.ts'
import { hasWholeFrames } from './apng.ts'

/** The properties of a picture, or of the picture of a recording. */
export interface Seen {
  /** Pixels as displayed; null for a sound. */
  readonly width: number | null
  readonly height: number | null
  /** Seconds; null for a still picture. */
  readonly durationSeconds: number | null
  /** The picture for the preview; null if there is none. */
  readonly preview: Sharp | null
  /** Whether the preview shows a picture and so has a blurhash. */
  readonly isPicture: boolean
  /** The metadata of a picture. */
  readonly metadata?: Metadata
}

// A cache would keep a file open after it was moved or removed.
sharp.cache(false)

// Pixels of a picture that are kept after it was decoded, four bytes each at most; for a larger one, preview and blurhash decode
// it again.
const mostKeptPixels = 16_000_000

/** All frames of an animation together may have so many times the pixels that one may have. */
const mostFrames = 20

/**
 * Decodes all frames of a picture.
 * @param format sharp's name for it
 * @throws EngineError `output_invalid` when it is damaged or too large
 */
export async function inspectPicture(
  path: string,
  name: string,
  format: string,
  { pixels, side }: PictureBounds,
): Promise<Seen> {
  const animated = format === 'gif' || format === 'webp'
  const options = { limitInputPixels: pixels, sequentialRead: true, failOn: 'error' } as const
  const everyFrame = animated ? { ...options, limitInputPixels: pixels * mostFrames, pages: -1 } : options
  try {
    const source = format === 'heif' ? toStillAvif(await readFile(path)) : path
    const metadata = await sharp(source, everyFrame).metadata()
    if (metadata.format !== format)
      throw invalidOutput(name, `cannot be identified as ${format} or as any other format`)
    const { width: across, pageHeight: down = metadata.height, orientation = 1 } = metadata
    if (Math.max(across, down) > side) throw invalidOutput(name, `has a side of more than ${side} pixels`)
    if (across * down > pixels) throw invalidOutput(name, `is larger than ${pixels} pixels`)
    const isKept = (metadata.pages ?? 1) === 1 && across * down <= mostKeptPixels
    const preview = isKept ? await decode(sharp(source, options)) : sharp(source, options).autoOrient()
    // Made small row by row, so that everything is decoded and nothing kept.
    if (!isKept) await sharp(source, everyFrame).resize(1, 1, { fit: 'fill', fastShrinkOnLoad: false }).raw().toBuffer()
    if (format === 'png' && !(await hasWholeFrames(path))) throw new Error('a frame is damaged')
    // EXIF orientations from 5 on rotate the picture by 90 degrees.
    const [width, height] = orientation < 5 ? [across, down] : [down, across]
    return { width, height, durationSeconds: null, preview, isPicture: true, metadata }
  } catch (cause) {
    if (cause instanceof EngineError) throw cause
    const tooLarge = cause instanceof Error && cause.message.includes('pixel limit')
    const words = tooLarge ? describeBound(pixels, animated) : `is a damaged picture (${format})`
    throw invalidOutput(name, words, { cause })
  }
}

function describeBound(pixels: number, animated: boolean): string {
  return animated ? `has frames of more than ${pixels * mostFrames} pixels together` : `is larger than ${pixels} pixels`
}

/** A picture as its pixels in memory, upright and in sRGB, so that what is made of it need not decode it again. */
async function decode(picture: Sharp): Promise<Sharp> {
  const { data, info } = await picture.autoOrient().raw().toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  return sharp(data, { raw: { width, height, channels } })
}

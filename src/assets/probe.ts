// What kind of media a file is, by its content. Pictures are decoded to the last pixel, because encoders have been seen
// to report success on files that nobody can open.

import { fileTypeFromFile } from 'file-type'
import { EngineError } from '../core/engine.ts'

/** What is known about a media file by looking into it. */
export interface Media {
  readonly contentType: string
  /** Usual file name extension, without a dot. */
  readonly extension: string
  /** Pixels, as a viewer shows the picture; null for what has no picture or where it is not known. */
  readonly width: number | null
  readonly height: number | null
  /** Seconds; null for a still picture or where it is not known. */
  readonly durationSeconds: number | null
}

/** Longest time that decoding one picture may take. */
const decodeTimeoutSeconds = 60
/** Longest piece of a file that is read to recognise it. */
const maxSniffBytes = 1024 * 1024

/** Pictures that are served, by the extension that file-type gives them, with sharp's name for their format. */
const pictures: Readonly<Record<string, { contentType: string; format: string }>> = {
  png: { contentType: 'image/png', format: 'png' },
  jpg: { contentType: 'image/jpeg', format: 'jpeg' },
  webp: { contentType: 'image/webp', format: 'webp' },
  avif: { contentType: 'image/avif', format: 'heif' },
  gif: { contentType: 'image/gif', format: 'gif' },
}

/** Video and sound that is served, by the extension that file-type gives it. */
const recordings: Readonly<Record<string, { contentType: string; extension: string }>> = {
  mp4: { contentType: 'video/mp4', extension: 'mp4' },
  webm: { contentType: 'video/webm', extension: 'webm' },
  mp3: { contentType: 'audio/mpeg', extension: 'mp3' },
  wav: { contentType: 'audio/wav', extension: 'wav' },
  flac: { contentType: 'audio/flac', extension: 'flac' },
  ogg: { contentType: 'audio/ogg', extension: 'ogg' },
  opus: { contentType: 'audio/ogg', extension: 'ogg' },
  m4a: { contentType: 'audio/mp4', extension: 'm4a' },
  aac: { contentType: 'audio/aac', extension: 'aac' },
}

/**
 * Recognises a file and checks that it is an image, a video or a sound that may be served.
 * @param name how messages call the file
 * @param maxPixels most pixels of a picture, all its frames together
 * @throws EngineError `output_invalid` for every other kind of file, SVG and HTML included, and for pictures that are
 *   damaged or too large
 */
export async function probeMedia(path: string, name: string, maxPixels: number): Promise<Media> {
  // Where a damaged file makes the detection itself fail, its kind is unknown.
  const type = await fileTypeFromFile(path, { maxBufferSize: maxSniffBytes }).catch(() => undefined)
  if (type === undefined)
    throw invalid(name, 'of a kind that is not known here; it must be an image, a video or a sound')
  const picture = pictures[type.ext]
  if (picture !== undefined && type.mime === picture.contentType) {
    const size = await decodePicture(path, name, picture.format, maxPixels)
    return { contentType: picture.contentType, extension: type.ext, ...size, durationSeconds: null }
  }
  const recording = recordings[type.ext]
  if (recording === undefined) throw invalid(name, `${type.mime}, which is not served`)
  // Size and duration stay unknown, and frames undecoded, until mediabunny reads them (a later issue).
  return { ...recording, width: null, height: null, durationSeconds: null }
}

/** Decodes all frames; libvips does so on its own threads, off the event loop, one picture per libuv worker. */
async function decodePicture(path: string, name: string, format: string, maxPixels: number) {
  const sharp = await loadSharp()
  const animated = format === 'gif' || format === 'webp'
  const options = {
    limitInputPixels: maxPixels,
    sequentialRead: true,
    failOn: 'error',
    ...(animated ? { pages: -1 } : {}),
  } as const
  try {
    const metadata = await sharp(path, options).metadata()
    if (metadata.format !== format) throw invalid(name, `neither ${format} nor anything else for certain`)
    // One byte a pixel is the least that makes libvips decode everything.
    await sharp(path, options).timeout({ seconds: decodeTimeoutSeconds }).removeAlpha().greyscale().raw().toBuffer()
    const { width, pageHeight: height = metadata.height, orientation = 1 } = metadata
    // From 5 on, an EXIF orientation says that viewers turn the picture by a quarter.
    return orientation < 5 ? { width, height } : { width: height, height: width }
  } catch (cause) {
    if (cause instanceof EngineError) throw cause
    const tooLarge = cause instanceof Error && cause.message.includes('pixel limit')
    const words = tooLarge ? `larger than ${maxPixels} pixels` : `a damaged picture (${format})`
    throw invalid(name, words, { cause })
  }
}

// Loading libvips takes longer than the rest of the start-up, and a server may never see a picture.
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  // Every file is decoded once; a cache would only keep it open after it was moved or removed.
  sharp.cache(false)
  return sharp
}

function invalid(name: string, words: string, options?: ErrorOptions): EngineError {
  return new EngineError('output_invalid', `Output ${name} is ${words}.`, false, options)
}

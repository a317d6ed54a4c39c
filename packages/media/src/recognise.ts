// Recognises the media type of a file from its content alone.
import { open } from 'node:fs/promises'
import { invalidMedia, type PictureBounds, whyTooLarge } from '@mediagen/engine/media.ts'
import { lacksDescriptors } from '@mediagen/engine/descriptors.ts'
import { type PictureSize, readPictureSize } from './picture-size.ts'

/** The accepted types, by the type that file-type finds: our name, and the extension that programs expect. */
const kinds: Readonly<Record<string, { contentType: string; extension: string }>> = {
  'image/png': { contentType: 'image/png', extension: 'png' },
  'image/apng': { contentType: 'image/png', extension: 'png' },
  'image/jpeg': { contentType: 'image/jpeg', extension: 'jpg' },
  'image/webp': { contentType: 'image/webp', extension: 'webp' },
  'image/avif': { contentType: 'image/avif', extension: 'avif' },
  'image/gif': { contentType: 'image/gif', extension: 'gif' },
  'video/mp4': { contentType: 'video/mp4', extension: 'mp4' },
  'video/quicktime': { contentType: 'video/quicktime', extension: 'mov' },
  'video/webm': { contentType: 'video/webm', extension: 'webm' },
  'audio/mpeg': { contentType: 'audio/mpeg', extension: 'mp3' },
  'audio/wav': { contentType: 'audio/wav', extension: 'wav' },
  'audio/flac': { contentType: 'audio/flac', extension: 'flac' },
  'audio/ogg': { contentType: 'audio/ogg', extension: 'ogg' },
  'audio/ogg; codecs=opus': { contentType: 'audio/ogg', extension: 'ogg' },
  'audio/x-m4a': { contentType: 'audio/mp4', extension: 'm4a' },
  'audio/mp4': { contentType: 'audio/mp4', extension: 'm4a' },
  'audio/aac': { contentType: 'audio/aac', extension: 'aac' },
}

/** The largest part of a file that is read into memory to recognise it. */
const maxSniffBytes = 1024 * 1024
/** This much of a file is searched for other formats; programs that sniff types read no further. */
const startBytes = 1024
/** The end of a ZIP archive is within this many bytes of the end of the file. */
const endBytes = 65_557
const markup = /<(!doctype\s+html|html|head|body|script|svg|iframe)[\s>/]/
const zipEnd = Buffer.from('PK\x05\x06\0\0\0\0', 'latin1')

/** Recognises a file; `field` is its name in messages. */
export type Recogniser = (path: string, field: string) => Promise<{ contentType: string; extension: string }>

/** Creates a recogniser that accepts pictures within `bounds`. */
export function createRecogniser(bounds: PictureBounds): Recogniser {
  return (path, field) => recogniseMedia(path, field, bounds)
}

/**
 * Recognises an image, a video or a sound.
 * @throws EngineError `invalid_media` for everything else, including SVG and HTML, for files that are also something else, and
 *   for pictures that are too large
 */
async function recogniseMedia(
  path: string,
  field: string,
  bounds: PictureBounds,
): Promise<{ contentType: string; extension: string }> {
  // Loaded with the first file, because its forty modules would slow down every start.
  const { fileTypeFromFile } = await import('file-type')
  // A damaged file can make the detection itself fail; its type is then unknown.
  const type = await fileTypeFromFile(path, { maxBufferSize: maxSniffBytes }).catch((error: unknown) => {
    if (lacksDescriptors(error)) throw error
    return undefined
  })
  const { start, end, size } = await look(path, type?.mime ?? '')
  const kind = type && kinds[type.mime]
  if (!kind) {
    const found = type && type.mime !== 'application/xml' ? `of type ${type.mime}` : nameMarkup(start)
    throw invalidMedia(field, `must be an image, a video or a sound, but its content is ${found}`)
  }
  const other = markup.test(start) ? 'HTML' : start.includes('%pdf-') ? 'PDF' : end.includes(zipEnd) ? 'ZIP' : null
  if (other !== null)
    throw invalidMedia(field, `is ${kind.contentType} and ${other} at the same time, which is not accepted`)
  const tooLarge = size && whyTooLarge(size.width, size.height, bounds)
  if (tooLarge) throw invalidMedia(field, tooLarge)
  return kind
}

interface Look {
  readonly start: string
  readonly end: Buffer
  /** Of a picture. */
  readonly size: PictureSize | null
}

async function look(path: string, type: string): Promise<Look> {
  await using file = await open(path, 'r')
  const { size: bytes } = await file.stat()
  const read = async (length: number, position: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
    return buffer.subarray(0, bytesRead)
  }
  const [start, end] = [await read(startBytes, 0), await read(endBytes, Math.max(0, bytes - endBytes))]
  const size = await readPictureSize(file, kinds[type]?.contentType ?? '')
  return { start: start.toString('latin1').toLowerCase(), end, size }
}

function nameMarkup(start: string): string {
  if (start.includes('<svg')) return 'SVG, which is not accepted'
  if (start.includes('<html') || start.includes('<!doctype html')) return 'HTML'
  if (start.startsWith('<?xml')) return 'XML'
  return 'not recognised'
}

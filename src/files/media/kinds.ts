// Recognises media by the content of a file alone: the same types are accepted as inputs and served as outputs.
import { open } from 'node:fs/promises'
import { contentTypes, type MediaExtension } from '@mediagen/engine/content-types.ts'
import { lacksDescriptors } from '@mediagen/engine/descriptors.ts'
import { readAt } from './read-at.ts'

/** A media type. */
export interface Kind {
  readonly contentType: string
  /** Usual file name extension, without a dot. */
  readonly extension: MediaExtension
}

export interface Found {
  /** Null when it is of no type that is accepted. */
  readonly kind: Kind | null
  /** Its media type, accepted or not; null when it is unknown. */
  readonly type: string | null
  /** The type in words, for a refusal. */
  readonly words: string
  /** The other type that programs could take it for: HTML or ZIP. */
  readonly also: string | null
}

/** The largest part of a file that is read into memory to recognise it. */
const maxSniffBytes = 1024 * 1024
/** As much as programs read that sniff types. */
const startBytes = 1024
/** The end of a ZIP archive is within this many bytes of the end of the file. */
const endBytes = 65_557
/** Programs that sniff types take a file for HTML by its beginning. Prompts with tags are common in the text of pictures. */
const markup = /^\s*<[!?a-z]/
const zipEnd = Buffer.from('PK\x05\x06\0\0\0\0', 'latin1')

/** The accepted types, by the type that file-type finds. */
const extensions: Readonly<Record<string, MediaExtension>> = {
  'image/png': 'png',
  'image/apng': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/gif': 'gif',
  'image/tiff': 'tiff',
  'video/mp4': 'mp4',
  'video/x-m4v': 'mp4',
  'video/3gpp': 'mp4',
  'video/3gpp2': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'video/matroska': 'mkv',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/ogg': 'ogg',
  'audio/ogg; codecs=opus': 'ogg',
  'audio/x-m4a': 'm4a',
  'audio/mp4': 'm4a',
  'audio/aac': 'aac',
}

export async function findKind(path: string): Promise<Found> {
  // Loaded with the first file, because its forty modules would slow down every start.
  const { fileTypeFromFile } = await import('file-type')
  // A damaged file can make the detection itself fail; its type is then unknown.
  const found = await fileTypeFromFile(path, { maxBufferSize: maxSniffBytes }).catch((error: unknown) => {
    if (lacksDescriptors(error)) throw error
    return undefined
  })
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  const head = await readAt(file, 0, startBytes)
  const start = head.toString('latin1').toLowerCase()
  const end = await readAt(file, Math.max(0, size - endBytes), endBytes)
  const type = refine(head) ?? found?.mime ?? null
  const extension = type === null ? undefined : extensions[type]
  return {
    kind: extension ? { contentType: contentTypes[extension], extension } : null,
    type,
    words: type === null || type === 'application/xml' ? nameMarkup(start) : `of type ${type}`,
    also: markup.test(start) ? 'HTML' : end.includes(zipEnd) ? 'ZIP' : null,
  }
}

/** The types that file-type does not know: WAV with lengths of 64 bits, and AVIF whose major brand is that of all HEIF files. */
function refine(head: Buffer): string | null {
  if (head.toString('latin1', 0, 4) === 'RF64' && head.toString('latin1', 8, 12) === 'WAVE') return 'audio/wav'
  return isAvif(head) ? 'image/avif' : null
}

/** Whether the first box names AVIF among its brands: a picture, or a sequence of them. ISO/IEC 14496-12, 4.3. */
function isAvif(head: Buffer): boolean {
  if (head.toString('latin1', 4, 8) !== 'ftyp') return false
  const brands = head.subarray(8, Math.min(head.length, head.readUInt32BE(0)))
  for (let at = 0; at + 4 <= brands.length; at += 4)
    if (at !== 4 && /^avi[fs]$/.test(brands.toString('latin1', at, at + 4))) return true
  return false
}

function nameMarkup(start: string): string {
  if (start.includes('<svg')) return 'SVG, which is not accepted'
  if (start.includes('<html') || start.includes('<!doctype html')) return 'HTML'
  if (start.startsWith('<?xml')) return 'XML'
  return 'not recognised'
}

// The media types that are accepted as inputs and served as outputs, recognised by the content of a file alone.
import { type FileHandle, open } from 'node:fs/promises'
import { lacksDescriptors } from '@mediagen/engine/descriptors.ts'

/** A media type. */
export interface Kind {
  readonly contentType: string
  /** Usual file name extension, without a dot. */
  readonly extension: string
  /** sharp's name for the format of a picture; null for a recording. */
  readonly picture: string | null
}

/** What a file is. */
export interface Found {
  /** Null when it is of no type that is accepted. */
  readonly kind: Kind | null
  /** Its media type, accepted or not; null when it is unknown. */
  readonly type: string | null
  /** The type in words, for a refusal. */
  readonly words: string
  /** The other type that programs could take it for: HTML, PDF or ZIP. */
  readonly also: string | null
}

/** The largest part of a file that is read into memory to recognise it. */
const maxSniffBytes = 1024 * 1024
/** This much of a file is searched for other formats; programs that sniff types read no further. */
const startBytes = 1024
/** The end of a ZIP archive is within this many bytes of the end of the file. */
const endBytes = 65_557
const markup = /<(!doctype\s+html|html|head|body|script|svg|iframe)[\s>/]/
const zipEnd = Buffer.from('PK\x05\x06\0\0\0\0', 'latin1')

const ogg: Kind = { contentType: 'audio/ogg', extension: 'ogg', picture: null }
const m4a: Kind = { contentType: 'audio/mp4', extension: 'm4a', picture: null }
const png: Kind = { contentType: 'image/png', extension: 'png', picture: 'png' }

/** By the type that file-type finds. */
const kinds: Readonly<Record<string, Kind>> = {
  'image/png': png,
  'image/apng': png,
  'image/jpeg': { contentType: 'image/jpeg', extension: 'jpg', picture: 'jpeg' },
  'image/webp': { contentType: 'image/webp', extension: 'webp', picture: 'webp' },
  'image/avif': { contentType: 'image/avif', extension: 'avif', picture: 'heif' },
  'image/gif': { contentType: 'image/gif', extension: 'gif', picture: 'gif' },
  'video/mp4': { contentType: 'video/mp4', extension: 'mp4', picture: null },
  'video/quicktime': { contentType: 'video/quicktime', extension: 'mov', picture: null },
  'video/webm': { contentType: 'video/webm', extension: 'webm', picture: null },
  'audio/mpeg': { contentType: 'audio/mpeg', extension: 'mp3', picture: null },
  'audio/wav': { contentType: 'audio/wav', extension: 'wav', picture: null },
  'audio/flac': { contentType: 'audio/flac', extension: 'flac', picture: null },
  'audio/ogg': ogg,
  'audio/ogg; codecs=opus': ogg,
  'audio/x-m4a': m4a,
  'audio/mp4': m4a,
  'audio/aac': { contentType: 'audio/aac', extension: 'aac', picture: null },
}

/** Recognises a file. */
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
  const head = await readAt(file, startBytes, 0)
  const start = head.toString('latin1').toLowerCase()
  const end = await readAt(file, endBytes, Math.max(0, size - endBytes))
  const type = isAvif(head) ? 'image/avif' : (found?.mime ?? null)
  return {
    kind: (type !== null && kinds[type]) || null,
    type,
    words: type === null || type === 'application/xml' ? nameMarkup(start) : `of type ${type}`,
    also: markup.test(start) ? 'HTML' : start.includes('%pdf-') ? 'PDF' : end.includes(zipEnd) ? 'ZIP' : null,
  }
}

/** Whether the first box names AVIF among its brands, of which the major one may be that of all HEIF files. ISO/IEC 14496-12, 4.3. */
function isAvif(head: Buffer): boolean {
  if (head.toString('latin1', 4, 8) !== 'ftyp') return false
  const brands = head.subarray(8, Math.min(head.length, head.readUInt32BE(0)))
  for (let at = 0; at + 4 <= brands.length; at += 4)
    if (at !== 4 && /^avi[fs]$/.test(brands.toString('latin1', at, at + 4))) return true
  return false
}

async function readAt(file: FileHandle, length: number, position: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function nameMarkup(start: string): string {
  if (start.includes('<svg')) return 'SVG, which is not accepted'
  if (start.includes('<html') || start.includes('<!doctype html')) return 'HTML'
  if (start.startsWith('<?xml')) return 'XML'
  return 'not recognised'
}

// The size of a picture from its header. The server itself runs no decoder on files from clients.
import type { FileHandle } from 'node:fs/promises'
import { type Read, readAt } from './read-at.ts'

/** Width and height in pixels, before rotation. */
export interface PictureSize {
  readonly width: number
  readonly height: number
}

// The header is at the beginning, at most after profiles and comments.
const maxSegments = 1000
const maxBoxBytes = 65_536

const readers: Readonly<Record<string, (read: Read) => Promise<PictureSize | null>>> = {
  'image/png': async (read) => {
    const header = await read(16, 8)
    return { width: header.readUInt32BE(0), height: header.readUInt32BE(4) }
  },
  'image/gif': readGif,
  'image/jpeg': readJpeg,
  'image/webp': readWebp,
  'image/avif': readAvif,
  'image/tiff': readTiff,
}

/** The size of a picture of a content type; null for other media and for damaged headers. */
export async function readPictureSize(file: FileHandle, contentType: string): Promise<PictureSize | null> {
  const reader = readers[contentType]
  if (!reader) return null
  const read: Read = (at, length) => readAt(file, at, length)
  try {
    return await reader(read)
  } catch (error) {
    // The header ends before it should.
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The canvas, or the first frame if it is larger. */
async function readGif(read: Read): Promise<PictureSize | null> {
  const screen = await read(0, 13)
  let size = { width: screen.readUInt16LE(6), height: screen.readUInt16LE(8) }
  const flags = screen.readUInt8(10)
  let at = 13 + (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0)
  for (let blocks = 0; blocks < maxSegments; blocks++) {
    const block = await read(at, 10)
    if (block.readUInt8(0) === 0x2c) {
      const [left, top, width, height] = [1, 3, 5, 7].map((offset) => block.readUInt16LE(offset)) as Four
      size = { width: Math.max(size.width, left + width), height: Math.max(size.height, top + height) }
      break
    }
    if (block.readUInt8(0) !== 0x21) break
    at += 2
    for (let length = (await read(at, 1)).readUInt8(0); length > 0; length = (await read(at, 1)).readUInt8(0)) {
      at += 1 + length
      if (++blocks >= maxSegments) break
    }
    at += 1
  }
  return size
}

type Four = [number, number, number, number]

/** Walks the segments up to the frame header. */
async function readJpeg(read: Read): Promise<PictureSize | null> {
  let at = 2
  for (let segments = 0; segments < maxSegments; segments++) {
    const head = await read(at, 9)
    const marker = head.readUInt8(1)
    if (head.readUInt8(0) !== 0xff) return null
    if (marker === 0xff) at += 1
    // SOF0 to SOF15, without DHT, JPG and DAC.
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: head.readUInt16BE(7), height: head.readUInt16BE(5) }
    else at += 2 + head.readUInt16BE(2)
  }
  return null
}

async function readWebp(read: Read): Promise<PictureSize | null> {
  const head = await read(0, 30)
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const bits = head.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
    default:
      return null
  }
}

/** The tags of width and height in the first directory, TIFF 6.0, section 2; a value of 16 bits is at the beginning of its field. */
async function readTiff(read: Read): Promise<PictureSize | null> {
  const head = await read(0, 8)
  const isLittle = head.toString('latin1', 0, 2) === 'II'
  const read16 = (bytes: Buffer, at: number): number => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at))
  const read32 = (bytes: Buffer, at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at))
  if (read16(head, 2) !== 42) return null
  const directory = read32(head, 4)
  const entries = await read(directory + 2, 12 * Math.min(maxSegments, read16(await read(directory, 2), 0)))
  const sides = { 256: 0, 257: 0 } as Record<number, number>
  for (let at = 0; at < entries.length; at += 12)
    sides[read16(entries, at)] = read16(entries, at + 2) === 3 ? read16(entries, at + 8) : read32(entries, at + 8)
  return sides[256] && sides[257] ? { width: sides[256], height: sides[257] } : null
}

/** The largest item of the file: meta → iprp → ipco → ispe, ISO/IEC 23008-12. */
async function readAvif(read: Read): Promise<PictureSize | null> {
  let at = 0
  for (let boxes = 0; boxes < maxSegments; boxes++) {
    const head = await read(at, 8)
    const bytes = head.readUInt32BE(0)
    if (head.toString('latin1', 4, 8) === 'meta') return findLargest(await read(at, Math.min(bytes, maxBoxBytes)))
    // 64-bit sizes only occur in boxes far larger than those before `meta`.
    if (bytes < 8) return null
    at += bytes
  }
  return null
}

function findLargest(meta: Buffer): PictureSize | null {
  let [width, height] = [0, 0]
  for (let at = meta.indexOf('ispe'); at >= 0; at = meta.indexOf('ispe', at + 4)) {
    width = Math.max(width, meta.readUInt32BE(at + 8))
    height = Math.max(height, meta.readUInt32BE(at + 12))
  }
  return width === 0 ? null : { width, height }
}

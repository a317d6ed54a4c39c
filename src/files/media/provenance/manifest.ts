// Finds the C2PA manifest store in a file, by the boxes of its container alone. C2PA Technical Specification 2.2, annex A.
import { readBoxes } from '../probe/films/boxes.ts'
import type { Read } from '../read-at.ts'

/** What was found of a manifest store. */
export interface FoundManifest {
  /** As it stands in the file. */
  readonly bytes: number
  /** Null if it is too large to be read. */
  readonly content: Buffer | null
}

/** Larger ones are not read: real ones have some ten to some hundred kilobytes. */
export const mostManifestBytes = 4 * 1024 ** 2
// A file with more boxes than this is searched no further.
const mostBoxes = 20_000
const blockBytes = 64 * 1024
const manifestUuid = 'd8fec3d61b0e483c92975828877ec481'
const mostId3Bytes = 64 * 1024 ** 2

type Finder = (read: Read, size: number) => Promise<FoundManifest | null>

const finders: Readonly<Record<string, Finder>> = {
  'image/png': findInPng,
  'image/jpeg': findInJpeg,
  'image/webp': findInRiff,
  'audio/wav': findInRiff,
  'image/avif': findInBoxes,
  'image/gif': findInGif,
  'video/mp4': findInBoxes,
  'video/quicktime': findInBoxes,
  'audio/mp4': findInBoxes,
  'audio/mpeg': findInId3,
}

/** Whether manifests are found in files of a type, and may be added to them. */
export function mayHaveManifest(contentType: string): boolean {
  return contentType in finders
}

/** Finds the manifest store of a file; null if it has none. Reads what stands between boxes, not what is in them. */
export async function findManifest(read: Read, size: number, contentType: string): Promise<FoundManifest | null> {
  return (await finders[contentType]?.(inBlocks(read), size)) ?? null
}

/** Reads ahead, because boxes may be small and many. */
function inBlocks(read: Read): Read {
  let blockAt = 0
  let block: Buffer = Buffer.alloc(0)
  return async (at, length) => {
    if (length > blockBytes) return read(at, length)
    if (at < blockAt || at + length > blockAt + block.length) [blockAt, block] = [at, await read(at, blockBytes)]
    return block.subarray(at - blockAt, at - blockAt + length)
  }
}

async function take(read: Read, at: number, bytes: number): Promise<FoundManifest> {
  return { bytes, content: bytes > mostManifestBytes ? null : await read(at, bytes) }
}

async function findInPng(read: Read, size: number): Promise<FoundManifest | null> {
  let at = 8
  for (let boxes = 0; boxes < mostBoxes && at + 12 <= size; boxes++) {
    const head = await read(at, 8)
    if (head.length < 8) return null
    const bytes = head.readUInt32BE(0)
    if (head.toString('latin1', 4) === 'caBX') return take(read, at + 8, bytes)
    at += 12 + bytes
  }
  return null
}

// ISO/IEC 19566-5, annex D: a box in several segments, each with its number and a copy of the head of the box.
async function findInJpeg(read: Read, size: number): Promise<FoundManifest | null> {
  const parts: Buffer[] = []
  let [at, bytes, box] = [2, 0, -1]
  for (let segments = 0; segments < mostBoxes && at + 4 <= size; segments++) {
    const head = await read(at, 20)
    // The picture begins, or this is none.
    if (head.length < 20 || head[0] !== 0xff || head[1] === 0xda) break
    const length = head.readUInt16BE(2)
    if (head[1] === 0xeb && head.toString('latin1', 4, 6) === 'JP' && length >= 18) {
      const [number, isFirst] = [head.readUInt16BE(6), head.readUInt32BE(8) === 1]
      if (isFirst && box < 0 && head.toString('latin1', 16, 20) === 'jumb') box = number
      if (number === box) {
        const skipped = isFirst ? 8 : 16
        bytes += length - 2 - skipped
        if (bytes <= mostManifestBytes) parts.push(await read(at + 4 + skipped, length - 2 - skipped))
      }
    }
    at += 2 + length
  }
  if (box < 0) return null
  return { bytes, content: bytes > mostManifestBytes ? null : Buffer.concat(parts) }
}

async function findInRiff(read: Read, size: number): Promise<FoundManifest | null> {
  let at = 12
  for (let boxes = 0; boxes < mostBoxes && at + 8 <= size; boxes++) {
    const head = await read(at, 8)
    if (head.length < 8) return null
    const bytes = head.readUInt32LE(4)
    if (head.toString('latin1', 0, 4) === 'C2PA') return take(read, at + 8, bytes)
    at += 8 + bytes + (bytes & 1)
  }
  return null
}

// An application extension before the first picture, in blocks of up to 255 bytes. GIF89a, 18 and 26.
async function findInGif(read: Read, size: number): Promise<FoundManifest | null> {
  const [flags = 0] = await read(10, 1)
  let at = 13 + ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1))
  for (let blocks = 0; blocks < mostBoxes && at + 2 <= size; blocks++) {
    const head = await read(at, 14)
    if (head[0] !== 0x21) return null
    const isManifest = head[1] === 0xff && head.toString('latin1', 3, 11) === 'C2PA_GIF'
    const parts: Buffer[] = []
    let bytes = 0
    at += isManifest ? 14 : 2
    for (;;) {
      const [length = 0] = await read(at, 1)
      at += 1
      if (length === 0) break
      if ((blocks += 1) > mostBoxes) return null
      if (isManifest) parts.push(await read(at, length))
      bytes += length
      at += length
      if (isManifest && bytes > mostManifestBytes) return { bytes, content: null }
    }
    if (isManifest) return { bytes, content: Buffer.concat(parts) }
  }
  return null
}

async function findInBoxes(read: Read, size: number): Promise<FoundManifest | null> {
  let boxes = 0
  for await (const { type, at, end } of readBoxes(read, 0, size)) {
    if ((boxes += 1) > mostBoxes) return null
    if (type !== 'uuid') continue
    // Identifier, version and flags, purpose, and the offset of a Merkle tree.
    const head = await read(at, 37)
    if (head.toString('hex', 0, 16) === manifestUuid && head.toString('latin1', 20, 29) === 'manifest\0')
      return take(read, at + 37, Math.max(0, Math.min(end, size) - at - 37))
  }
  return null
}

// ID3v2: an object with the media type of manifest stores. https://id3.org/id3v2.4.0-frames, 4.15
async function findInId3(read: Read): Promise<FoundManifest | null> {
  const head = await read(0, 10)
  if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3') return null
  const isNewest = head[3] === 4
  const end = Math.min(10 + toSynchsafe(head, 6), mostId3Bytes)
  let at = 10
  for (let frames = 0; frames < mostBoxes && at + 10 <= end; frames++) {
    const frame = await read(at, 80)
    if (frame.length < 10 || frame[0] === 0) return null
    const bytes = isNewest ? toSynchsafe(frame, 4) : frame.readUInt32BE(4)
    const isObject = frame.toString('latin1', 0, 4) === 'GEOB'
    if (isObject && /^.(application\/(x-)?c2pa(-manifest-store)?)\0/s.test(frame.toString('latin1', 10))) {
      // Encoding, media type, name of a file, description: the store begins with the length of its own box.
      const text = await read(at + 10, Math.min(bytes, 1000))
      const start = text.indexOf('jumb', 0, 'latin1') - 4
      return start < 0 ? { bytes, content: Buffer.alloc(0) } : take(read, at + 10 + start, bytes - start)
    }
    at += 10 + bytes
  }
  return null
}

function toSynchsafe(head: Buffer, at: number): number {
  return [0, 1, 2, 3].reduce((value, index) => value * 128 + ((head[at + index] ?? 0) & 127), 0)
}

// Whether the file of a recording is complete, as far as its container states its length.

import { open } from 'node:fs/promises'
import { type Read, readAt } from '../../read-at.ts'
import { readWaveHeader } from '../../wave-lengths.ts'
import { readId3Length } from '../sounds/mp3-gap.ts'
import { readBoxes } from './boxes.ts'

const checks: Readonly<Record<string, (read: Read, size: number) => Promise<boolean>>> = {
  'video/mp4': isWholeMp4,
  'video/quicktime': isWholeMp4,
  'audio/mp4': isWholeMp4,
  'video/webm': isWholeWebm,
  'video/matroska': isWholeWebm,
  'audio/wav': isWholeWave,
  'audio/ogg': isWholeOgg,
  'audio/aac': isWholeAdts,
}

/** Whether the file is as long as its container states; true if containers of its type do not state it. */
export async function isWhole(path: string, contentType: string): Promise<boolean> {
  const check = checks[contentType]
  if (!check) return true
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  return await check((at, length) => readAt(file, at, length), size)
}

const mediaBoxes: ReadonlySet<string> = new Set(['moov', 'moof', 'mdat'])

/** Boxes fill the file. What is no box of a film, and behind one that is whole, is no part of it. */
async function isWholeMp4(read: Read, size: number): Promise<boolean> {
  const seen = new Set<string>()
  let end = 0
  for await (const box of readBoxes(read, 0, size)) {
    end = box.end
    if (end > size && mediaBoxes.has(box.type)) return false
    if (end <= size) seen.add(box.type)
  }
  return end === size || (seen.has('moov') && seen.has('mdat'))
}

/** The segment ends within the file, RFC 8794; one of unknown size is live and ends where it ends. */
async function isWholeWebm(read: Read, size: number): Promise<boolean> {
  const idBytes = 4
  const header = readVint(await read(idBytes, 8))
  if (header === null || header.value === null) return false
  const segmentAt = idBytes + header.length + header.value + idBytes
  const segment = readVint(await read(segmentAt, 8))
  if (segment === null) return false
  return segment.value === null || segmentAt + segment.length + segment.value <= size
}

/** A number whose leading zero bits tell its length; the value is null when all of its bits are set: unknown. */
export function readVint(bytes: Buffer): { readonly length: number; readonly value: number | null } | null {
  const length = Math.clz32(bytes[0] ?? 0) - 23
  if (length > 8 || bytes.length < length) return null
  const marker = 1n << BigInt(7 * length)
  const value = BigInt(`0x${bytes.subarray(0, length).toString('hex')}`) & (marker - 1n)
  return { length, value: value === marker - 1n ? null : Number(value) }
}

/** The samples, or the whole, end within the file; placeholders were replaced before. */
async function isWholeWave(read: Read, size: number): Promise<boolean> {
  const header = await readWaveHeader(read)
  return header !== null && Math.min(header.formBytes + 8, header.dataAt + header.dataBytes) <= size
}

/** The last page is whole, RFC 3533, 6; what writes to a stream need not mark it as the last. */
async function isWholeOgg(read: Read, size: number): Promise<boolean> {
  // A page is at most 65,307 bytes long.
  const tail = await read(Math.max(0, size - 65_536), 65_536)
  const page = tail.lastIndexOf('OggS')
  if (page < 0 || page + 27 > tail.length) return false
  const segments = tail.readUInt8(page + 26)
  const lengths = tail.subarray(page + 27, page + 27 + segments)
  return (
    lengths.length === segments && lengths.reduce((end, length) => end + length, page + 27 + segments) <= tail.length
  )
}

/** Frames follow each other, ISO/IEC 13818-7, 6.2; tags may come before and after them. */
async function isWholeAdts(read: Read, size: number): Promise<boolean> {
  const tag = await read(0, 10)
  let at = tag.toString('latin1', 0, 3) === 'ID3' ? 10 + readId3Length(tag) : 0
  const chunkBytes = 1024 * 1024
  let chunk: Buffer = Buffer.alloc(0)
  let chunkAt = 0
  while (at < size) {
    if (at + 7 > chunkAt + chunk.length) [chunk, chunkAt] = [await read(at, chunkBytes), at]
    const head = chunk.subarray(at - chunkAt, at - chunkAt + 7)
    if (head.toString('latin1', 0, 3) === 'TAG') return true
    if (head.length < 7 || head.readUInt16BE(0) >> 4 !== 0xfff) return false
    const length = (head.readUInt32BE(3) >>> 13) & 0x1fff
    if (length < 7) return false
    at += length
  }
  return at === size
}

// Whether the file of a recording is complete, as far as its container states its length.

import { type FileHandle, open } from 'node:fs/promises'
import { readId3Length } from './mp3-gap.ts'

/** Reads bytes at an offset of the file; fewer at its end. */
type Read = (at: number, length: number) => Promise<Buffer>

const checks: Readonly<Record<string, (read: Read, size: number) => Promise<boolean>>> = {
  'video/mp4': isWholeMp4,
  'video/quicktime': isWholeMp4,
  'audio/mp4': isWholeMp4,
  'video/webm': isWholeWebm,
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

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}

/** Boxes fill the file, ISO/IEC 14496-12, 4.2; size 1 is written after the type, size 0 goes to the end. */
async function isWholeMp4(read: Read, size: number): Promise<boolean> {
  for (let at = 0; at < size;) {
    const head = await read(at, 16)
    if (head.length < 8) return false
    const short = head.readUInt32BE(0)
    if (short === 0) return true
    if (short === 1 && head.length < 16) return false
    const length = short === 1 ? Number(head.readBigUInt64BE(8)) : short
    if (length < 8 || at + length > size) return false
    at += length
  }
  return true
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
function readVint(bytes: Buffer): { readonly length: number; readonly value: number | null } | null {
  const length = Math.clz32(bytes[0] ?? 0) - 23
  if (length > 8 || bytes.length < length) return null
  const marker = 1n << BigInt(7 * length)
  const value = BigInt(`0x${bytes.subarray(0, length).toString('hex')}`) & (marker - 1n)
  return { length, value: value === marker - 1n ? null : Number(value) }
}

/** RIFF states its length; a program that wrote to a pipe left 0 or the largest number. */
async function isWholeWave(read: Read, size: number): Promise<boolean> {
  const head = await read(0, 8)
  const length = head.length === 8 ? head.readUInt32LE(4) : size
  return length === 0 || length === 0xffff_ffff || length + 8 <= size
}

/** The last page is marked as the last, RFC 3533, 6. */
async function isWholeOgg(read: Read, size: number): Promise<boolean> {
  // A page is at most 65,307 bytes long.
  const tail = await read(Math.max(0, size - 65_536), 65_536)
  const page = tail.lastIndexOf('OggS')
  return page >= 0 && ((tail[page + 5] ?? 0) & 4) === 4
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

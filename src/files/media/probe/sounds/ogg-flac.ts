// FLAC in Ogg as the FLAC file that it contains, because Mediabunny reads Opus and Vorbis in Ogg only.
// https://xiph.org/flac/ogg_mapping.html and RFC 3533, 6.
import { open, readFile } from 'node:fs/promises'

/** Before the native stream: 0x7F, "FLAC", the version of the mapping, and the number of header packets. */
const mapping = Buffer.from('\x7fFLAC', 'latin1')
const mappingBytes = 9
const pageHeadBytes = 27

/** The FLAC file in an Ogg file, held in memory; null if its first stream is of another codec. */
export async function readOggFlac(path: string): Promise<Buffer | null> {
  if (!(await startsWithFlac(path))) return null
  const file = await readFile(path)
  const pages: Buffer[] = []
  let stream: number | null = null
  for (let at = 0; at + pageHeadBytes <= file.length;) {
    if (file.toString('latin1', at, at + 4) !== 'OggS') return null
    const segments = file.readUInt8(at + 26)
    const bodyAt = at + pageHeadBytes + segments
    const bodyEnd = bodyAt + file.subarray(at + pageHeadBytes, bodyAt).reduce((sum, length) => sum + length, 0)
    const serial = file.readUInt32LE(at + 14)
    const body = file.subarray(bodyAt, bodyEnd)
    stream ??= serial
    if (serial === stream) pages.push(body)
    at = bodyEnd
  }
  return pages.length === 0 ? null : Buffer.concat(pages).subarray(mappingBytes)
}

/** Whether the first page holds the first packet of FLAC, which is alone in it. */
async function startsWithFlac(path: string): Promise<boolean> {
  await using file = await open(path, 'r')
  const { buffer } = await file.read(Buffer.alloc(pageHeadBytes + 1 + mapping.length), 0)
  return buffer.subarray(pageHeadBytes + 1).equals(mapping)
}

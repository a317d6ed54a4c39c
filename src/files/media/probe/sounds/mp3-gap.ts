// What an encoder added to an MP3 before and after the sound: its info frame says how many samples.
// http://gabriel.mp3-tech.org/mp3infotag.html
import { open } from 'node:fs/promises'
import { readAt } from '../../read-at.ts'

// The info frame is the first one; this much holds it and what comes before its fields.
const frameBytes = 512
const tagHeadBytes = 10

/** The samples of encoder delay and padding of an MP3; 0 if it does not say. */
export async function readMp3Gap(path: string): Promise<number> {
  await using file = await open(path, 'r')
  const read = (at: number, length: number): Promise<Buffer> => readAt(file, at, length)
  const tag = await read(0, tagHeadBytes)
  const isTag = tag.length === tagHeadBytes && tag.toString('latin1', 0, 3) === 'ID3'
  const frame = await read(isTag ? tagHeadBytes + readId3Length(tag) : 0, frameBytes)
  const infoAt = Math.max(frame.indexOf('Xing'), frame.indexOf('Info'))
  if (infoAt < 0 || infoAt + 8 > frame.length) return 0
  // Number of frames, of bytes, a table of contents, and the quality, each if its bit is set.
  const flags = frame.readUInt32BE(infoAt + 4)
  const fields = [4, 4, 100, 4].reduce((sum, bytes, bit) => sum + ((flags >> bit) & 1) * bytes, 0)
  const encoderAt = infoAt + 8 + fields
  // The name of the encoder, and after other facts two numbers of twelve bits.
  if (encoderAt + 24 > frame.length || !/^[A-Z]/i.test(frame.toString('latin1', encoderAt, encoderAt + 1))) return 0
  const gap = frame.readUIntBE(encoderAt + 21, 3)
  return (gap >> 12) + (gap & 0xfff)
}

/** The length of an ID3v2 tag after its head has seven bits per byte. https://id3.org/id3v2.4.0-structure, 3.1 */
export function readId3Length(head: Buffer): number {
  return head.subarray(6, tagHeadBytes).reduce((sum, byte) => sum * 128 + (byte & 127), 0)
}

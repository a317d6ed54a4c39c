// The frames of an animated PNG behind its first picture, which libpng passes over.
import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { readAt } from '../../read-at.ts'

const frameChunks: ReadonlySet<string> = new Set(['fcTL', 'fdAT'])

/** Whether every frame is there, by the checksums of its chunks; true for a PNG that is not animated. PNG 3, 5.3 and 11.3.6. */
export async function hasWholeFrames(path: string): Promise<boolean> {
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  let isAnimated = false
  for (let at = 8; at + 12 <= size;) {
    const head = await readAt(file, at, 8)
    const [length, type] = [head.readUInt32BE(0), head.toString('latin1', 4)]
    const end = at + 12 + length
    isAnimated ||= type === 'acTL'
    if (type === 'IEND' || (type === 'IDAT' && !isAnimated)) return true
    if (end > size) return false
    if (frameChunks.has(type)) {
      const content = await readAt(file, at + 4, length + 8)
      if (crc32(content.subarray(0, -4)) !== content.readUInt32BE(length + 4)) return false
    }
    at = end
  }
  return false
}

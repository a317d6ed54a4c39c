// The boxes of MP4 and QuickTime files, ISO/IEC 14496-12, 4.2.

import type { Read } from '../../read-at.ts'

export interface Box {
  readonly type: string
  /** Where its content begins. */
  readonly at: number
  /** Where it ends, as it states. */
  readonly end: number
}

/** Lists boxes that follow each other; the last may end beyond `to`. Stops at what cannot be a box. */
export async function* readBoxes(read: Read, from: number, to: number): AsyncGenerator<Box> {
  for (let at = from; at < to;) {
    const head = await read(at, 16)
    const short = head.length < 8 ? -1 : head.readUInt32BE(0)
    // Size 1 is written after the type, size 0 goes to the end.
    const isLong = short === 1 && head.length === 16
    const length = isLong ? Number(head.readBigUInt64BE(8)) : short === 0 ? to - at : short
    if (length < 8) return
    yield { type: head.toString('latin1', 4, 8), at: at + (isLong ? 16 : 8), end: at + length }
    at += length
  }
}

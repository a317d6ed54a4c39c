// Removes from a finished file what differs between runs, so that the same input gives the same bytes.

const oggSerial = 0x4d47454e
const oggHeaderBytes = 27
// In each of these boxes two times follow version and flags, of 4 bytes each, or 8 in version 1.
const timedBoxes = new Set(['mvhd', 'tkhd', 'mdhd'])
const parentBoxes = new Set(['moov', 'trak', 'mdia'])

/** Gives the one stream of an Ogg file a fixed serial number; each page's checksum follows. Changes the bytes in place. */
export function fixOggSerial(file: Uint8Array): void {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  for (let page = 0; page < file.length;) {
    const segments = view.getUint8(page + 26)
    let end = page + oggHeaderBytes + segments
    for (let i = 0; i < segments; i++) end += view.getUint8(page + oggHeaderBytes + i)
    view.setUint32(page + 14, oggSerial, true)
    view.setUint32(page + 22, 0, true)
    view.setUint32(page + 22, oggChecksum(file.subarray(page, end)), true)
    page = end
  }
}

/** Sets the times of creation in an MP4 file to none. Changes the bytes in place. */
export function clearMp4Times(file: Uint8Array): void {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  clearTimes(view, 0, file.length)
}

function clearTimes(view: DataView, start: number, end: number): void {
  for (let box = start; box + 8 <= end;) {
    const short = view.getUint32(box)
    const size = short === 1 ? Number(view.getBigUint64(box + 8)) : short === 0 ? end - box : short
    const type = String.fromCharCode(...[4, 5, 6, 7].map((i) => view.getUint8(box + i)))
    if (parentBoxes.has(type)) clearTimes(view, box + 8, box + size)
    if (timedBoxes.has(type)) {
      const bytes = view.getUint8(box + 8) === 1 ? 16 : 8
      for (let i = 0; i < bytes; i++) view.setUint8(box + 12 + i, 0)
    }
    box += size
  }
}

const checksums = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ (value < 0 ? 0x04c11db7 : 0)
  return value
})

function oggChecksum(page: Uint8Array): number {
  let sum = 0
  for (const byte of page) sum = (sum << 8) ^ (checksums[(sum >>> 24) ^ byte] as number)
  return sum >>> 0
}

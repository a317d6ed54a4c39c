// The program that made a picture, in its EXIF: the tag Software of CIPA DC-008 (Exif 3.0), in the first directory of a TIFF 6.0.

const head = 'Exif\0\0'
const software = 0x0131
// ASCII, and the UTF-8 of Exif 3.0.
const texts: ReadonlySet<number> = new Set([2, 129])
const inlineBytes = 4
const entryBytes = 12

/** The program that EXIF names; null for none, and for what is no EXIF. */
export function findSoftware(exif: Buffer): string | null {
  const tiff = exif.toString('latin1', 0, head.length) === head ? exif.subarray(head.length) : exif
  const order = tiff.toString('latin1', 0, 2)
  if (tiff.length < 8 || (order !== 'II' && order !== 'MM')) return null
  const u16 = (at: number): number => (order === 'II' ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const u32 = (at: number): number => (order === 'II' ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at))
  const directory = u32(4)
  if (directory + 2 > tiff.length) return null
  const entries = u16(directory)
  for (
    let entry = 0, at = directory + 2;
    entry < entries && at + entryBytes <= tiff.length;
    entry++, at += entryBytes
  ) {
    if (u16(at) !== software || !texts.has(u16(at + 2))) continue
    const bytes = u32(at + 4)
    const start = bytes > inlineBytes ? u32(at + 8) : at + 8
    const [text = ''] = tiff.toString('utf8', start, Math.min(start + bytes, tiff.length)).split('\0', 1)
    return text.trim() || null
  }
  return null
}

// Looks into packed fonts: which characters one has, and how to leave tables out. https://www.w3.org/TR/WOFF2/

import { brotliDecompressSync, inflateSync } from 'node:zlib'

const headerBytes = 48
const sfntHeaderBytes = 12
const sfntEntryBytes = 16
const cmapIndex = 0
const glyfIndex = 10
const locaIndex = 11
const namedByItself = 63

/** The code points for which a font (WOFF2, or unpacked) has a glyph. */
export function readCoverage(font: Buffer): ReadonlySet<number> {
  return readCmap(font.toString('latin1', 0, 4) === 'wOF2' ? unpackCmap(font) : sliceCmap(font))
}

/** Unpacks a WOFF font without some of its tables. */
export function unpackWoff(woff: Buffer, without: readonly string[]): Buffer {
  const tables = Array.from({ length: woff.readUInt16BE(12) }, (_, i) => {
    const entry = woff.subarray(44 + 20 * i, 64 + 20 * i)
    const [start, packed, length] = [4, 8, 12].map((at) => entry.readUInt32BE(at)) as [number, number, number]
    const data = woff.subarray(start, start + packed)
    const unpack = (): Buffer => (packed < length ? inflateSync(data) : data)
    return { tag: entry.toString('latin1', 0, 4), checksum: entry.readUInt32BE(16), length, unpack }
  }).filter(({ tag }) => !without.includes(tag))
  const padded = (length: number): number => Math.ceil(length / 4) * 4
  const font = Buffer.alloc(
    sfntHeaderBytes + tables.length * sfntEntryBytes + tables.reduce((sum, { length }) => sum + padded(length), 0),
  )
  woff.copy(font, 0, 4, 8)
  font.writeUInt16BE(tables.length, 4)
  let offset = sfntHeaderBytes + tables.length * sfntEntryBytes
  for (const [index, { tag, checksum, length, unpack }] of tables.entries()) {
    const entry = sfntHeaderBytes + index * sfntEntryBytes
    font.write(tag, entry, 'latin1')
    for (const [i, value] of [checksum, offset, length].entries()) font.writeUInt32BE(value, entry + 4 + 4 * i)
    unpack().copy(font, offset)
    offset += padded(length)
  }
  return font
}

function sliceCmap(font: Buffer): Buffer {
  for (let entry = sfntHeaderBytes; entry < sfntHeaderBytes + sfntEntryBytes * font.readUInt16BE(4); entry += 16) {
    if (font.toString('latin1', entry, entry + 4) !== 'cmap') continue
    const offset = font.readUInt32BE(entry + 8)
    return font.subarray(offset, offset + font.readUInt32BE(entry + 12))
  }
  throw new Error('The font has no table cmap')
}

function unpackCmap(woff2: Buffer): Buffer {
  const { offset, length, dataStart } = findCmap(woff2)
  const tables = brotliDecompressSync(woff2.subarray(dataStart, dataStart + woff2.readUInt32BE(20)))
  return tables.subarray(offset, offset + length)
}

/** Where the table `cmap` lies in the unpacked data, and where the packed data begins. */
function findCmap(woff2: Buffer): { offset: number; length: number; dataStart: number } {
  let position = headerBytes
  const readNumber = (): number => {
    let value = 0
    for (;;) {
      const byte = woff2.readUInt8(position++)
      value = value * 128 + (byte & 127)
      if (byte < 128) return value
    }
  }
  let [offset, found] = [0, { offset: 0, length: 0 }]
  for (let table = woff2.readUInt16BE(12); table > 0; table--) {
    const flags = woff2.readUInt8(position++)
    const [index, version] = [flags & 63, flags >> 6]
    if (index === namedByItself) position += 4
    let length = readNumber()
    const isTransformed = index === glyfIndex || index === locaIndex ? version === 0 : version !== 0
    if (isTransformed) length = readNumber()
    if (index === cmapIndex) found = { offset, length }
    offset += length
  }
  return { ...found, dataStart: position }
}

function readCmap(cmap: Buffer): Set<number> {
  const covered = new Set<number>()
  for (let record = 4; record < 4 + 8 * cmap.readUInt16BE(2); record += 8) {
    const table = cmap.subarray(cmap.readUInt32BE(record + 4))
    const format = table.readUInt16BE(0)
    if (format === 4) readSegments(table, covered)
    if (format === 12) readGroups(table, covered)
  }
  return covered
}

/** Format 4: segments of 16-bit characters. */
function readSegments(table: Buffer, covered: Set<number>): void {
  const bytes = table.readUInt16BE(6)
  const [ends, starts] = [14, 16 + bytes]
  const [deltas, ranges] = [starts + bytes, starts + 2 * bytes]
  for (let i = 0; i < bytes; i += 2) {
    const [first, last] = [table.readUInt16BE(starts + i), table.readUInt16BE(ends + i)]
    const [delta, range] = [table.readUInt16BE(deltas + i), table.readUInt16BE(ranges + i)]
    for (let code = first; code <= last && code !== 0xffff; code++) {
      const stored = range === 0 ? code : table.readUInt16BE(ranges + i + range + 2 * (code - first))
      const glyph = range !== 0 && stored === 0 ? 0 : (stored + delta) & 0xffff
      if (glyph !== 0) covered.add(code)
    }
  }
}

/** Format 12: groups of characters of any plane. */
function readGroups(table: Buffer, covered: Set<number>): void {
  for (let group = 16; group < 16 + 12 * table.readUInt32BE(12); group += 12) {
    const [first, last, glyph] = [0, 4, 8].map((at) => table.readUInt32BE(group + at)) as [number, number, number]
    for (let code = first; code <= last; code++) if (glyph + code - first !== 0) covered.add(code)
  }
}

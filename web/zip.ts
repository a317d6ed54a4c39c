// Writes a zip archive of files as they are: media are compressed already (APPNOTE 6.3.10, method 0).

export interface ZipEntry {
  readonly name: string
  readonly content: Uint8Array<ArrayBuffer>
  /** Milliseconds since 1970. */
  readonly modifiedMs: number
}

// Of the format without its 64-bit extension.
const mostBytes = 0xffffffff
const utf8Names = 0x800

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/**
 * An archive of these files; equal names are numbered.
 * @throws RangeError if it would be 4 GiB or larger
 */
export function createZip(entries: readonly ZipEntry[]): Blob {
  const local: BlobPart[] = []
  const central: BlobPart[] = []
  let offset = 0
  for (const { content, modifiedMs, name } of nameApart(entries)) {
    const path = new TextEncoder().encode(name)
    const facts = [20, utf8Names, 0, ...toDosTime(modifiedMs)]
    const sizes = [computeCrc(content), content.length, content.length]
    const header = pack([0x04034b50], facts, sizes, [path.length, 0])
    local.push(header, path, content)
    central.push(pack([0x02014b50], [20, ...facts], sizes, [path.length, 0, 0, 0, 0], [0, offset]), path)
    offset += header.length + path.length + content.length
    if (offset > mostBytes) throw new RangeError('The files are too large for one archive.')
  }
  const directory = new Blob(central)
  const count = entries.length
  const end = pack([0x06054b50], [0, 0, count, count], [directory.size, offset], [0])
  return new Blob([...local, directory, end], { type: 'application/zip' })
}

/** Groups of numbers, alternately of 32 and 16 bits, little-endian. */
function pack(...groups: readonly (readonly number[])[]): Uint8Array<ArrayBuffer> {
  const bytes = groups.flatMap((numbers, index) =>
    numbers.flatMap((number) =>
      Array.from({ length: index % 2 === 0 ? 4 : 2 }, (_, place) => Math.floor(number / 256 ** place) & 255),
    ),
  )
  return Uint8Array.from(bytes)
}

function toDosTime(ms: number): [time: number, date: number] {
  const at = new Date(ms)
  return [
    (at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1),
    (Math.max(0, at.getFullYear() - 1980) << 9) | ((at.getMonth() + 1) << 5) | at.getDate(),
  ]
}

function computeCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 255] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

function nameApart(entries: readonly ZipEntry[]): readonly ZipEntry[] {
  const seen = new Map<string, number>()
  return entries.map((entry) => {
    const count = (seen.get(entry.name) ?? 0) + 1
    seen.set(entry.name, count)
    return count === 1 ? entry : { ...entry, name: entry.name.replace(/(\.\w+)?$/, ` (${count})$1`) }
  })
}

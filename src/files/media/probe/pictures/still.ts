// Wraps a key frame as a picture file (AVIF, HEIC), so picture decoders can decode videos of the same codec.

/** A key frame, and the parameters of a decoder that are not in it. */
export interface KeyFrame {
  readonly data: Uint8Array
  readonly width: number
  readonly height: number
  /** ISO/IEC 23091-2: matrix coefficients and full range. */
  readonly matrix: number
  readonly fullRange: boolean
}

const kinds = {
  av1: { brand: 'avif', item: 'av01', setup: 'av1C' },
  hevc: { brand: 'heic', item: 'hvc1', setup: 'hvcC' },
} as const

/** A codec of films and of pictures. */
export type StillCodec = keyof typeof kinds

/**
 * Puts a key frame into a file, ISO/IEC 23008-12.
 * @param setup the configuration record of its codec
 */
export function toStill(codec: StillCodec, setup: Uint8Array, frame: KeyFrame): Buffer {
  const { brand, item, setup: setupType } = kinds[codec]
  const { data, width, height, matrix, fullRange } = frame
  const type = box('ftyp', text(brand), u32(0), text('mif1'), text(brand))
  const dataAt = type.length + 8
  // The samples must not be converted; sRGB primaries and transfer prevent that.
  const colour = box('colr', text('nclx'), u16(1), u16(13), u16(matrix), u8(fullRange ? 0x80 : 0))
  const properties = box('ipco', fullBox('ispe', 0, u32(width), u32(height)), box(setupType, setup), colour)
  const associations = fullBox('ipma', 0, u32(1), u16(1), u8(3), u8(1), u8(0x82), u8(3))
  const meta = fullBox(
    'meta',
    0,
    fullBox('hdlr', 0, u32(0), text('pict'), Buffer.alloc(13)),
    fullBox('pitm', 0, u16(1)),
    // One item with one extent; offsets and lengths have four bytes.
    fullBox('iloc', 0, u16(0x4400), u16(1), u16(1), u16(0), u16(1), u32(dataAt), u32(data.length)),
    fullBox('iinf', 0, u16(1), fullBox('infe', 2, u16(1), u16(0), text(item), u8(0))),
    box('iprp', properties, associations),
  )
  return Buffer.concat([type, box('mdat', data), meta])
}

/**
 * The `av1C` record of what a codec string such as `av01.0.04M.08`; null for any other.
 * @see AV1 Codec ISO Media File Format Binding, 2.3 and 5
 */
export function toAv1Setup(codecString: string): Uint8Array | null {
  const parts = /^av01\.(\d)\.(\d\d)([MH])\.(\d\d)(?:\.(\d)\.(\d)(\d)(\d))?/.exec(codecString)
  if (!parts) return null
  const [profile, level, tier, depth, mono, across, down, position] = [
    Number(parts[1]),
    Number(parts[2]),
    parts[3] === 'H' ? 1 : 0,
    Number(parts[4]),
    Number(parts[5] ?? 0),
    Number(parts[6] ?? 1),
    Number(parts[7] ?? 1),
    Number(parts[8] ?? 0),
  ]
  const deep = (depth > 8 ? 0x40 : 0) | (depth > 10 ? 0x20 : 0)
  const sampling = (mono << 4) | (across << 3) | (down << 2) | position
  return Uint8Array.of(0x81, (profile << 5) | level, (tier << 7) | deep | sampling, 0)
}

function box(type: string, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([u32(body.length + 8), text(type), body])
}

function fullBox(type: string, version: number, ...content: readonly Uint8Array[]): Buffer {
  return box(type, u8(version), Buffer.alloc(3), ...content)
}

function text(characters: string): Buffer {
  return Buffer.from(characters, 'latin1')
}

function u8(value: number): Buffer {
  return Buffer.of(value)
}

function u16(value: number): Buffer {
  return Buffer.of(value >>> 8, value & 255)
}

function u32(value: number): Buffer {
  return Buffer.concat([u16(value >>> 16), u16(value & 0xffff)])
}

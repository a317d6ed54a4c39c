// The sequence parameter set of H.264: adds what our encoder leaves out, how colours are meant and how long a frame lasts.
// The syntax is that of ITU-T H.264, 7.3.2.1.1 and E.1.1, for the baseline profile.

const baselineProfile = 66
/** Constraint flags 0 and 1: no tools that only the baseline profile knows, so every decoder can play it. */
const constrainedBaseline = 0b1100_0000
/** Code points of BT.709 for primaries, transfer and matrix alike. */
const bt709 = 1
const unspecifiedVideoFormat = 5
const levelsOfMotion = 10

/**
 * Writes a parameter set anew: constrained baseline, BT.709 in limited range, a constant frame rate, no reordering.
 * @param sps a NAL unit of type 7, without a start code, of the baseline profile and without VUI
 */
export function describeSps(sps: Uint8Array, fps: number): Uint8Array {
  const source = createBitReader(unescape(sps.subarray(1)))
  const target = createBitWriter()
  const copy = (count: number): number => {
    const value = source.bits(count)
    target.bits(value, count)
    return value
  }
  const copyGolomb = (): number => {
    const value = source.golomb()
    target.golomb(value)
    return value
  }
  if (copy(8) !== baselineProfile) throw new Error('The encoder left the baseline profile')
  source.bits(8)
  target.bits(constrainedBaseline, 8)
  copy(8) // level
  copyGolomb() // id
  copyGolomb() // frame number bits
  const orderType = copyGolomb()
  if (orderType === 0) copyGolomb()
  else if (orderType !== 2) throw new Error(`The encoder uses picture order count type ${orderType}`)
  const references = copyGolomb()
  copy(1) // gaps
  copyGolomb() // width
  copyGolomb() // height
  if (copy(1) === 0) copy(1) // frames only, else adaptive fields
  copy(1) // direct 8x8
  if (copy(1) === 1) for (let side = 0; side < 4; side++) copyGolomb() // cropping
  if (source.bits(1) === 1) throw new Error('The encoder describes its colours by itself')
  target.bits(1, 1)
  writeVui(target, fps, references)
  target.bits(1, 1) // stop bit
  return Uint8Array.from([sps[0] ?? 0, ...escape(target.finish())])
}

function writeVui(target: BitWriter, fps: number, references: number): void {
  target.bits(0, 1) // aspect ratio: square
  target.bits(0, 1) // overscan
  target.bits(1, 1) // signal type follows
  target.bits(unspecifiedVideoFormat, 3)
  target.bits(0, 1) // limited range
  target.bits(1, 1) // colour description follows
  for (let i = 0; i < 3; i++) target.bits(bt709, 8)
  target.bits(0, 1) // chroma location: the default
  target.bits(1, 1) // timing follows, in fields
  target.bits(1, 32)
  target.bits(2 * fps, 32)
  target.bits(1, 1) // constant
  target.bits(0, 3) // no hypothetical decoders, no picture structure
  target.bits(1, 1) // bitstream restrictions follow
  target.bits(1, 1) // motion vectors may point outside
  target.golomb(0)
  target.golomb(0)
  target.golomb(levelsOfMotion)
  target.golomb(levelsOfMotion)
  target.golomb(0) // no reordering: a decoder may show each frame at once
  target.golomb(references)
}

interface BitReader {
  bits(count: number): number
  golomb(): number
}

function createBitReader(bytes: Uint8Array): BitReader {
  let at = 0
  const bits = (count: number): number => {
    let value = 0
    for (let i = 0; i < count; i++, at++) value = value * 2 + (((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1)
    return value
  }
  const golomb = (): number => {
    let zeros = 0
    while (bits(1) === 0) if (++zeros > 32) throw new Error('Not a parameter set')
    return 2 ** zeros - 1 + bits(zeros)
  }
  return { bits, golomb }
}

interface BitWriter {
  bits(value: number, count: number): void
  golomb(value: number): void
  /** The bytes, the last one filled up with zeros. */
  finish(): number[]
}

function createBitWriter(): BitWriter {
  const bytes: number[] = []
  let used = 0
  const bits = (value: number, count: number): void => {
    for (let i = count - 1; i >= 0; i--, used++) {
      if ((used & 7) === 0) bytes.push(0)
      bytes[used >> 3] = (bytes[used >> 3] ?? 0) | ((Math.floor(value / 2 ** i) & 1) << (7 - (used & 7)))
    }
  }
  const golomb = (value: number): void => {
    const length = Math.floor(Math.log2(value + 1))
    bits(0, length)
    bits(value + 1, length + 1)
  }
  return { bits, golomb, finish: () => bytes }
}

/** Removes emulation prevention bytes. */
function unescape(bytes: Uint8Array): Uint8Array {
  return bytes.filter((byte, i) => !(byte === 3 && i >= 2 && bytes[i - 1] === 0 && bytes[i - 2] === 0))
}

/** Inserts emulation prevention bytes. */
function escape(bytes: readonly number[]): number[] {
  const escaped: number[] = []
  let zeros = 0
  for (const byte of bytes) {
    if (zeros >= 2 && byte <= 3) {
      escaped.push(3)
      zeros = 0
    }
    escaped.push(byte)
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return escaped
}

// H.264 in its baseline profile, which is what built-in engines write, decoded by tinyh264 (WebAssembly).

import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { TinyH264 } from 'tinyh264/es/TinyH264.js'
import type { Frame } from '../pictures/frame.ts'

const pictureReady = 1
const startCode = Buffer.from([0, 0, 0, 1])

const load = onFirstUse(async (): Promise<TinyH264> => {
  // The library was built for a browser's worker, but only needs its location.
  const scope = globalThis as { self?: unknown }
  scope.self ??= { location: { href: 'file:///' } }
  const { default: createModule } = await import('tinyh264/es/TinyH264.js')
  return await createModule()
})

/** Whether a codec string such as `avc1.42c01e` means the baseline profile. */
export function isBaseline(codec: string): boolean {
  return /^avc[13]\.42/i.test(codec)
}

/** A decoder of one stream. */
export interface H264Decoder {
  /** Decodes the frame shown at one time; null if it cannot be decoded. */
  decode(packet: Uint8Array): Frame | null
  close(): void
}

/**
 * Opens a decoder.
 * @param setup the `avcC` record of the track; null if packets carry start codes and parameters themselves
 */
export async function openH264Decoder(setup: Uint8Array | null): Promise<H264Decoder> {
  const module = await load()
  const decoder = module._h264bsdAlloc()
  module._h264bsdInit(decoder, 1)
  const [width, height, picture] = [module._malloc(4), module._malloc(4), module._malloc(4)]
  let parameters = setup ? joinUnits(readParameterSets(setup)) : Buffer.alloc(0)
  return {
    decode(packet) {
      const units = setup ? joinUnits(readUnits(packet, ((setup[4] ?? 3) & 3) + 1)) : packet
      const data = Buffer.concat([parameters, units])
      parameters = Buffer.alloc(0)
      const at = module._malloc(data.length)
      module.HEAPU8.set(data, at)
      const result = module._h264bsdDecode(decoder, at, data.length, picture, width, height)
      module._free(at)
      if (result !== pictureReady) return null
      const size = { width: module.getValue(width, 'i32'), height: module.getValue(height, 'i32') }
      const start = module.getValue(picture, 'i8*')
      return { ...size, data: module.HEAPU8.slice(start, start + (size.width * size.height * 3) / 2) }
    },
    close() {
      module._h264bsdShutdown(decoder)
      module._h264bsdFree(decoder)
      for (const pointer of [width, height, picture]) module._free(pointer)
    },
  }
}

/** The sequence and picture parameter sets of an `avcC` record, ISO/IEC 14496-15, 5.3.3.1. */
function readParameterSets(setup: Uint8Array): Uint8Array[] {
  const sets: Uint8Array[] = []
  let at = 5
  for (const mask of [0x1f, 0xff]) {
    const count = (setup[at++] ?? 0) & mask
    for (let index = 0; index < count; index++) {
      const length = ((setup[at] ?? 0) << 8) | (setup[at + 1] ?? 0)
      sets.push(setup.subarray(at + 2, at + 2 + length))
      at += 2 + length
    }
  }
  return sets
}

/** The units of a packet, each prefixed with its length. */
function readUnits(packet: Uint8Array, lengthBytes: number): Uint8Array[] {
  const units: Uint8Array[] = []
  const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength)
  for (let at = 0; at + lengthBytes <= bytes.length;) {
    const length = bytes.readUIntBE(at, lengthBytes)
    units.push(bytes.subarray(at + lengthBytes, at + lengthBytes + length))
    at += lengthBytes + length
  }
  return units
}

function joinUnits(units: readonly Uint8Array[]): Buffer {
  return Buffer.concat(units.flatMap((unit) => [startCode, unit]))
}

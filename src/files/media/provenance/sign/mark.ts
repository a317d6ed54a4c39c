// Writes XMP into pictures, without touching their pixels. IPTC Photo Metadata Standard: Iptc4xmpExt:DigitalSourceType.
import { crc32 } from 'node:zlib'

const jpegHead = 'http://ns.adobe.com/xap/1.0/\0'
const pngHead = 'XML:com.adobe.xmp\0\0\0\0\0'
// Flags of VP8X: https://developers.google.com/speed/webp/docs/riff_container
const hasXmp = 0x04
const hasAlpha = 0x10

/** What a mark needs to know of a picture. */
export interface Marked {
  readonly contentType: string
  readonly width: number | null
  readonly height: number | null
}

/** Whether a type of file can be marked. */
export function canMark(contentType: string): boolean {
  return ['image/png', 'image/jpeg', 'image/webp'].includes(contentType)
}

/** The packet that says a source type, by its URI. */
export function toPacket(sourceType: string): Buffer {
  return Buffer.from(
    `<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">` +
      `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" ` +
      `xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" ` +
      `Iptc4xmpExt:DigitalSourceType="${sourceType}" xmp:CreatorTool="mediagen"/></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`,
  )
}

/** The picture with a packet. It must be a whole one, and have none. */
export function mark(picture: Buffer, packet: Buffer, { contentType, width, height }: Marked): Buffer {
  if (contentType === 'image/png') return markPng(picture, packet)
  if (contentType === 'image/jpeg') return markJpeg(picture, packet)
  return markWebp(picture, packet, width ?? 1, height ?? 1)
}

function markPng(picture: Buffer, packet: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(`iTXt${pngHead}`, 'latin1'), packet])
  // Behind the signature and IHDR.
  const at = 33
  return Buffer.concat([
    picture.subarray(0, at),
    u32be(body.length - 4),
    body,
    u32be(crc32(body)),
    picture.subarray(at),
  ])
}

function markJpeg(picture: Buffer, packet: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(jpegHead, 'latin1'), packet])
  const head = Buffer.of(0xff, 0xe1, (body.length + 2) >> 8, (body.length + 2) & 255)
  // Behind JFIF, which comes first if it is there.
  const at = picture[3] === 0xe0 ? 4 + picture.readUInt16BE(4) : 2
  return Buffer.concat([picture.subarray(0, at), head, body, picture.subarray(at)])
}

function markWebp(picture: Buffer, packet: Buffer, width: number, height: number): Buffer {
  // Bytes behind its end are no chunk.
  const chunks = picture.subarray(12, 8 + picture.readUInt32LE(4))
  const first = chunks.toString('latin1', 0, 4)
  let extended: Buffer
  if (first === 'VP8X') {
    extended = Buffer.from(chunks)
    extended[8] = (extended[8] ?? 0) | hasXmp
  } else {
    const body = Buffer.alloc(10)
    // A lossless picture says itself whether it is opaque.
    body[0] = hasXmp | (first === 'VP8L' && ((chunks[12] ?? 0) & 0x10) !== 0 ? hasAlpha : 0)
    body.writeUIntLE(width - 1, 4, 3)
    body.writeUIntLE(height - 1, 7, 3)
    extended = Buffer.concat([toChunk('VP8X', body), chunks])
  }
  const body = Buffer.concat([Buffer.from('WEBP', 'latin1'), extended, toChunk('XMP ', packet)])
  const length = Buffer.alloc(4)
  length.writeUInt32LE(body.length)
  return Buffer.concat([Buffer.from('RIFF', 'latin1'), length, body])
}

function toChunk(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(body.length)
  return Buffer.concat([Buffer.from(type, 'latin1'), length, body, Buffer.alloc(body.length & 1)])
}

function u32be(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

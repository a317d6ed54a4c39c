// The digital source type in an XMP packet: IPTC Photo Metadata Standard, property Iptc4xmpExt:DigitalSourceType.
import { toSourceType } from './claims.ts'

// A packet has some kilobytes; nothing behind this is read.
const mostBytes = 1024 * 1024
const property = /\bDigitalSourceType\b[^\w]{1,20}(?:rdf:resource[^\w]{1,20})?(https?:\/\/[^\s"'<>]{1,200})/

/** The source type that a packet states; null for none. */
export function findSourceType(xmp: Buffer): string | null {
  const [, uri] = property.exec(xmp.toString('utf8', 0, mostBytes)) ?? []
  return uri === undefined ? null : toSourceType(uri)
}

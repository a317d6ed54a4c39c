// HMAC-SHA256 (RFC 2104) for short messages: two one-shot hashes, since to set up `createHmac` costs ten times as much.
import { hash } from 'node:crypto'

const blockBytes = 64

/** The 32 bytes of a message's HMAC-SHA256; the parts make up the message. */
export type Hmac = (...parts: readonly Uint8Array[]) => Buffer

/**
 * Prepares a key.
 * @param secret at most 64 bytes; RFC 2104 would hash a longer one first, and none of ours is
 */
export function prepareHmac(secret: Uint8Array): Hmac {
  if (secret.length > blockBytes) throw new RangeError(`the secret has more than ${blockBytes} bytes`)
  const inner = padKey(secret, 0x36)
  const outer = padKey(secret, 0x5c)
  return (...parts) => sha256(outer, sha256(inner, ...parts))
}

function padKey(secret: Uint8Array, padding: number): Uint8Array {
  return Uint8Array.from({ length: blockBytes }, (_, at) => (secret[at] ?? 0) ^ padding)
}

/** By way of hexadecimal, which Node writes three times as fast as it makes a Buffer. */
function sha256(...parts: readonly Uint8Array[]): Buffer {
  return Buffer.from(hash('sha256', Buffer.concat(parts), 'hex'), 'hex')
}

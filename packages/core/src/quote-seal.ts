// Sealed quotes: the id carries the whole quote under a MAC, so making one writes nothing and checking one reads nothing.
// The account is only in the MAC: a quote opens for the account that asked for it and for no other.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

const prefix = 'quote_'
const version = 1
// version 1 · key number 4 · credits 8 · expiry in ms 8 · nonce 8 · digest 32 · model id (the rest) · MAC 16
const headBytes = 1 + 4 + 8 + 8 + 8 + 32
const macBytes = 16
const longestId = 1024

/** A key that seals quotes. A KeyObject, because HMAC takes five times as long to set up with plain bytes. */
export interface SealingKey {
  /** Counts from 1; names the key in the quotes that it sealed. */
  readonly number: number
  readonly secret: KeyObject
}

/** The content of a quote. */
export interface Quote {
  readonly model: string
  readonly credits: number
  /** Last millisecond at which the quote is valid. */
  readonly expiresAtMs: number
  /** SHA-256 of account, model and canonical input, lower-case hexadecimal. */
  readonly digest: string
}

/** Makes the id of a quote. `nonce` is 8 random bytes. */
export function sealQuote(key: SealingKey, accountId: string, quote: Quote, nonce: Uint8Array): string {
  const bodyBytes = headBytes + Buffer.byteLength(quote.model)
  // Every byte is written below.
  const sealed = Buffer.allocUnsafe(bodyBytes + macBytes)
  sealed.writeUInt8(version, 0)
  sealed.writeUInt32BE(key.number, 1)
  sealed.writeDoubleBE(quote.credits, 5)
  sealed.writeDoubleBE(quote.expiresAtMs, 13)
  sealed.set(nonce, 21)
  sealed.write(quote.digest, 29, 'hex')
  sealed.write(quote.model, headBytes, 'utf8')
  sealed.set(createMac(key, accountId, sealed.subarray(0, bodyBytes)), bodyBytes)
  return prefix + sealed.toString('base64url')
}

/** Opens a quote; null if none of these keys, by their numbers, sealed it for this account, or it was altered. */
export function openQuote(keys: ReadonlyMap<number, SealingKey>, accountId: string, quoteId: string): Quote | null {
  const sealed = parseSealed(quoteId)
  const key = sealed && keys.get(sealed.readUInt32BE(1))
  if (!key) return null
  const body = sealed.subarray(0, -macBytes)
  if (!timingSafeEqual(sealed.subarray(-macBytes), createMac(key, accountId, body))) return null
  return {
    model: body.toString('utf8', headBytes),
    credits: body.readDoubleBE(5),
    expiresAtMs: body.readDoubleBE(13),
    digest: body.toString('hex', 29, headBytes),
  }
}

function parseSealed(quoteId: string): Buffer | null {
  if (!quoteId.startsWith(prefix) || quoteId.length > longestId) return null
  const text = quoteId.slice(prefix.length)
  const sealed = Buffer.from(text, 'base64url')
  // The decoder ignores invalid characters, but each quote must have exactly one spelling.
  if (sealed.length <= headBytes + macBytes || sealed[0] !== version || sealed.toString('base64url') !== text)
    return null
  return sealed
}

function createMac(key: SealingKey, accountId: string, body: Buffer): Buffer {
  return createHmac('sha256', key.secret).update(accountId).update('\0').update(body).digest().subarray(0, macBytes)
}

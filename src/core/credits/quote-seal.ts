// Sealed quotes: the id carries the whole quote under a MAC, so making one writes nothing and checking one reads nothing.
// The account is only in the MAC: a quote opens for the account that requested it and for no other.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

const prefix = 'quote_'
const version = 1
// version 1 · key number 4 · credits 8 · expiry in ms 8 · nonce 8 · digest 32 · model id (the rest) · MAC 16
const headBytes = 1 + 4 + 8 + 8 + 8 + 32
const macBytes = 16
const longestId = 1024

/** A key that seals quotes. */
export interface SealingKey {
  /** Counts from 1; names the key in the quotes that it sealed. */
  readonly number: number
  readonly secret: KeyObject
}

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
  const owner = toOwner(accountId)
  const start = Buffer.byteLength(owner)
  const bodyEnd = start + headBytes + Buffer.byteLength(quote.model)
  // The owner, the body and the MAC of both; every byte is written.
  const sealed = Buffer.allocUnsafe(bodyEnd + macBytes)
  sealed.write(owner)
  sealed.writeUInt8(version, start)
  sealed.writeUInt32BE(key.number, start + 1)
  sealed.writeDoubleBE(quote.credits, start + 5)
  sealed.writeDoubleBE(quote.expiresAtMs, start + 13)
  sealed.set(nonce, start + 21)
  sealed.write(quote.digest, start + 29, 'hex')
  sealed.write(quote.model, start + headBytes)
  createHmac('sha256', key.secret).update(sealed.subarray(0, bodyEnd)).digest().copy(sealed, bodyEnd, 0, macBytes)
  return prefix + sealed.toString('base64url', start)
}

/** Opens a quote; null if none of these keys, by their numbers, sealed it for this account, or it was altered. */
export function openQuote(keys: ReadonlyMap<number, SealingKey>, accountId: string, quoteId: string): Quote | null {
  const sealed = parseSealed(quoteId)
  const key = sealed && keys.get(sealed.readUInt32BE(1))
  if (!key) return null
  const body = sealed.subarray(0, -macBytes)
  const mac = createHmac('sha256', key.secret).update(toOwner(accountId)).update(body).digest().subarray(0, macBytes)
  if (!timingSafeEqual(sealed.subarray(-macBytes), mac)) return null
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

/** What stands before the body in the MAC. */
function toOwner(accountId: string): string {
  return `${accountId}\0`
}

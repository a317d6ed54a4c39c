// What the browser keeps between the beginning and the end of a sign-in: sealed, so that only a core with the same database reads it.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { SigningKey } from '../core/store.ts'
import type { SignInChecks } from './provider.ts'

const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16
// The key number before it all.
const headBytes = 4
const longest = 4000

/** A sign-in under way. */
export interface PendingSignIn {
  readonly checks: SignInChecks
  readonly origin: string
  readonly returnTo: string
  /** Last millisecond at which it may be finished. */
  readonly expiresAtMs: number
}

/** Seals with the newest key. */
export function sealSignIn(keys: readonly SigningKey[], pending: PendingSignIn): string {
  const key = keys.at(-1)
  if (key === undefined) throw new Error('there is no key to seal with')
  const head = Buffer.alloc(headBytes)
  head.writeUInt32BE(key.number)
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, deriveKey(key), iv, { authTagLength: tagBytes }).setAAD(head)
  const body = Buffer.concat([cipher.update(JSON.stringify(pending)), cipher.final()])
  return Buffer.concat([head, iv, body, cipher.getAuthTag()]).toString('base64url')
}

/** Null if none of the keys sealed it, or it was altered. */
export function openSignIn(keys: readonly SigningKey[], sealed: string): PendingSignIn | null {
  if (sealed.length > longest) return null
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length <= headBytes + ivBytes + tagBytes) return null
  const number = bytes.readUInt32BE(0)
  const key = keys.find((one) => one.number === number)
  if (key === undefined) return null
  const bodyStart = headBytes + ivBytes
  const iv = bytes.subarray(headBytes, bodyStart)
  const decipher = createDecipheriv(algorithm, deriveKey(key), iv, { authTagLength: tagBytes })
    .setAAD(bytes.subarray(0, headBytes))
    .setAuthTag(bytes.subarray(-tagBytes))
  try {
    const body = Buffer.concat([decipher.update(bytes.subarray(bodyStart, -tagBytes)), decipher.final()])
    return JSON.parse(body.toString()) as PendingSignIn
  } catch {
    return null
  }
}

/** A key of its own: the secret also makes the MACs of quotes. */
function deriveKey({ secret }: SigningKey): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', 'mediagen sign-in', 32))
}

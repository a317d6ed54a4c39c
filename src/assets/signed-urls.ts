// Signed URLs of files: anyone with a URL may read the file until it expires, without a key.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AssetUrls } from '../core/asset.ts'

export interface AssetUrlsOptions {
  /** Key of the signatures, at least 16 random bytes; the same on every node and after every restart. */
  readonly secret: Buffer
  /** Public address of this server, for example `https://media.example`; called for each URL. */
  readonly baseUrl: () => string
  /** Minimum lifetime of a URL, in milliseconds; at most an hour more. */
  readonly ttlMs: number
  readonly clock: { nowMs(): number }
}

const hourMs = 60 * 60 * 1000
/** 128 bits cannot be guessed, and keep the URL short. */
const signatureBytes = 16

/**
 * Creates the signer and verifier of `<base>/assets/<key>?expires=<Unix seconds>&signature=<base64url>`. The signature is
 * HMAC-SHA256 over key and expiry, cut to 16 bytes. The expiry is the end of the current hour plus the time to live, so
 * a job read twice within the hour has the same URL and caches work. The expiry itself is still valid.
 */
export function createAssetUrls({ secret, baseUrl, ttlMs, clock }: AssetUrlsOptions): AssetUrls {
  if (secret.length < signatureBytes) throw new RangeError(`the asset secret has fewer than ${signatureBytes} bytes`)

  const toSignature = (key: string, expires: string) => {
    const digest = createHmac('sha256', secret).update(`mediagen asset\n${expires}\n${key}`).digest()
    return digest.subarray(0, signatureBytes).toString('base64url')
  }

  const msLeft: AssetUrls['msLeft'] = (key, { expires, signature }) => {
    // A repeated query parameter is an array, despite its type.
    if (typeof expires !== 'string' || typeof signature !== 'string') return null
    if (!/^[1-9]\d{0,11}$/.test(expires)) return null
    // Compared as text, because base64 has several spellings of the same bytes and only one is valid.
    const given = Buffer.from(signature)
    const expected = Buffer.from(toSignature(key, expires))
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
    const left = Number(expires) * 1000 - clock.nowMs()
    return left < 0 ? null : left
  }

  const toUrl = (key: string, expires: number) => {
    const path = key.split('/').map(encodeURIComponent).join('/')
    const signature = toSignature(key, String(expires))
    return `${baseUrl().replace(/\/+$/, '')}/assets/${path}?expires=${expires}&signature=${signature}`
  }

  const usualExpiry = () => Math.floor((Math.ceil(clock.nowMs() / hourMs) * hourMs + ttlMs) / 1000)

  return {
    msLeft,
    read(text) {
      const url = URL.parse(text)
      const base = URL.parse(`${baseUrl().replace(/\/+$/, '')}/assets/`)
      if (!url || !base || url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return null
      try {
        const key = decodeURIComponent(url.pathname.slice(base.pathname.length))
        return { key, valid: msLeft(key, Object.fromEntries(url.searchParams)) !== null }
      } catch {
        return null
      }
    },
    sign(key) {
      const expires = usualExpiry()
      return { url: toUrl(key, expires), expiresAtMs: expires * 1000 }
    },
    signWithin(key, lastMs) {
      const expires = Math.min(usualExpiry(), Math.floor(lastMs / 1000))
      return clock.nowMs() > expires * 1000 ? null : { url: toUrl(key, expires), expiresAtMs: expires * 1000 }
    },
    signUntil: (key, untilMs) => toUrl(key, Math.floor(untilMs / 1000)),
  }
}

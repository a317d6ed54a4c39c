// Signed URLs of files: anyone with a URL may read the file until it expires, without a key.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AssetUrls } from '../core/files/asset.ts'
import type { UrlKey } from './url-keys.ts'

export interface AssetUrlsOptions {
  /**
   * Keys of the signatures, the newest last; the same on every node and after every restart. A URL of a key that is no longer
   * among them is not genuine.
   */
  readonly keys: () => readonly UrlKey[]
  /** Public address of this server, for example `https://media.example`; called for each URL. */
  readonly baseUrl: () => string
  /** Whether callers may be given URLs below the address at which they reached this server. Default: false. */
  readonly followsCaller?: boolean
  /** Minimum lifetime of a URL, in milliseconds; at most an hour more. */
  readonly ttlMs: number
  readonly clock: { nowMs(): number }
}

const hourMs = 60 * 60 * 1000
/** 128 bits cannot be guessed, and keep the URL short. */
const signatureBytes = 16
/** A new key signs after this long, when every process has read it and accepts what it signed. */
const spreadMs = 5000

/**
 * Creates the signer and verifier of `<base>/assets/<key>?expires=<Unix seconds>&signature=<number>.<base64url>`. The
 * signature is HMAC-SHA256 over key and expiry, cut to 16 bytes, under the signing key of that number. The expiry is the end
 * of the current hour plus the time to live, so a job read twice within the hour has the same URL and caches work. The URL
 * is still valid at the expiry.
 */
export function createAssetUrls(options: AssetUrlsOptions): AssetUrls {
  const { keys, baseUrl, ttlMs, clock, followsCaller = false } = options
  const toSignature = (signer: UrlKey, key: string, expires: string): string => {
    const mac = createHmac('sha256', signer.secret).update(`mediagen asset\n${expires}\n${key}`).digest()
    return `${signer.number}.${mac.toString('base64url', 0, signatureBytes)}`
  }

  /** The key that signs now. */
  const findSigner = (): UrlKey => {
    const all = keys()
    const spread = all.findLast(({ createdAtMs }) => createdAtMs + spreadMs <= clock.nowMs())
    const signer = spread ?? all.at(-1)
    if (!signer) throw new Error('the store has no key for URLs')
    return signer
  }

  /** When a genuine URL expires, in milliseconds since 1970; null for any other. */
  const findExpiry = (key: string, { expires, signature }: { expires?: string; signature?: string }): number | null => {
    // A repeated query parameter is an array, despite its type.
    if (typeof expires !== 'string' || typeof signature !== 'string') return null
    if (!/^[1-9]\d{0,11}$/.test(expires)) return null
    const number = signature.slice(0, signature.indexOf('.'))
    const signer = keys().find((one) => String(one.number) === number)
    if (!signer) return null
    // Compared as text, because base64 has several spellings of the same bytes and only one is valid.
    const given = Buffer.from(signature)
    const expected = Buffer.from(toSignature(signer, key, expires))
    return given.length === expected.length && timingSafeEqual(given, expected) ? Number(expires) * 1000 : null
  }

  const toUrl = (key: string, expires: number) => {
    const path = key.split('/').map(encodeURIComponent).join('/')
    const signature = toSignature(findSigner(), key, String(expires))
    return `${baseUrl().replace(/\/+$/, '')}/assets/${path}?expires=${expires}&signature=${signature}`
  }

  const usualExpiry = () => Math.floor((Math.ceil(clock.nowMs() / hourMs) * hourMs + ttlMs) / 1000)

  return {
    ...(followsCaller && { below: rememberLast((url) => createAssetUrls({ ...options, baseUrl: () => url })) }),
    msLeft(key, query) {
      const expiresAtMs = findExpiry(key, query)
      const leftMs = expiresAtMs === null ? -1 : expiresAtMs - clock.nowMs()
      return leftMs < 0 ? null : leftMs
    },
    read(text) {
      const url = URL.parse(text)
      if (!url) return null
      const ownKey = findOwnKey(url, baseUrl())
      const key = ownKey ?? findKey(url)
      if (key === null) return null
      const expiresAtMs = findExpiry(key, Object.fromEntries(url.searchParams))
      // Another process of this installation may be reached at another address; its signatures are the same.
      if (ownKey === null && expiresAtMs === null) return null
      return { key, valid: expiresAtMs !== null && expiresAtMs >= clock.nowMs() }
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

/** The key of a URL below this server's own address, whatever it looks like; null for any other URL. */
function findOwnKey(url: URL, baseUrl: string): string | null {
  const base = URL.parse(`${baseUrl.replace(/\/+$/, '')}/assets/`)
  const isOwn = base && url.origin === base.origin && url.pathname.startsWith(base.pathname)
  return isOwn ? decode(url.pathname.slice(base.pathname.length)) : null
}

/** The key of a URL that ends as those of files do. */
function findKey(url: URL): string | null {
  const [, key] = /\/assets\/([^/]+\/[^/]+)$/.exec(url.pathname) ?? []
  return key === undefined ? null : decode(key)
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path)
  } catch {
    return null
  }
}

/** Remembers the last result: most callers reach a server at the same address. */
function rememberLast<Result>(make: (url: string) => Result): (url: string) => Result {
  let last: { readonly url: string; readonly result: Result } | undefined
  return (url) => {
    if (last?.url !== url) last = { url, result: make(url) }
    return last.result
  }
}

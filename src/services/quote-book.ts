// Seals and opens quotes with the keys of the store, which may be rotated while the server runs.
import { createSecretKey } from 'node:crypto'
import { takeRandomBytes } from '@mediagen/engine/random-bytes.ts'
import type { Clock } from '../core/clock.ts'
import { openQuote, type Quote, type SealingKey, sealQuote } from '../core/credits/quote-seal.ts'
import type { Store } from '../core/store.ts'

// How long a rotation may go unnoticed, and how often quotes that name an unknown key may cause a query.
const refreshMs = 1000
// No quote lives longer. docs/contract.md, section 1, Quote.
const longestTtlMs = 600_000

/** Seals and opens quotes. */
export interface QuoteBook {
  seal(accountId: string, promise: Omit<Quote, 'expiresAtMs'>): Promise<Sealed>
  /** Null if the quote is not genuine or belongs to another account. The quote may have expired. */
  open(accountId: string, quoteId: string): Promise<Quote | null>
}

/** A quote and its id. */
export interface Sealed {
  readonly quoteId: string
  readonly quote: Quote
}

/** Creates a quote book whose quotes are valid for `ttlMs`. */
export function createQuoteBook(store: Pick<Store, 'signingKeys'>, clock: Clock, ttlMs: number): QuoteBook {
  let keys: ReadonlyMap<number, SealingKey> = new Map()
  let newest: SealingKey | undefined
  let readAtMs = Number.NEGATIVE_INFINITY

  // In both directions: after the clock went back, the cached keys must not last until it catches up.
  const isStale = (nowMs: number): boolean => Math.abs(nowMs - readAtMs) >= refreshMs || !newest

  /** One read at a time: an older answer that comes last would bring back keys that were replaced. */
  let reading: Promise<void> | null = null
  const refresh = (nowMs: number): Promise<void> =>
    (reading ??= read(nowMs).finally(() => {
      reading = null
    }))

  async function read(nowMs: number): Promise<void> {
    readAtMs = nowMs
    const all = await store.signingKeys('quote')
    // A key that was replaced this long ago sealed no quote that could still be valid, and a stolen one must not seal new ones.
    const live = all.filter((_, index) => nowMs <= (all[index + 1]?.createdAtMs ?? nowMs) + longestTtlMs + refreshMs)
    keys = new Map(live.map(({ number, secret }) => [number, { number, secret: createSecretKey(secret) }]))
    newest = [...keys.values()].at(-1)
  }

  return {
    async seal(accountId, { model, credits, digest }) {
      const nowMs = clock.nowMs()
      const quote = { model, credits, digest, expiresAtMs: nowMs + ttlMs }
      if (isStale(nowMs)) await refresh(nowMs)
      if (!newest) throw new Error('the store has no key for quotes')
      return { quoteId: sealQuote(newest, accountId, quote, takeRandomBytes(8)), quote }
    },
    async open(accountId, quoteId) {
      const nowMs = clock.nowMs()
      if (isStale(nowMs)) await refresh(nowMs)
      return openQuote(keys, accountId, quoteId)
    },
  }
}

// Token buckets of an installation. A process takes tokens from the shared bucket in batches, so most requests need no query.
import { LRUCache } from 'lru-cache'
import type { BucketSize, RateStore } from '../core/accounts/rate.ts'
import { createTokenBuckets, mostBuckets } from './token-bucket.ts'

// A batch is this part of a burst: what a process holds and does not use is lost to the others.
const batchPart = 8

/** What processes share. */
export interface SharedRates extends RateStore {
  /** Whether no other process serves this installation: then nothing needs to be shared. */
  isAlone(): boolean
}

/** Buckets of equal size, one for each name. */
export interface SharedBuckets {
  /** Takes `amount` if it is available and answers 0, else the milliseconds until it may be. */
  take(name: string, amount: number): Promise<number>
}

/** What this process holds of a bucket. */
interface Lease {
  left: number
  /** The shared bucket had too little: it is not queried again before this time. */
  emptyUntilMs: number
  asking: Promise<void> | null
}

/**
 * Creates the buckets, all of them full.
 * @param purpose sets these buckets apart from others with the same names
 * @param nowMs a monotonic clock
 * @param shared null for a process that shares nothing
 */
export function createSharedBuckets(
  purpose: string,
  size: BucketSize,
  nowMs: () => number,
  shared: SharedRates | null,
): SharedBuckets {
  const own = createTokenBuckets(size, nowMs)
  const batch = Math.ceil(size.burst / batchPart)
  let leases: LRUCache<string, Lease> | undefined

  function findLease(name: string): Lease {
    leases ??= new LRUCache({ max: mostBuckets })
    let lease = leases.get(name)
    if (!lease) leases.set(name, (lease = { left: 0, emptyUntilMs: 0, asking: null }))
    return lease
  }

  function takeOf(lease: Lease, amount: number): number | null {
    if (lease.left >= amount) {
      lease.left -= amount
      return 0
    }
    const waitMs = lease.emptyUntilMs - nowMs()
    return waitMs > 0 ? Math.max(waitMs, toMs(amount - lease.left)) : null
  }

  async function refill(rates: SharedRates, name: string, amount: number, lease: Lease): Promise<void> {
    lease.left += await rates.takeTokens(`${purpose} ${name}`, size, Math.max(batch, Math.ceil(amount)))
    if (lease.left < amount) lease.emptyUntilMs = nowMs() + toMs(batch)
  }

  async function ask(rates: SharedRates, name: string, amount: number, lease: Lease): Promise<number> {
    for (;;) {
      lease.asking ??= refill(rates, name, amount, lease).finally(() => (lease.asking = null))
      try {
        await lease.asking
      } catch {
        // A request that changes nothing must not fail because the database cannot be written.
        return own.take(name, amount)
      }
      const waitMs = takeOf(lease, amount)
      if (waitMs !== null) return waitMs
    }
  }

  const toMs = (tokens: number): number => (tokens * 1000) / size.perSecond

  return {
    async take(name, amount) {
      if (shared === null || shared.isAlone()) return own.take(name, amount)
      const lease = findLease(name)
      return takeOf(lease, amount) ?? (await ask(shared, name, amount, lease))
    },
  }
}

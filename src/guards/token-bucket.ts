// A token bucket: a burst, and a rate per second.
import { LRUCache } from 'lru-cache'

/** An evicted bucket is full again, so more concurrent callers than this only make a limit more generous. */
export const mostBuckets = 100_000

interface BucketSize {
  readonly perSecond: number
  readonly burst: number
}

interface Bucket {
  level: number
  atMs: number
}

/** Buckets of equal size, one for each name. */
export interface TokenBuckets {
  /** Takes `amount` if it is available and returns 0, else returns the milliseconds until it is. */
  take(name: string, amount: number): number
  /** Takes `amount` even if it is not available. */
  owe(name: string, amount: number): void
}

/**
 * Creates the buckets, all of them full.
 * @param nowMs a monotonic clock
 */
export function createTokenBuckets({ perSecond, burst }: BucketSize, nowMs: () => number): TokenBuckets {
  // Allocating the cache takes a while, so it is skipped where nothing is limited.
  let buckets: LRUCache<string, Bucket> | undefined

  function fill(name: string): Bucket {
    buckets ??= new LRUCache({ max: mostBuckets })
    const atMs = nowMs()
    const bucket = buckets.get(name)
    if (!bucket) {
      const full = { level: burst, atMs }
      buckets.set(name, full)
      return full
    }
    bucket.level = Math.min(burst, bucket.level + ((atMs - bucket.atMs) * perSecond) / 1000)
    bucket.atMs = atMs
    return bucket
  }

  return {
    take(name, amount) {
      const bucket = fill(name)
      if (bucket.level < amount) return ((amount - bucket.level) * 1000) / perSecond
      bucket.level -= amount
      return 0
    },
    owe(name, amount) {
      fill(name).level -= amount
    },
  }
}

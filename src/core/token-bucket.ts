// A token bucket: so much at once, and so much again each second.
import { LRUCache } from 'lru-cache'

// A bucket that was forgotten is full again: more callers at once than this only makes a limit more generous.
const mostBuckets = 100_000

/** How fast a bucket fills, and how much it holds. */
export interface BucketSize {
  readonly perSecond: number
  readonly burst: number
}

interface Bucket {
  level: number
  atMs: number
}

/** Buckets of equal size, one for each name. */
export interface TokenBuckets {
  /** Takes `amount` when there is as much; 0, or the milliseconds after which it will be there. */
  take(name: string, amount: number): number
  /** Takes `amount` whether it is there or not. */
  owe(name: string, amount: number): void
}

/**
 * Creates the buckets, all of them full.
 * @param nowMs a clock that does not go back
 */
export function createTokenBuckets({ perSecond, burst }: BucketSize, nowMs: () => number): TokenBuckets {
  // Room for all of them takes a while to make: where nothing is bounded, there is none.
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

// Counts invalid keys by client address, and rate-limits clients that try many.
import { MediagenError } from '../../core/errors.ts'
import { toClientNetwork } from '../../guards/client-address.ts'
import { createTokenBuckets } from '../../guards/token-bucket.ts'

/** Counts failed keys. */
export interface FailedKeys {
  /**
   * Counts one more for this address. Called only for keys that failed, so a valid key is never refused.
   * @throws MediagenError `rate_limited` when there were too many
   */
  count(address: string | null): void
}

/**
 * Creates the count.
 * @param perMinute attempts per address, in a burst or spread out; 0 for no limit
 * @param nowMs a monotonic clock
 */
export function createFailedKeys(perMinute: number, nowMs: () => number): FailedKeys {
  const buckets = createTokenBuckets({ perSecond: perMinute / 60, burst: perMinute }, nowMs)
  return {
    count(address) {
      const waitMs = perMinute === 0 ? 0 : buckets.take(toClientNetwork(address), 1)
      if (waitMs === 0) return
      throw new MediagenError(
        'rate_limited',
        `The API key is unknown, has expired or was revoked, and more than ${perMinute} such keys came from this address in a minute. A valid key works at once.`,
        { retryAfterSeconds: Math.ceil(waitMs / 1000) },
      )
    },
  }
}

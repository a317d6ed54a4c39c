// How much each key may ask: requests per second, and bytes of requests per second.
import { MediagenError } from '../core/errors.ts'
import type { ApiKey } from '../core/key.ts'
import { createTokenBuckets } from '../runtime/token-bucket.ts'

// After a pause, so many seconds' worth of bytes are taken at once.
const byteBurstSeconds = 4

/** Rates of one key. */
export interface RateLimits {
  /** Requests per second, with a burst of the same size; 0 for no limit. */
  readonly rateLimit: number
  /** Bytes of requests per second, files not counted; 0 for no limit. */
  readonly byteRate: number
  /** Size of the largest request, which must fit in a burst. */
  readonly maxBodyBytes: number
}

/** The rates of all keys. */
export interface KeyRates {
  /** Counts a request. @throws MediagenError `rate_limited` */
  limit(key: Pick<ApiKey, 'keyId'>): void
  /** Counts the bytes of a request, before anything is made of them. @throws MediagenError `rate_limited` */
  spend(key: Pick<ApiKey, 'keyId'>, bytes: number): void
}

/**
 * Creates the rates.
 * @param monotonicMs a monotonic clock
 */
export function createKeyRates(limits: RateLimits, monotonicMs: () => number = () => performance.now()): KeyRates {
  const { rateLimit, byteRate, maxBodyBytes } = limits
  const requests = createTokenBuckets({ perSecond: rateLimit, burst: rateLimit }, monotonicMs)
  const burst = Math.max(byteRate * byteBurstSeconds, maxBodyBytes)
  const sent = createTokenBuckets({ perSecond: byteRate, burst }, monotonicMs)
  return {
    limit({ keyId }) {
      const waitMs = rateLimit === 0 ? 0 : requests.take(keyId, 1)
      if (waitMs > 0) throw tooFast(`This key may send ${rateLimit} requests per second.`, waitMs)
    },
    spend({ keyId }, bytes) {
      // What is larger than any request may be is refused for that, with words of its own.
      const waitMs = byteRate === 0 ? 0 : sent.take(keyId, Math.min(bytes, burst))
      if (waitMs > 0)
        throw tooFast(
          `This key may send ${byteRate} bytes of requests per second, files not counted (MEDIAGEN_BYTE_RATE).`,
          waitMs,
        )
    },
  }
}

function tooFast(message: string, waitMs: number): MediagenError {
  return new MediagenError('rate_limited', message, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}

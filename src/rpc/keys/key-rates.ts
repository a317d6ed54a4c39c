// Rate limits of each key: requests per second, and bytes of requests per second.
import type { ApiKey } from '../../core/accounts/key.ts'
import { MediagenError } from '../../core/errors.ts'
import { createSharedBuckets, type SharedRates } from '../../guards/shared-buckets.ts'

// The burst of the byte rate, in seconds.
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
  /** Counts a request, or `weight` of one. @throws MediagenError `rate_limited` */
  limit(key: Pick<ApiKey, 'keyId'>, weight?: number): Promise<void>
  /** Counts the bytes of a request, before they are parsed. @throws MediagenError `rate_limited` */
  spend(key: Pick<ApiKey, 'keyId'>, bytes: number): Promise<void>
}

/**
 * Creates the rates.
 * @param shared what processes with the same data share; null for a process by itself
 * @param monotonicMs a monotonic clock
 */
export function createKeyRates(
  limits: RateLimits,
  shared: SharedRates | null,
  monotonicMs: () => number = () => performance.now(),
): KeyRates {
  const { rateLimit, byteRate, maxBodyBytes } = limits
  const requests = createSharedBuckets('requests', { perSecond: rateLimit, burst: rateLimit }, monotonicMs, shared)
  const burst = Math.max(byteRate * byteBurstSeconds, maxBodyBytes)
  const sent = createSharedBuckets('bytes', { perSecond: byteRate, burst }, monotonicMs, shared)
  const refuseRequest = refuse(`This key may send ${rateLimit} requests per second.`)
  const refuseBytes = refuse(
    `This key may send ${byteRate} bytes of requests per second, files not counted, and 64 for each value beyond a hundred (MEDIAGEN_BYTE_RATE).`,
  )
  return {
    async limit({ keyId }, weight = 1) {
      if (rateLimit > 0) refuseRequest(await requests.take(keyId, weight))
    },
    async spend({ keyId }, bytes) {
      // A request above the limit of size is refused for its size elsewhere, with an error of its own.
      if (byteRate > 0) refuseBytes(await sent.take(keyId, Math.min(bytes, burst)))
    },
  }
}

function refuse(message: string): (waitMs: number) => void {
  return (waitMs) => {
    if (waitMs === 0) return
    throw new MediagenError('rate_limited', message, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
  }
}

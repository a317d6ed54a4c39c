// Rate limits of each key: requests per second, and bytes of requests per second.
import { MediagenError } from '@mediagen/core/errors.ts'
import type { ApiKey } from '@mediagen/core/key.ts'
import { createSharedBuckets, type SharedRates } from '../runtime/shared-buckets.ts'

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

/** Counts something of a caller; a promise where other processes have to be asked. @throws MediagenError `rate_limited`, or rejects with it */
type Count = Promise<void> | undefined

/** The rates of all keys. */
export interface KeyRates {
  /** Counts a request, or `weight` of one. */
  limit(key: Pick<ApiKey, 'keyId'>, weight?: number): Count
  /** Counts the bytes of a request, before they are parsed. */
  spend(key: Pick<ApiKey, 'keyId'>, bytes: number): Count
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
    `This key may send ${byteRate} bytes of requests per second, files not counted (MEDIAGEN_BYTE_RATE).`,
  )
  return {
    limit({ keyId }, weight = 1) {
      return rateLimit === 0 ? undefined : settle(requests.take(keyId, weight), refuseRequest)
    },
    spend({ keyId }, bytes) {
      // A request above the limit of size is refused for its size elsewhere, with an error of its own.
      return byteRate === 0 ? undefined : settle(sent.take(keyId, Math.min(bytes, burst)), refuseBytes)
    },
  }
}

type Refuse = (waitMs: number) => void

function settle(waitMs: number | Promise<number>, refuseLate: Refuse): Count {
  if (typeof waitMs !== 'number') return waitMs.then(refuseLate)
  refuseLate(waitMs)
  return undefined
}

function refuse(message: string): Refuse {
  return (waitMs) => {
    if (waitMs === 0) return
    throw new MediagenError('rate_limited', message, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
  }
}

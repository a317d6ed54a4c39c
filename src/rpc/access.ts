// Who a caller is, what it may do, and how much it may ask a second.
import { LRUCache } from 'lru-cache'
import { TokenBucket } from 'limiter'
import type { Clock } from '../core/clock.ts'
import { MediagenError } from '../core/errors.ts'
import { type ApiKey, hashKeySecret, isKeySecret, isLive, type Permission } from '../core/key.ts'
import type { Store } from '../core/store.ts'

// A bucket that was forgotten is full again: more keys than this at once only makes the limit more generous.
const mostBuckets = 100_000

/** Checks callers. */
export interface Access {
  /**
   * The key behind an `Authorization` header.
   * @throws MediagenError `authentication_required` or `invalid_api_key`
   */
  authenticate(authorization: string | null): Promise<ApiKey>
  /** @throws MediagenError `missing_permission` */
  authorize(key: ApiKey, permission: Permission): void
  /** @throws MediagenError `rate_limited` */
  limit(key: Pick<ApiKey, 'keyId'>): void
}

/**
 * Creates the checks.
 * @param ratePerSecond requests a second for each key, with a burst of as many; 0 for no limit
 */
export function createAccess(store: Pick<Store, 'findKey'>, clock: Clock, ratePerSecond: number): Access {
  return {
    async authenticate(authorization) {
      if (!authorization)
        throw new MediagenError(
          'authentication_required',
          'No API key was sent. Send the header Authorization: Bearer <API_KEY>.',
        )
      const [, secret] = /^Bearer +(\S+) *$/i.exec(authorization) ?? []
      if (!secret)
        throw new MediagenError('authentication_required', 'The Authorization header must read: Bearer <API_KEY>.')
      const key = isKeySecret(secret) ? await store.findKey(hashKeySecret(secret)) : null
      if (!key || !isLive(key, clock.nowMs()))
        throw new MediagenError('invalid_api_key', 'The API key is unknown, has expired or was revoked.')
      return key
    },
    authorize(key, permission) {
      if (!key.permissions.includes(permission))
        throw new MediagenError('missing_permission', `The API key lacks the permission ${permission}.`, { permission })
    },
    limit: createRateLimit(ratePerSecond),
  }
}

/** Counts requests by key; see `Access.limit`. */
export function createRateLimit(ratePerSecond: number): Access['limit'] {
  // Room for all of them takes a while to make: where there is no limit, there is none.
  let buckets: LRUCache<string, TokenBucket> | undefined

  function findBucket(keyId: string): TokenBucket {
    buckets ??= new LRUCache({ max: mostBuckets })
    let bucket = buckets.get(keyId)
    if (!bucket) {
      bucket = new TokenBucket({ bucketSize: ratePerSecond, tokensPerInterval: ratePerSecond, interval: 'second' })
      bucket.content = ratePerSecond
      buckets.set(keyId, bucket)
    }
    return bucket
  }

  return ({ keyId }) => {
    if (ratePerSecond === 0) return
    const bucket = findBucket(keyId)
    if (bucket.tryRemoveTokens(1)) return
    const retryAfterSeconds = Math.max(1, Math.ceil(bucket.getWaitTime(1) / 1000))
    throw new MediagenError('rate_limited', `This key may send ${ratePerSecond} requests a second.`, {
      retryAfterSeconds,
    })
  }
}

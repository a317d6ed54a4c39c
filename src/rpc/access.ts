// Authentication, authorization and rate limits of callers.
import type { Clock } from '@mediagen/core/clock.ts'
import { MediagenError } from '@mediagen/core/errors.ts'
import { type ApiKey, isLive, type Permission } from '@mediagen/core/key.ts'
import type { Store } from '@mediagen/core/store.ts'
import { createFailedKeys } from './failed-keys.ts'
import type { SharedRates } from '../runtime/shared-buckets.ts'
import type { KeyUses } from './key-uses.ts'
import { createKeyRates, type KeyRates, type RateLimits } from './key-rates.ts'

/** The caller, as the door read it from the request. */
export interface Credentials {
  /** The `Authorization` header as sent; null if there was none. */
  readonly authorization: string | null
  /** The client's address, if known. */
  readonly address: string | null
}

/** Checks callers. */
export interface Access extends KeyRates {
  /**
   * The key behind an `Authorization` header.
   * @throws MediagenError `authentication_required` or `invalid_api_key`
   */
  findKey(authorization: string | null): Promise<ApiKey>
  /**
   * The key that a caller sent; invalid keys are counted.
   * @throws MediagenError `authentication_required`, `invalid_api_key`, or `rate_limited` after too many of those
   */
  authenticate(credentials: Credentials): Promise<ApiKey>
  /** @throws MediagenError `missing_permission` */
  authorize(key: ApiKey, permission: Permission): void
}

/** Rate limits of callers. */
export interface AccessLimits extends RateLimits {
  /** Invalid keys per minute for each address; 0 for no limit. */
  readonly failedKeysPerMinute: number
}

/**
 * Creates the checks.
 * @param shared what processes with the same data share; null for a process by itself
 * @param monotonicMs a monotonic clock, for rates
 */
export function createAccess(
  store: Pick<Store, 'findKey'>,
  clock: Clock,
  uses: Pick<KeyUses, 'note'>,
  limits: AccessLimits,
  shared: SharedRates | null,
  monotonicMs: () => number = () => performance.now(),
): Access {
  const failed = createFailedKeys(limits.failedKeysPerMinute, monotonicMs)

  async function findKey(authorization: string | null): Promise<ApiKey> {
    if (!authorization)
      throw new MediagenError(
        'authentication_required',
        'No API key was sent. Send the header Authorization: Bearer <API_KEY>.',
      )
    const [, secret] = /^Bearer +(\S+) *$/i.exec(authorization) ?? []
    if (!secret)
      throw new MediagenError('authentication_required', 'The Authorization header must read: Bearer <API_KEY>.')
    const key = await store.findKey(secret)
    const nowMs = clock.nowMs()
    if (key && isLive(key, nowMs)) {
      uses.note(key, nowMs)
      return key
    }
    throw new MediagenError('invalid_api_key', 'The API key is unknown, has expired or was revoked.')
  }

  return {
    findKey,
    async authenticate(credentials) {
      try {
        return await findKey(credentials.authorization)
      } catch (thrown) {
        if (thrown instanceof MediagenError && thrown.code === 'invalid_api_key') failed.count(credentials.address)
        throw thrown
      }
    },
    authorize(key, permission) {
      if (!key.permissions.includes(permission))
        throw new MediagenError('missing_permission', `The API key lacks the permission ${permission}.`, { permission })
    },
    ...createKeyRates(limits, shared, monotonicMs),
  }
}

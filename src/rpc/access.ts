// Authentication, authorization and rate limits of callers.
import type { Clock } from '@mediagen/core/clock.ts'
import { MediagenError } from '@mediagen/core/errors.ts'
import { type ApiKey, isLive, type Permission } from '@mediagen/core/key.ts'
import type { Store } from '@mediagen/core/store.ts'
import { createFailedKeys } from './failed-keys.ts'
import type { SharedRates } from '../runtime/shared-buckets.ts'
import type { KeyUses } from './key-uses.ts'
import { createKeyRates, type KeyRates, type RateLimits } from './key-rates.ts'

const mostSecrets = 1000
const longestRemembered = 256

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
   * The key behind an `Authorization` header; a promise where the store has to ask its database.
   * @throws MediagenError `authentication_required` or `invalid_api_key`, or rejects with it
   */
  findKey(authorization: string | null): ApiKey | Promise<ApiKey>
  /**
   * The key that a caller sent, as `findKey` does; invalid keys are counted.
   * @throws MediagenError also `rate_limited`, after too many invalid keys
   */
  authenticate(credentials: Credentials): ApiKey | Promise<ApiKey>
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
  const read = rememberSecrets()

  function find(authorization: string | null, counted: Credentials | null): ApiKey | Promise<ApiKey> {
    const found = store.findKey(read(authorization))
    return found instanceof Promise ? found.then((key) => check(key, counted)) : check(found, counted)
  }

  function check(key: ApiKey | null, counted: Credentials | null): ApiKey {
    const nowMs = clock.nowMs()
    if (key && isLive(key, nowMs)) {
      uses.note(key, nowMs)
      return key
    }
    if (counted) failed.count(counted.address)
    throw new MediagenError('invalid_api_key', 'The API key is unknown, has expired or was revoked.')
  }

  return {
    findKey: (authorization) => find(authorization, null),
    authenticate: (credentials) => find(credentials.authorization, credentials),
    authorize(key, permission) {
      if (!key.permissions.includes(permission))
        throw new MediagenError('missing_permission', `The API key lacks the permission ${permission}.`, { permission })
    },
    ...createKeyRates(limits, shared, monotonicMs),
  }
}

/**
 * Reads secrets, and remembers those of the latest headers: to match each again, and to hash each new text for the store, takes
 * 3 % of a short call.
 */
function rememberSecrets(): typeof readSecret {
  const secrets = new Map<string, string>()
  return (authorization) => {
    const known = authorization === null ? undefined : secrets.get(authorization)
    if (known !== undefined) return known
    const secret = readSecret(authorization)
    if (secrets.size >= mostSecrets) secrets.clear()
    if (authorization !== null && authorization.length <= longestRemembered) secrets.set(authorization, secret)
    return secret
  }
}

/** @throws MediagenError `authentication_required` */
function readSecret(authorization: string | null): string {
  if (!authorization)
    throw new MediagenError(
      'authentication_required',
      'No API key was sent. Send the header Authorization: Bearer <API_KEY>.',
    )
  const [, secret] = /^Bearer +(\S+) *$/i.exec(authorization) ?? []
  if (!secret)
    throw new MediagenError('authentication_required', 'The Authorization header must read: Bearer <API_KEY>.')
  return secret
}

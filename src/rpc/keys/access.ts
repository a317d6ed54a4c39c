// Authentication, authorization and rate limits of callers.
import { type ApiKey, isLive, type Permission } from '../../core/accounts/key.ts'
import { isSessionLive, isSessionToken } from '../../core/accounts/session.ts'
import type { Clock } from '../../core/clock.ts'
import { MediagenError } from '../../core/errors.ts'
import type { Store } from '../../core/store.ts'
import type { SharedRates } from '../../guards/shared-buckets.ts'
import { createFailedKeys } from './failed-keys.ts'
import { createKeyRates, type KeyRates, type RateLimits } from './key-rates.ts'
import type { KeyUses } from './key-uses.ts'

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
   * The key behind an `Authorization` header, which has its text or that of a session.
   * @throws MediagenError `authentication_required` or `invalid_api_key`
   */
  findKey(authorization: string | null): Promise<ApiKey>
  /**
   * The key that a caller sent, as `findKey` does; invalid keys are counted.
   * @throws MediagenError also `rate_limited`, after too many invalid keys
   */
  authenticate(credentials: Credentials): Promise<ApiKey>
  /** @throws MediagenError `missing_permission` */
  authorize(key: ApiKey, permission: Permission): void
}

/** Rate limits of callers. */
export interface AccessLimits extends RateLimits {
  /** Invalid keys per minute for each address; 0 for no limit. */
  readonly failedKeysPerMinute: number
  /** The settings under which sessions of people work (`SignInCommand`); null if none does. */
  readonly sessionTerms: string | null
}

/**
 * Creates the checks.
 * @param shared what processes with the same data share; null for a process by itself
 * @param monotonicMs a monotonic clock, for rates
 */
export function createAccess(
  store: Pick<Store, 'findKey' | 'findSession'>,
  clock: Clock,
  uses: Pick<KeyUses, 'note'>,
  limits: AccessLimits,
  shared: SharedRates | null,
  monotonicMs: () => number = () => performance.now(),
): Access {
  const failed = createFailedKeys(limits.failedKeysPerMinute, monotonicMs)

  async function find(authorization: string | null, counted: Credentials | null): Promise<ApiKey> {
    const secret = readSecret(authorization)
    const nowMs = clock.nowMs()
    const key = isSessionToken(secret) ? await findSignedIn(secret, nowMs) : await store.findKey(secret)
    if (key && isLive(key, nowMs)) {
      uses.note(key, nowMs)
      return key
    }
    if (counted) failed.count(counted.address)
    throw new MediagenError(
      'invalid_api_key',
      isSessionToken(secret)
        ? 'The session is unknown, has ended or was revoked. Sign in again.'
        : 'The API key is unknown, has expired or was revoked.',
    )
  }

  async function findSignedIn(token: string, nowMs: number): Promise<ApiKey | null> {
    const found = await store.findSession(token)
    return found && isSessionLive(found, limits.sessionTerms, nowMs) ? found.key : null
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

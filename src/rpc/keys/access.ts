// Authentication, authorization and rate limits of callers.
import { type ApiKey, isLive, type Permission } from '../../core/accounts/key.ts'
import { isSessionLive, isSessionToken } from '../../core/accounts/session.ts'
import { limitToRules, type SignInRules } from '../../core/accounts/sign-in.ts'
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
  /** The settings under which sessions of people, and the keys that they made, work; null if none does. */
  readonly signIn: SignInRules | null
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
    const found = isSessionToken(secret) ? await findSignedIn(secret, nowMs) : await findMade(secret, nowMs)
    if (typeof found !== 'string') return found
    if (counted) failed.count(counted.address)
    throw new MediagenError('invalid_api_key', found)
  }

  /** The key that a session stands for, or why it stands for none. */
  async function findSignedIn(token: string, nowMs: number): Promise<ApiKey | string> {
    const found = await store.findSession(token)
    if (found === null || !isSessionLive(found, limits.signIn?.terms ?? null, nowMs))
      return 'The session is unknown, has ended or was revoked. Sign in again.'
    uses.note(found.key, nowMs, found.session)
    return found.key
  }

  /** The key with this text, or why it does not work. */
  async function findMade(secret: string, nowMs: number): Promise<ApiKey | string> {
    const key = await store.findKey(secret)
    if (key === null || !isLive(key, nowMs)) return 'The API key is unknown, has expired or was revoked.'
    const limited = limitToRules(key, limits.signIn)
    if (limited === null)
      return 'The person who made this API key is not admitted by the rules of sign-in as they are now. It works again when that person has signed in and is.'
    uses.note(key, nowMs)
    return limited
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

// Making keys: by operators for any account, and by keys for their own.
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { Limits as LimitsMessage } from '../../gen/mediagen/v1/limits_pb.ts'
import type { Permission as PermissionCode } from '../../gen/mediagen/v1/options_pb.ts'
import type { Actor } from '../core/accounts/audit.ts'
import { createKeySecret, hashKeySecret, keyPrefix, type NewKey, type Permission } from '../core/accounts/key.ts'
import type { Limits } from '../core/accounts/limits.ts'
import { MediagenError, type Violation } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import { findText, lastTimeMs, longestName, refuse } from './calls/request.ts'
import { toKeyMessage, toMs, toPermission } from './messages/convert.ts'
import { readLimits } from './messages/limits.ts'

/** What a request says of a new key. */
export interface NewKeyRequest {
  readonly name: string
  readonly permissions: readonly PermissionCode[]
  readonly expiresAt?: Timestamp | undefined
  readonly limits?: LimitsMessage | undefined
}

/**
 * Reads a request for a key.
 * @param others what is wrong with the rest of the request
 * @throws MediagenError `invalid_request` that names everything that is wrong
 */
export function readNewKey(
  { name, permissions: codes, expiresAt, limits }: NewKeyRequest,
  nowMs: number,
  others: readonly Violation[] = [],
): Pick<NewKey, 'name' | 'permissions' | 'expiresAtMs'> & { readonly limits: Partial<Limits> } {
  const permissions = codes.map(toPermission)
  const expiresAtMs = toMs(expiresAt)
  const violations = [...others, ...findText('name', name, longestName)]
  if (permissions.length === 0)
    violations.push({ pointer: '/permissions', detail: 'must name at least one permission' })
  if (permissions.includes(undefined))
    violations.push({ pointer: '/permissions', detail: 'names an unknown permission' })
  if (expiresAtMs !== null && expiresAtMs <= nowMs)
    violations.push({ pointer: '/expires_at', detail: 'must lie in the future' })
  if (expiresAtMs !== null && expiresAtMs > lastTimeMs)
    violations.push({ pointer: '/expires_at', detail: 'must lie before the year 10000' })
  refuse(violations)
  return {
    name: name || null,
    permissions: [...new Set(permissions as Permission[])],
    expiresAtMs,
    limits: readLimits(limits, nowMs),
  }
}

/** Makes a key; null when there is no such account. */
export async function makeKey(
  store: Pick<Store, 'createKey'>,
  draft: Omit<NewKey, 'prefix' | 'secretHash'>,
  by: Actor,
) {
  const secret = createKeySecret()
  const key = await store.createKey({ ...draft, prefix: keyPrefix(secret), secretHash: hashKeySecret(secret) }, by)
  return key && { key: toKeyMessage(key), secret }
}

export function keyNotFound(keyId: string): MediagenError {
  return new MediagenError('key_not_found', `There is no key "${keyId}".`)
}

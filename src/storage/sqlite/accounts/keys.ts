// API keys: created, found by the hash of their text, listed, revoked.
import { LRUCache } from 'lru-cache'
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import {
  type ApiKey,
  hashKeySecret,
  isKeySecret,
  type KeyUse,
  keyUseMs,
  type NewKey,
} from '../../../core/accounts/key.ts'
import { type Budget, type Limits, parseLimits, toLimitsText } from '../../../core/accounts/limits.ts'
import { sessionPrefix } from '../../../core/accounts/session.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { limitsAudit } from '../../budgets.ts'
import { describeNewKey, keyColumns, type KeyRow, toKey, toTime } from '../../rows.ts'
import { workingSql } from '../../sessions.ts'
import type { Connection } from '../connection.ts'
import { createPages, ofAccount } from '../pages.ts'
import type { Writing } from '../threads/writing.ts'
import { createAuditWriter } from './audit.ts'
import { createBudgetReads } from './budgets.ts'

// Lifetime of a cached key. Other processes may revoke it, which must take effect within a second.
const cacheMs = 500
const mostCached = 10_000
/** Of keys, and of sessions. */
export const keyCacheOptions = { max: mostCached, ttl: cacheMs, ttlResolution: cacheMs / 10 }

/** A key as it crosses threads, which leaves a Buffer as its bytes. */
type SentKey = Omit<NewKey, 'secretHash'> & { readonly secretHash: Uint8Array }

export function createKeyCommands(writing: Writing) {
  const { db, nowMs, ids } = writing
  const record = createAuditWriter(writing)
  const isActive = db
    .prepare<[string], number>("SELECT 1 FROM accounts WHERE account_id = ? AND status = 'active'")
    .pluck()
  const insert = db.prepare<object, KeyRow>(
    `INSERT INTO api_keys (key_id, account_id, name, prefix, secret_hash, permissions, created_at, expires_at, limits, maker_id)
     VALUES (:keyId, :accountId, :name, :prefix, :secretHash, :permissions, :now, :expiresAtMs, :limits, :makerId) RETURNING ${keyColumns}`,
  )
  const use = db.prepare<KeyUse>(
    `UPDATE api_keys SET last_used_at = :atMs WHERE key_id = :keyId AND coalesce(last_used_at, 0) <= :atMs - ${keyUseMs}`,
  )
  const useSession = db.prepare<KeyUse>(
    `UPDATE sessions SET last_seen_at = :atMs WHERE session_id = :sessionId AND coalesce(last_seen_at, 0) <= :atMs - ${keyUseMs}`,
  )
  const find = db.prepare<[string], KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE key_id = ?`)
  const isSignedIn = db
    .prepare<object, number>(`SELECT 1 FROM sessions WHERE key_id = :keyId AND ${workingSql}`)
    .pluck()
  const setLimits = db.prepare<[string | null, string], KeyRow>(
    `UPDATE api_keys SET limits = ? WHERE key_id = ? RETURNING ${keyColumns}`,
  )
  const listMade = db
    .prepare<[string], string>('SELECT key_id FROM api_keys WHERE maker_id = ? AND revoked_at IS NULL')
    .pluck()
  const revoke = db.prepare<[number, string], KeyRow>(
    `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE key_id = ? RETURNING ${keyColumns}`,
  )

  function revokeKey(keyId: string, by: Actor = systemActor): ApiKey | null {
    const before = toKey(find.get(keyId))
    const after = toKey(revoke.get(nowMs(), keyId))
    if (before === null || after === null) return null
    record(
      {
        act: 'key.revoked',
        subject: keyId,
        accountId: after.accountId,
        before: { revoked_at: toTime(before.revokedAtMs) },
        after: { revoked_at: toTime(after.revokedAtMs) },
      },
      by,
    )
    for (const made of listMade.all(keyId)) revokeKey(made, by)
    return after
  }

  return {
    createKey(draft: SentKey, by: Actor = systemActor): ApiKey | null {
      const { accountId, permissions, makerId } = draft
      const limits = toLimitsText(draft.limits)
      if (isActive.get(accountId) === undefined) return null
      const maker = makerId === null ? null : find.get(makerId)
      if (maker !== null && maker?.revokedAtMs !== null) return null
      if (maker?.prefix === sessionPrefix && isSignedIn.get({ keyId: makerId, nowMs: nowMs() }) === undefined)
        return null
      const keyId = ids.next('key')
      const row = insert.get({ ...draft, keyId, permissions: JSON.stringify(permissions), limits, now: nowMs() })
      const after = describeNewKey(draft)
      record({ act: 'key.created', subject: keyId, accountId, before: null, after }, by)
      return toKey(row)
    },
    recordKeyUses(uses: readonly KeyUse[]): void {
      for (const each of uses) {
        use.run(each)
        if (each.sessionId !== undefined) useSession.run(each)
      }
    },
    revokeKey,
    changeKeyLimits(keyId: string, change: Partial<Limits>, by: Actor = systemActor): ApiKey | null {
      const before = find.get(keyId)
      if (before === undefined) return null
      const { accountId } = before
      const limits = toLimitsText({ ...parseLimits(before.limits), ...change })
      record({ act: 'key.limited', subject: keyId, accountId, ...limitsAudit(before.limits, limits) }, by)
      return toKey(setLimits.get(limits, keyId))
    },
  }
}

export function createKeyReads(db: Connection, nowMs: () => number) {
  const find = db.prepare<[Buffer], KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE secret_hash = ?`)
  const findById = db.prepare<[string], KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE key_id = ?`)
  const budgets = createBudgetReads(db)
  const pages = createPages<KeyRow>(db, keyColumns, 'api_keys', 'key_id')
  const cache = new LRUCache<string, ApiKey>(keyCacheOptions)
  return {
    /** A cache of keys by their text, which saves the hash for each call. An unknown key is not cached: a new key works at once. */
    findKey(secret: string): ApiKey | null {
      const known = cache.get(secret)
      if (known !== undefined) return known
      const key = isKeySecret(secret) ? toKey(find.get(hashKeySecret(secret))) : null
      if (key !== null) cache.set(secret, key)
      return key
    },
    getKey: (keyId: string): ApiKey | null => toKey(findById.get(keyId)),
    readBudgets(key: Pick<ApiKey, 'keyId' | 'accountId'>): readonly Budget[] {
      return budgets.read(key.accountId, key.keyId, nowMs())
    },
    /** Clears the cache, because this process has revoked a key or changed its limits. */
    clearKeyCache: () => cache.clear(),
    listKeys(accountId: string | null, page: PageRequest): Page<ApiKey> {
      const { items, total } = pages.read(ofAccount(accountId), { accountId }, page)
      return { items: items.flatMap((row) => toKey(row) ?? []), total }
    },
  }
}

// API keys: created, found by the hash of their text, listed, revoked. Signing keys: numbered within their purpose.
import { randomBytes } from 'node:crypto'
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
import type { SigningKey, SigningPurpose } from '../../../core/store.ts'
import { limitsAudit } from '../../budgets.ts'
import { describeNewKey, keyColumns, type KeyRow, toKey, toTime } from '../../rows.ts'
import { workingSql } from '../../sessions.ts'
import type { Database } from '../connection.ts'
import { ofAccount, readPage } from '../pages.ts'
import type { Writing } from '../writing.ts'
import { record } from './audit.ts'
import { readBudgets } from './budgets.ts'
import { lockAccounts } from './ledger.ts'

// Lifetime of a cached key. Other processes may revoke it, which must take effect within a second.
const cacheMs = 500
const mostCached = 10_000
/** Of keys, and of sessions. */
export const keyCacheOptions = { max: mostCached, ttl: cacheMs, ttlResolution: cacheMs / 10 }

export async function createKey(tx: Writing, draft: NewKey, by: Actor = systemActor): Promise<ApiKey | null> {
  const { accountId, permissions, makerId } = draft
  const account = (await lockAccounts(tx, 'account_id = :accountId', { accountId })).get(accountId)
  if (account?.status !== 'active') return null
  const now = await tx.nowMs()
  if (makerId !== null) {
    const maker = await lockKey(tx, makerId)
    if (maker?.revokedAtMs !== null) return null
    const isSignedIn = `SELECT 1 FROM sessions WHERE key_id = :makerId AND ${workingSql}`
    if (maker.prefix === sessionPrefix && !(await tx.row(isSignedIn, { makerId, nowMs: now }))) return null
  }
  const keyId = tx.ids.next('key')
  const row = await tx.row<KeyRow>(
    `INSERT INTO api_keys (key_id, account_id, name, prefix, secret_hash, permissions, created_at, expires_at, limits, maker_id)
     VALUES (:keyId, :accountId, :name, :prefix, :secretHash::bytea, :permissions, :now::bigint, :expiresAtMs::bigint, :limits, :makerId)
     RETURNING ${keyColumns}`,
    { ...draft, keyId, permissions: JSON.stringify(permissions), limits: toLimitsText(draft.limits), now },
  )
  await record(tx, { act: 'key.created', subject: keyId, accountId, before: null, after: describeNewKey(draft) }, by)
  return toKey(row)
}

export async function revokeKey(tx: Writing, keyId: string, by: Actor = systemActor): Promise<ApiKey | null> {
  const before = await lockKey(tx, keyId)
  if (before === undefined) return null
  const revokedAtMs = before.revokedAtMs ?? (await tx.nowMs())
  tx.send('UPDATE api_keys SET revoked_at = :revokedAtMs WHERE key_id = :keyId', { keyId, revokedAtMs })
  await record(
    tx,
    {
      act: 'key.revoked',
      subject: keyId,
      accountId: before.accountId,
      before: { revoked_at: toTime(before.revokedAtMs) },
      after: { revoked_at: toTime(revokedAtMs) },
    },
    by,
  )
  const made = 'SELECT key_id AS keyId FROM api_keys WHERE maker_id = :keyId AND revoked_at IS NULL ORDER BY key_id'
  for (const { keyId: madeId } of await tx.rows<{ keyId: string }>(made, { keyId })) await revokeKey(tx, madeId, by)
  return toKey({ ...before, revokedAtMs })
}

export async function changeKeyLimits(
  tx: Writing,
  keyId: string,
  change: Partial<Limits>,
  by: Actor = systemActor,
): Promise<ApiKey | null> {
  const before = await lockKey(tx, keyId)
  if (before === undefined) return null
  const { accountId } = before
  const limits = toLimitsText({ ...parseLimits(before.limits), ...change })
  tx.send('UPDATE api_keys SET limits = :limits WHERE key_id = :keyId', { limits, keyId })
  await record(tx, { act: 'key.limited', subject: keyId, accountId, ...limitsAudit(before.limits, limits) }, by)
  return toKey({ ...before, limits })
}

/** Reads a key that nobody else changes, or makes keys by, until the transaction has ended. */
export function lockKey(tx: Writing, keyId: string): Promise<KeyRow | undefined> {
  return tx.row<KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE key_id = :keyId FOR NO KEY UPDATE`, { keyId })
}

export async function recordKeyUses(tx: Writing, uses: readonly KeyUse[]): Promise<void> {
  const sorted = uses.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))
  for (const { keyId, atMs } of sorted)
    tx.send(
      `UPDATE api_keys SET last_used_at = :atMs::bigint WHERE key_id = :keyId AND coalesce(last_used_at, 0) <= :atMs::bigint - ${keyUseMs}`,
      { keyId, atMs },
    )
  for (const { sessionId, atMs } of uses.toSorted((a, b) => ((a.sessionId ?? '') < (b.sessionId ?? '') ? -1 : 1)))
    if (sessionId !== undefined)
      tx.send(
        `UPDATE sessions SET last_seen_at = :atMs::bigint WHERE session_id = :sessionId AND coalesce(last_seen_at, 0) <= :atMs::bigint - ${keyUseMs}`,
        { sessionId, atMs },
      )
}

/** Creates the first key of a purpose unless another process was faster. */
export async function ensureSigningKeys(tx: Writing, purpose: SigningPurpose): Promise<readonly SigningKey[]> {
  await lockPurpose(tx, purpose)
  const keys = await tx.rows<SigningKey>(signingKeysSql, { purpose })
  return keys.length > 0 ? keys : [await makeSigningKey(tx, purpose)]
}

export async function rotateSigningKey(
  tx: Writing,
  purpose: SigningPurpose,
  by: Actor = systemActor,
  revoke = false,
): Promise<SigningKey> {
  await lockPurpose(tx, purpose)
  const made = await makeSigningKey(tx, purpose)
  const { number } = made
  const before = number > 1 ? { number: number - 1 } : null
  const remove = () =>
    tx.change('DELETE FROM signing_keys WHERE purpose = :purpose AND number < :number', { purpose, number })
  const after = { number, ...(revoke && { revoked: await remove() }) }
  await record(tx, { act: 'signing_key.rotated', subject: purpose, accountId: null, before, after }, by)
  return made
}

const signingKeyColumns = 'number, secret, created_at AS createdAtMs'
const signingKeysSql = `SELECT ${signingKeyColumns} FROM signing_keys WHERE purpose = :purpose ORDER BY number`

async function lockPurpose(tx: Writing, purpose: SigningPurpose): Promise<void> {
  await tx.rows("SELECT pg_advisory_xact_lock(hashtextextended('mediagen signing key ' || :purpose, 0))", { purpose })
}

async function makeSigningKey(tx: Writing, purpose: SigningPurpose): Promise<SigningKey> {
  const row = await tx.row<SigningKey>(
    `INSERT INTO signing_keys (purpose, number, secret, created_at)
     VALUES (:purpose, (SELECT coalesce(max(number), 0) + 1 FROM signing_keys WHERE purpose = :purpose), :secret, :now) RETURNING ${signingKeyColumns}`,
    { purpose, secret: randomBytes(32), now: await tx.nowMs() },
  )
  if (row === undefined) throw new Error('no signing key was made')
  return row
}

export function createKeyReads(db: Database) {
  const listing = { columns: keyColumns, from: 'api_keys', order: 'key_id' }
  const cache = new LRUCache<string, ApiKey>(keyCacheOptions)

  async function readKey(secret: string): Promise<ApiKey | null> {
    const sql = `SELECT ${keyColumns} FROM api_keys WHERE secret_hash = :hash`
    const key = toKey(await db.row<KeyRow>(sql, { hash: hashKeySecret(secret) }))
    if (key !== null) cache.set(secret, key)
    return key
  }

  return {
    /** A cache of keys by their text, which saves a query for each call. An unknown key is not cached: a new key works at once. */
    async findKey(secret: string): Promise<ApiKey | null> {
      return cache.get(secret) ?? (isKeySecret(secret) ? await readKey(secret) : null)
    },
    async getKey(keyId: string): Promise<ApiKey | null> {
      return toKey(await db.row<KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE key_id = :keyId`, { keyId }))
    },
    readBudgets: ({ accountId, keyId }: Pick<ApiKey, 'keyId' | 'accountId'>): Promise<readonly Budget[]> =>
      readBudgets(db, accountId, keyId, db.nowMs()),
    /** Clears the cache, because this process has revoked a key or changed limits. */
    clearKeyCache: () => cache.clear(),
    async listKeys(accountId: string | null, page: PageRequest): Promise<Page<ApiKey>> {
      const { items, total } = await readPage<KeyRow>(db, listing, ofAccount(accountId), { accountId }, page)
      return { items: items.flatMap((row) => toKey(row) ?? []), total }
    },
    readSigningKeys: (purpose: SigningPurpose) => db.rows<SigningKey>(signingKeysSql, { purpose }),
  }
}

// API keys: made, found by the hash of their text, listed, revoked.
import { LRUCache } from 'lru-cache'
import type { ApiKey, Permission } from '../../core/key.ts'
import type { Page, PageRequest } from '../../core/page.ts'
import type { Connection } from './connection.ts'
import type { Writing } from './writing.ts'

// A key that was found is believed for so long: other processes may revoke it, and that takes effect within a second.
const believedMs = 500
const mostBelieved = 10_000

interface KeyRow extends Omit<ApiKey, 'permissions'> {
  readonly permissions: string
}

const keyColumns =
  'key_id AS keyId, account_id AS accountId, permissions, created_at AS createdAtMs, expires_at AS expiresAtMs, revoked_at AS revokedAtMs'

/** Creates the commands that change keys. */
export function createKeyCommands({ db, nowMs, ids }: Writing) {
  const accountExists = db.prepare<[string], number>('SELECT 1 FROM accounts WHERE account_id = ?').pluck()
  const insert = db.prepare<[string, string, Uint8Array, string, number, number | null], KeyRow>(
    `INSERT INTO api_keys (key_id, account_id, secret_hash, permissions, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING ${keyColumns}`,
  )
  const revoke = db.prepare<[number, string], KeyRow>(
    `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE key_id = ? RETURNING ${keyColumns}`,
  )
  return {
    createKey(
      accountId: string,
      secretHash: Uint8Array,
      permissions: readonly Permission[],
      expiresAtMs: number | null,
    ): ApiKey | null {
      if (accountExists.get(accountId) === undefined) return null
      return toKey(
        insert.get(ids.next('key'), accountId, secretHash, JSON.stringify(permissions), nowMs(), expiresAtMs),
      )
    },
    revokeKey: (keyId: string): ApiKey | null => toKey(revoke.get(nowMs(), keyId)),
  }
}

/** Creates the reads of keys. */
export function createKeyReads(db: Connection) {
  const find = db.prepare<[Buffer], KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE secret_hash = ?`)
  const listAll = db.prepare<[number, number], KeyRow>(
    `SELECT ${keyColumns} FROM api_keys ORDER BY key_id DESC LIMIT ? OFFSET ?`,
  )
  const countAll = db.prepare<[], number>('SELECT count(*) FROM api_keys').pluck()
  const list = db.prepare<[string, number, number], KeyRow>(
    `SELECT ${keyColumns} FROM api_keys WHERE account_id = ? ORDER BY key_id DESC LIMIT ? OFFSET ?`,
  )
  const count = db.prepare<[string], number>('SELECT count(*) FROM api_keys WHERE account_id = ?').pluck()
  const believed = new LRUCache<string, ApiKey>({ max: mostBelieved, ttl: believedMs, ttlResolution: believedMs / 10 })
  return {
    /** Every call asks for its key. That there is none is not remembered: a new key works at once. */
    findKey(secretHash: Buffer): ApiKey | null {
      const name = secretHash.toString('latin1')
      const known = believed.get(name)
      if (known !== undefined) return known
      const key = toKey(find.get(secretHash))
      if (key !== null) believed.set(name, key)
      return key
    },
    /** Believes no key any longer: this process has revoked one. */
    forgetKeys: () => believed.clear(),
    listKeys(accountId: string | null, { limit, offset }: PageRequest): Page<ApiKey> {
      const rows = accountId === null ? listAll.all(limit, offset) : list.all(accountId, limit, offset)
      const total = accountId === null ? countAll.get() : count.get(accountId)
      return { items: rows.flatMap((row) => toKey(row) ?? []), total: total ?? 0 }
    },
  }
}

function toKey(row: KeyRow | undefined): ApiKey | null {
  return row === undefined ? null : { ...row, permissions: JSON.parse(row.permissions) as Permission[] }
}

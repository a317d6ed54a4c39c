// People and their sessions: signed in, found by the hash of their text, listed, revoked.
import { LRUCache } from 'lru-cache'
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import { type ApiKey, hashKeySecret } from '../../../core/accounts/key.ts'
import {
  type EndedSessions,
  type FoundSession,
  isSessionToken,
  keepSessionsMs,
  mostSessions,
  type Session,
  type SessionFilter,
  sessionPrefix,
  type SignInCommand,
  type SignInOutcome,
} from '../../../core/accounts/session.ts'
import type { PageRequest } from '../../../core/page.ts'
import { keyColumns, type KeyRow, toKey } from '../../rows.ts'
import {
  describeRevoked,
  describeSignIn,
  findSessionSql,
  type FoundRow,
  sessionColumns,
  toFactsText,
  toFoundSession,
  toPersonKey,
  whichSessions,
  workingSql,
} from '../../sessions.ts'
import type { Database } from '../connection.ts'
import { readPage } from '../pages.ts'
import type { Writing } from '../writing.ts'
import { record } from './audit.ts'
import { createKey, keyCacheOptions, lockKey, revokeKey } from './keys.ts'

const findSql = `SELECT ${sessionColumns} FROM sessions WHERE session_id = :sessionId`

export async function signIn(tx: Writing, command: SignInCommand): Promise<SignInOutcome> {
  const { issuer, subject, accountId, stateHash, lastsMs } = command
  // One sign-in of a person at a time.
  await tx.rows("SELECT pg_advisory_xact_lock(hashtextextended('mediagen person ' || :issuer || ' ' || :subject, 0))", {
    issuer,
    subject,
  })
  if (await tx.row('SELECT 1 FROM sessions WHERE state_hash = :stateHash::bytea', { stateHash }))
    return { outcome: 'replayed' }
  const known = await tx.row<KeyRow>(
    `SELECT ${keyColumns} FROM api_keys
     WHERE key_id = (SELECT key_id FROM people WHERE issuer = :issuer AND subject = :subject) FOR NO KEY UPDATE`,
    { issuer, subject },
  )
  if (known !== undefined && known.revokedAtMs !== null) return { outcome: 'revoked', keyId: known.keyId }
  const keyId = await settleKey(tx, command, known)
  if (keyId === null) return { outcome: 'no_account' }
  const now = await tx.nowMs()
  const sessionId = tx.ids.next('sess')
  tx.send(
    `INSERT INTO sessions (session_id, key_id, account_id, token_hash, state_hash, terms, address, browser, created_at, expires_at)
     VALUES (:sessionId, :keyId, :accountId, :tokenHash::bytea, :stateHash::bytea, :terms, :address, :browser, :now::bigint, :expiresAtMs::bigint)`,
    { ...command, sessionId, keyId, now, expiresAtMs: now + lastsMs },
  )
  tx.send(
    `UPDATE sessions SET revoked_at = :now::bigint WHERE session_id IN (
       SELECT session_id FROM sessions WHERE key_id = :keyId AND revoked_at IS NULL AND expires_at > :now::bigint
       ORDER BY session_id DESC OFFSET ${mostSessions})`,
    { keyId, now },
  )
  tx.send('DELETE FROM sessions WHERE expires_at < :before::bigint', { before: now - keepSessionsMs })
  const described = describeSignIn(known, command, sessionId)
  await record(tx, { act: 'key.signed_in', subject: keyId, accountId, ...described }, systemActor)
  return { outcome: 'done', session: (await tx.row<Session>(findSql, { sessionId })) as Session }
}

/** The id of the key of the person; null without the account. */
async function settleKey(tx: Writing, command: SignInCommand, known: KeyRow | undefined): Promise<string | null> {
  const { issuer, subject, accountId, name } = command
  const permissions = JSON.stringify(command.permissions)
  const setPerson = (keyId: string): void =>
    tx.send(
      `INSERT INTO people (issuer, subject, key_id, facts) VALUES (:issuer, :subject, :keyId, :facts)
       ON CONFLICT (issuer, subject) DO UPDATE SET key_id = excluded.key_id, facts = excluded.facts`,
      { issuer, subject, keyId, facts: toFactsText(command) },
    )
  if (known?.accountId === accountId) {
    const { keyId } = known
    setPerson(keyId)
    if (known.name !== name || known.permissions !== permissions)
      tx.send('UPDATE api_keys SET name = :name, permissions = :permissions WHERE key_id = :keyId', {
        keyId,
        name,
        permissions,
      })
    return keyId
  }
  const made = await createKey(tx, toPersonKey(command))
  if (made === null) return null
  if (known !== undefined) await revokeKey(tx, known.keyId)
  setPerson(made.keyId)
  return made.keyId
}

export async function revokeSession(tx: Writing, sessionId: string, by: Actor = systemActor): Promise<Session | null> {
  await tx.rows('SELECT 1 FROM sessions WHERE session_id = :sessionId FOR UPDATE', { sessionId })
  const before = await tx.row<Session>(findSql, { sessionId })
  if (before === undefined) return null
  const now = await tx.nowMs()
  tx.send('UPDATE sessions SET revoked_at = :now::bigint WHERE session_id = :sessionId AND revoked_at IS NULL', {
    now,
    sessionId,
  })
  const after = (await tx.row<Session>(findSql, { sessionId })) as Session
  await record(tx, describeRevoked(before, after), by)
  return after
}

export async function endSessions(
  tx: Writing,
  keyId: string,
  withKeys: boolean,
  by: Actor = systemActor,
): Promise<EndedSessions | null> {
  // Whoever makes a key waits for this, and then has no session.
  const person = await lockKey(tx, keyId)
  if (person?.prefix !== sessionPrefix) return null
  const sessions = await tx.rows<{ id: string }>(
    `SELECT session_id AS id FROM sessions WHERE key_id = :keyId AND ${workingSql} ORDER BY session_id`,
    { keyId, nowMs: await tx.nowMs() },
  )
  const keys = withKeys
    ? await tx.rows<{ id: string }>(
        'SELECT key_id AS id FROM api_keys WHERE maker_id = :keyId AND revoked_at IS NULL ORDER BY key_id',
        { keyId },
      )
    : []
  for (const { id } of sessions) await revokeSession(tx, id, by)
  for (const { id } of keys) await revokeKey(tx, id, by)
  return { sessions: sessions.length, keys: keys.length }
}

export async function readmitPerson(tx: Writing, keyId: string, by: Actor = systemActor): Promise<ApiKey | null> {
  const forgotten = await tx.change(
    'DELETE FROM people WHERE key_id = (SELECT key_id FROM api_keys WHERE key_id = :keyId AND revoked_at IS NOT NULL)',
    { keyId },
  )
  if (forgotten === 0) return null
  const key = toKey(await tx.row<KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE key_id = :keyId`, { keyId }))
  const accountId = key?.accountId ?? null
  await record(tx, { act: 'key.readmitted', subject: keyId, accountId, before: null, after: null }, by)
  return key
}

export function createSessionReads(db: Database) {
  const listing = { columns: sessionColumns, from: 'sessions', order: 'session_id' }
  const cache = new LRUCache<string, FoundSession>(keyCacheOptions)
  return {
    /** Sessions by their text, cached as keys are. */
    async findSession(token: string): Promise<FoundSession | null> {
      const known = cache.get(token)
      if (known !== undefined || !isSessionToken(token)) return known ?? null
      const row = await db.row<FoundRow>(findSessionSql(':hash'), { hash: hashKeySecret(token) })
      const found = toFoundSession(row)
      if (found !== null) cache.set(token, found)
      return found
    },
    clearSessionCache: () => cache.clear(),
    listSessions(filter: SessionFilter, page: PageRequest) {
      const { where, values } = whichSessions(filter, db.nowMs())
      return readPage<Session>(db, listing, where, values, page)
    },
  }
}

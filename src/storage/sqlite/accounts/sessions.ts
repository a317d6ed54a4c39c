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
import type { Page, PageRequest } from '../../../core/page.ts'
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
import type { Connection } from '../connection.ts'
import { createPages } from '../pages.ts'
import type { Writing } from '../threads/writing.ts'
import { createAuditWriter } from './audit.ts'
import { createKeyCommands, keyCacheOptions } from './keys.ts'

export function createSessionCommands(writing: Writing) {
  const { db, nowMs, ids } = writing
  const record = createAuditWriter(writing)
  const { createKey, revokeKey } = createKeyCommands(writing)
  const isStateUsed = db.prepare<[Uint8Array], number>('SELECT 1 FROM sessions WHERE state_hash = ?').pluck()
  const findPerson = db.prepare<[string, string], KeyRow>(
    `SELECT ${keyColumns} FROM api_keys WHERE key_id = (SELECT key_id FROM people WHERE issuer = ? AND subject = ?)`,
  )
  const setPerson = db.prepare<object>(
    `INSERT INTO people (issuer, subject, key_id, facts) VALUES (:issuer, :subject, :keyId, :facts)
     ON CONFLICT (issuer, subject) DO UPDATE SET key_id = excluded.key_id, facts = excluded.facts`,
  )
  const changeKey = db.prepare<object>(
    'UPDATE api_keys SET name = :name, permissions = :permissions WHERE key_id = :keyId',
  )
  const insert = db.prepare<object>(
    `INSERT INTO sessions (session_id, key_id, account_id, token_hash, state_hash, terms, address, browser, created_at, expires_at)
     VALUES (:sessionId, :keyId, :accountId, :tokenHash, :stateHash, :terms, :address, :browser, :now, :expiresAtMs)`,
  )
  const endOldest = db.prepare<object>(
    `UPDATE sessions SET revoked_at = :now WHERE session_id IN (
       SELECT session_id FROM sessions WHERE key_id = :keyId AND revoked_at IS NULL AND expires_at > :now
       ORDER BY session_id DESC LIMIT -1 OFFSET ${mostSessions})`,
  )
  const remove = db.prepare<[number]>('DELETE FROM sessions WHERE expires_at < ?')
  const find = db.prepare<[string], Session>(`SELECT ${sessionColumns} FROM sessions WHERE session_id = ?`)
  const revoke = db.prepare<[number, string]>(
    'UPDATE sessions SET revoked_at = ? WHERE session_id = ? AND revoked_at IS NULL',
  )
  const forget = db.prepare<[string]>(
    'DELETE FROM people WHERE key_id = (SELECT key_id FROM api_keys WHERE key_id = ? AND revoked_at IS NOT NULL)',
  )
  const findKey = db.prepare<[string], KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE key_id = ?`)

  const findWorking = db
    .prepare<object, string>(
      `SELECT session_id FROM sessions WHERE key_id = :keyId AND ${workingSql} ORDER BY session_id`,
    )
    .pluck()
  const findMade = db
    .prepare<[string], string>('SELECT key_id FROM api_keys WHERE maker_id = ? AND revoked_at IS NULL ORDER BY key_id')
    .pluck()

  function revokeSession(sessionId: string, by: Actor = systemActor): Session | null {
    const before = find.get(sessionId)
    revoke.run(nowMs(), sessionId)
    const after = find.get(sessionId)
    if (before === undefined || after === undefined) return null
    record(describeRevoked(before, after), by)
    return after
  }

  /** The id of the key of the person; null without the account. */
  function settleKey(command: SignInCommand, known: KeyRow | undefined): string | null {
    const { issuer, subject, accountId, name } = command
    const permissions = JSON.stringify(command.permissions)
    const facts = toFactsText(command)
    if (known?.accountId === accountId) {
      const { keyId } = known
      setPerson.run({ issuer, subject, keyId, facts })
      if (known.name !== name || known.permissions !== permissions) changeKey.run({ keyId, name, permissions })
      return keyId
    }
    const made = createKey(toPersonKey(command))
    if (made === null) return null
    if (known !== undefined) revokeKey(known.keyId)
    setPerson.run({ issuer, subject, keyId: made.keyId, facts })
    return made.keyId
  }

  return {
    signIn(command: SignInCommand): SignInOutcome {
      if (isStateUsed.get(command.stateHash) !== undefined) return { outcome: 'replayed' }
      const known = findPerson.get(command.issuer, command.subject)
      if (known !== undefined && known.revokedAtMs !== null) return { outcome: 'revoked', keyId: known.keyId }
      const keyId = settleKey(command, known)
      if (keyId === null) return { outcome: 'no_account' }
      const now = nowMs()
      const sessionId = ids.next('sess')
      const { accountId, tokenHash, stateHash, terms, address, browser, lastsMs } = command
      const made = { sessionId, keyId, accountId, tokenHash, stateHash, terms, address, browser }
      insert.run({ ...made, now, expiresAtMs: now + lastsMs })
      endOldest.run({ keyId, now })
      remove.run(now - keepSessionsMs)
      record(
        { act: 'key.signed_in', subject: keyId, accountId, ...describeSignIn(known, command, sessionId) },
        systemActor,
      )
      return { outcome: 'done', session: find.get(sessionId) as Session }
    },
    revokeSession,
    endSessions(keyId: string, withKeys: boolean, by: Actor = systemActor): EndedSessions | null {
      if (findKey.get(keyId)?.prefix !== sessionPrefix) return null
      const sessions = findWorking.all({ keyId, nowMs: nowMs() })
      const keys = withKeys ? findMade.all(keyId) : []
      for (const sessionId of sessions) revokeSession(sessionId, by)
      for (const made of keys) revokeKey(made, by)
      return { sessions: sessions.length, keys: keys.length }
    },
    readmitPerson(keyId: string, by: Actor = systemActor): ApiKey | null {
      if (forget.run(keyId).changes === 0) return null
      const key = toKey(findKey.get(keyId))
      record(
        { act: 'key.readmitted', subject: keyId, accountId: key?.accountId ?? null, before: null, after: null },
        by,
      )
      return key
    },
  }
}

export function createSessionReads(db: Connection, nowMs: () => number) {
  const find = db.prepare<[Buffer], FoundRow>(findSessionSql('?'))
  const pages = createPages<Session>(db, sessionColumns, 'sessions', 'session_id')
  const cache = new LRUCache<string, FoundSession>(keyCacheOptions)
  return {
    /** Sessions by their text, cached as keys are. */
    findSession(token: string): FoundSession | null {
      const known = cache.get(token)
      if (known !== undefined) return known
      const found = isSessionToken(token) ? toFoundSession(find.get(hashKeySecret(token))) : null
      if (found !== null) cache.set(token, found)
      return found
    },
    clearSessionCache: () => cache.clear(),
    listSessions(filter: SessionFilter, page: PageRequest): Page<Session> {
      const { where, values } = whichSessions(filter, nowMs())
      return pages.read(where, values, page)
    },
  }
}

// Rows of sessions and of people as every engine of storage selects them, and what the audit keeps of a sign-in.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { AuditDraft } from '../core/accounts/audit.ts'
import type { NewKey } from '../core/accounts/key.ts'
import { noLimits } from '../core/accounts/limits.ts'
import {
  type FoundSession,
  type Session,
  type SessionFilter,
  sessionPrefix,
  type SignInCommand,
} from '../core/accounts/session.ts'
import { keyColumns, type KeyRow, toKey, toTime } from './rows.ts'

export const sessionColumns = `session_id AS sessionId, key_id AS keyId, account_id AS accountId, created_at AS createdAtMs, expires_at AS expiresAtMs,
  last_seen_at AS lastSeenAtMs, address, browser, terms,
  (SELECT k.name FROM api_keys AS k WHERE k.key_id = sessions.key_id) AS name,
  coalesce(revoked_at, (SELECT k.revoked_at FROM api_keys AS k WHERE k.key_id = sessions.key_id)) AS revokedAtMs`

/** A session as it is found by the hash of its text, with its key. */
export interface FoundRow extends KeyRow {
  readonly sessionId: string
  readonly terms: string
  readonly address: string | null
  readonly browser: string | null
  readonly lastSeenAtMs: number | null
  readonly beganAtMs: number
  readonly endsAtMs: number
  readonly endedAtMs: number | null
}

/** @param hash the parameter with the hash */
export const findSessionSql = (
  hash: string,
): string => `SELECT ${keyColumns}, s.session_id AS sessionId, s.terms, s.address, s.browser, s.seen AS lastSeenAtMs,
  s.began AS beganAtMs, s.ends AS endsAtMs, s.ended AS endedAtMs
  FROM api_keys JOIN (
    SELECT session_id, key_id AS signed_in, terms, address, browser, last_seen_at AS seen, created_at AS began, expires_at AS ends, revoked_at AS ended FROM sessions WHERE token_hash = ${hash}
  ) AS s ON s.signed_in = api_keys.key_id`

export function toFoundSession(row: FoundRow | undefined): FoundSession | null {
  if (row === undefined) return null
  const { sessionId, terms, address, browser, lastSeenAtMs, beganAtMs, endsAtMs, endedAtMs, ...keyRow } = row
  const key = toKey(keyRow)
  if (key === null) return null
  const { keyId, accountId, name, revokedAtMs } = key
  const session: Session = {
    sessionId,
    keyId,
    accountId,
    name,
    createdAtMs: beganAtMs,
    expiresAtMs: endsAtMs,
    lastSeenAtMs,
    address,
    browser,
    terms,
    revokedAtMs: endedAtMs ?? revokedAtMs,
  }
  return { session, key }
}

/** The conditions of a list of sessions, and their values. */
export function whichSessions({ accountId, keyId = null, working = null }: SessionFilter, nowMs: number) {
  const terms = working?.terms ?? null
  const where = [
    ...(accountId === null ? [] : ['account_id = :accountId']),
    ...(keyId === null ? [] : ['key_id = :keyId']),
    ...(working === null ? [] : [workingSql]),
    ...(terms === null ? [] : ['terms = :terms']),
  ]
  return { where, values: { accountId, keyId, terms, nowMs } }
}

/** Sessions that are not revoked and have time left at `:nowMs`. */
export const workingSql = `revoked_at IS NULL AND expires_at > :nowMs
  AND NOT EXISTS (SELECT 1 FROM api_keys AS k WHERE k.key_id = sessions.key_id AND k.revoked_at IS NOT NULL)`

/** What the store keeps of what the provider says. */
export function toFactsText({ facts: { email, groups } }: SignInCommand): string {
  return JSON.stringify({ email, groups })
}

/** The key of a person. */
export function toPersonKey({ accountId, name, permissions, keyHash }: SignInCommand): NewKey {
  return {
    accountId,
    name,
    prefix: sessionPrefix,
    permissions,
    expiresAtMs: null,
    limits: noLimits,
    makerId: null,
    secretHash: Buffer.from(keyHash),
  }
}

/** What the audit keeps of a session that is revoked. */
export function describeRevoked(before: Session, after: Session): AuditDraft {
  return {
    act: 'session.revoked',
    subject: after.sessionId,
    accountId: after.accountId,
    before: { revoked_at: toTime(before.revokedAtMs) },
    after: { revoked_at: toTime(after.revokedAtMs) },
  }
}

/** What the audit keeps of a sign-in. */
export function describeSignIn(before: KeyRow | undefined, command: SignInCommand, sessionId: string) {
  const { name, permissions } = command
  return {
    before:
      before === undefined ? null : { name: before.name, permissions: JSON.parse(before.permissions) as string[] },
    after: { name, permissions: [...permissions], session_id: sessionId },
  } satisfies Record<'before' | 'after', JsonObject | null>
}

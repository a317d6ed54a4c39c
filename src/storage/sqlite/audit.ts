// Audit entries: appended in the transaction of the act, and listed. Triggers prevent changes.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { type Actor, type AuditDraft, type AuditEntry, systemActor } from '../../core/audit.ts'
import type { Page, PageRequest } from '../../core/page.ts'
import type { Connection } from './connection.ts'
import type { Writing } from './writing.ts'

interface AuditRow extends Omit<AuditEntry, 'actor' | 'before' | 'after'> {
  readonly actor: Actor['kind']
  readonly keyId: string | null
  readonly keyAccountId: string | null
  readonly osUser: string | null
  readonly before: string | null
  readonly after: string | null
}

/** Creates the only function that records acts. */
export function createAuditWriter({ db, nowMs, ids, acted }: Writing): (draft: AuditDraft, by: Actor) => AuditEntry {
  const insert = db.prepare(
    `INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at)
     VALUES ((SELECT coalesce(max(number), 0) + 1 FROM audit_entries), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return (draft, actor) => {
    const entry: AuditEntry = { ...draft, entryId: ids.next('audit'), actor, createdAtMs: nowMs() }
    insert.run(
      entry.entryId,
      actor.kind,
      actor.kind === 'key' ? actor.keyId : null,
      actor.kind === 'command_line' ? actor.osUser : null,
      draft.act,
      draft.subject,
      draft.accountId,
      toText(draft.before),
      toText(draft.after),
      entry.createdAtMs,
    )
    acted(entry)
    return entry
  }
}

/** Creates the command that records acts whose effects lie outside the store. */
export function createAuditCommands(writing: Writing) {
  const record = createAuditWriter(writing)
  return { recordAct: (draft: AuditDraft, by: Actor = systemActor): AuditEntry => record(draft, by) }
}

/** Creates the reads. */
export function createAuditReads(db: Connection) {
  const select = `SELECT a.entry_id AS entryId, a.actor, a.key_id AS keyId, k.account_id AS keyAccountId, a.os_user AS osUser, a.act,
      a.subject, a.account_id AS accountId, a.before, a.after, a.created_at AS createdAtMs
    FROM audit_entries AS a LEFT JOIN api_keys AS k ON k.key_id = a.key_id`
  const listAll = db.prepare<[number, number], AuditRow>(`${select} ORDER BY a.number DESC LIMIT ? OFFSET ?`)
  const countAll = db.prepare<[], number>('SELECT count(*) FROM audit_entries').pluck()
  const list = db.prepare<[string, number, number], AuditRow>(
    `${select} WHERE a.account_id = ? ORDER BY a.number DESC LIMIT ? OFFSET ?`,
  )
  const count = db.prepare<[string], number>('SELECT count(*) FROM audit_entries WHERE account_id = ?').pluck()
  return {
    listAuditEntries(accountId: string | null, { limit, offset }: PageRequest): Page<AuditEntry> {
      const rows = accountId === null ? listAll.all(limit, offset) : list.all(accountId, limit, offset)
      const total = accountId === null ? countAll.get() : count.get(accountId)
      return { items: rows.map(toEntry), total: total ?? 0 }
    },
  }
}

function toEntry({ actor, keyId, keyAccountId, osUser, before, after, ...row }: AuditRow): AuditEntry {
  return { ...row, actor: toActor(actor, keyId, keyAccountId, osUser), before: toJson(before), after: toJson(after) }
}

function toActor(kind: Actor['kind'], keyId: string | null, accountId: string | null, osUser: string | null): Actor {
  if (kind === 'key') return { kind, keyId: keyId ?? '', accountId: accountId ?? '' }
  return kind === 'command_line' ? { kind, osUser: osUser ?? '' } : { kind }
}

function toText(value: JsonObject | null): string | null {
  return value === null ? null : JSON.stringify(value)
}

function toJson(text: string | null): JsonObject | null {
  return text === null ? null : (JSON.parse(text) as JsonObject)
}

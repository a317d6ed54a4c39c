// Audit entries: appended in the transaction of the act, and listed. Triggers prevent changes.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { type Actor, type AuditDraft, type AuditEntry, systemActor } from '@mediagen/core/audit.ts'
import type { Page, PageRequest } from '@mediagen/core/page.ts'
import type { Connection } from './connection.ts'
import { createPages, ofAccount } from './pages.ts'
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
  const columns = `entry_id AS entryId, actor, key_id AS keyId, os_user AS osUser, act, subject, account_id AS accountId, before, after,
    created_at AS createdAtMs, (SELECT account_id FROM api_keys AS k WHERE k.key_id = audit_entries.key_id) AS keyAccountId`
  const pages = createPages<AuditRow>(db, columns, 'audit_entries', 'number')
  return {
    listAuditEntries(accountId: string | null, page: PageRequest): Page<AuditEntry> {
      const { items, total } = pages.read(ofAccount(accountId), { accountId }, page)
      return { items: items.map(toEntry), total }
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

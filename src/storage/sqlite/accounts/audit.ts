// Audit entries: appended in the transaction of the act, and listed. Triggers prevent changes.
import {
  type Actor,
  type AuditDraft,
  type AuditEntry,
  type AuditFilter,
  systemActor,
} from '../../../core/accounts/audit.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { auditColumns, type AuditRow, toAuditEntry, toAuditValues, whichActs } from '../../rows.ts'
import type { Connection } from '../connection.ts'
import { createPages } from '../pages.ts'
import type { Writing } from '../threads/writing.ts'

/** Creates the only function that records acts. */
export function createAuditWriter({ db, nowMs, ids, acted }: Writing): (draft: AuditDraft, by: Actor) => AuditEntry {
  const insert = db.prepare<object>(
    `INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at)
     VALUES ((SELECT coalesce(max(number), 0) + 1 FROM audit_entries), :entryId, :actor, :keyId, :osUser, :act, :subject, :accountId, :before, :after,
       :createdAtMs)`,
  )
  return (draft, actor) => {
    const entry: AuditEntry = { ...draft, entryId: ids.next('audit'), actor, createdAtMs: nowMs() }
    insert.run(toAuditValues(entry))
    acted(entry)
    return entry
  }
}

/** Creates the command that records acts whose effects lie outside the store. */
export function createAuditCommands(writing: Writing) {
  const record = createAuditWriter(writing)
  return { recordAct: (draft: AuditDraft, by: Actor = systemActor): AuditEntry => record(draft, by) }
}

export function createAuditReads(db: Connection) {
  const pages = createPages<AuditRow>(db, auditColumns, 'audit_entries', 'number')
  return {
    listAuditEntries(accountId: string | null, page: PageRequest, filter?: AuditFilter): Page<AuditEntry> {
      const { where, values } = whichActs(accountId, filter)
      const { items, total } = pages.read(where, values, page)
      return { items: items.map(toAuditEntry), total }
    },
  }
}

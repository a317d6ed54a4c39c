// Audit entries: appended in the transaction of the act, and listed. Triggers number them and prevent changes.
import {
  type Actor,
  type AuditDraft,
  type AuditEntry,
  type AuditFilter,
  systemActor,
} from '../../../core/accounts/audit.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { auditColumns, type AuditRow, toAuditEntry, toAuditValues, whichActs } from '../../rows.ts'
import type { Database } from '../connection.ts'
import { readPage } from '../pages.ts'
import type { Writing } from '../writing.ts'

/** Records an act. Entries are written one transaction at a time, so this comes last in a command. */
export async function record(tx: Writing, draft: AuditDraft, actor: Actor = systemActor): Promise<AuditEntry> {
  const createdAtMs = await tx.nowMs()
  const entry: AuditEntry = { ...draft, entryId: tx.ids.next('audit'), actor, createdAtMs }
  tx.send(
    `INSERT INTO audit_entries (entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at)
     VALUES (:entryId, :actor, :keyId, :osUser, :act, :subject, :accountId, :before, :after, :createdAtMs)`,
    toAuditValues(entry),
  )
  tx.acted(entry)
  return entry
}

export function createAuditReads(db: Database) {
  const listing = { columns: auditColumns, from: 'audit_entries', order: 'number' }
  return {
    async listAuditEntries(
      accountId: string | null,
      page: PageRequest,
      filter?: AuditFilter,
    ): Promise<Page<AuditEntry>> {
      const { where, values } = whichActs(accountId, filter)
      const { items, total } = await readPage<AuditRow>(db, listing, where, values, page)
      return { items: items.map(toAuditEntry), total }
    },
  }
}

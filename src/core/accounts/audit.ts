// The audit record: who did what to which object, and the state before and after. Entries are never changed or removed.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Page, PageRequest } from '../page.ts'

export type Actor =
  | { readonly kind: 'key'; readonly keyId: string; readonly accountId: string }
  /** The command line: the user of the operating system. */
  | { readonly kind: 'command_line'; readonly osUser: string }
  /** The server itself. */
  | { readonly kind: 'system' }

export const systemActor: Actor = { kind: 'system' }

export type Act =
  | 'account.created'
  | 'account.limited'
  | 'account.renamed'
  | 'account.frozen'
  | 'account.unfrozen'
  | 'account.closed'
  | 'key.created'
  | 'key.limited'
  | 'key.signed_in'
  | 'key.readmitted'
  | 'key.revoked'
  | 'session.revoked'
  | 'credits.granted'
  | 'credits.adjusted'
  | 'job.resolved'
  | 'job.canceled'
  | 'delivery.renewed'
  | 'signing_key.rotated'
  | 'files.sweep_begun'
  | 'files.swept'

/** The record of an act, without secrets. */
export interface AuditDraft {
  readonly act: Act
  /** Id of the object, such as `key_…`; for signing keys their purpose, for files `files`. */
  readonly subject: string
  /** The account concerned; null if there is none in particular. */
  readonly accountId: string | null
  /** Null if it did not exist. */
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

export interface AuditEntry extends AuditDraft {
  /** `audit_…`, sorts by time. */
  readonly entryId: string
  readonly actor: Actor
  readonly createdAtMs: number
}

/** Which acts are listed; what is missing or null limits nothing. */
export interface AuditFilter {
  /** The key that was used, the user of the operating system, or `server`. */
  readonly actor?: string | null
  /** The name of an act, or what stands before its dot. */
  readonly act?: string | null
  readonly subject?: string | null
  /** From then on, and before then. */
  readonly sinceMs?: number | null
  readonly untilMs?: number | null
}

/** The part of the store with the audit record. Acts on its own data are recorded in their own transaction. */
export interface AuditStore {
  /** Records an act with effects outside the store, such as the removal of files. */
  recordAct(draft: AuditDraft, by: Actor): Promise<AuditEntry>
  /** The newest first; of all accounts when `accountId` is null. */
  listAuditEntries(accountId: string | null, page: PageRequest, filter?: AuditFilter): Promise<Page<AuditEntry>>
  /** Calls back with each act of this process after it is durable. */
  onAct(listener: (entry: AuditEntry) => void): () => void
}

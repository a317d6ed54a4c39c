// The record of administrative acts: who did what to what, and what was so before and after. Entries are never changed or removed.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Page, PageRequest } from './page.ts'

/** Who acts. */
export type Actor =
  | { readonly kind: 'key'; readonly keyId: string; readonly accountId: string }
  /** Whoever has the data directory in hand: the user of the operating system. */
  | { readonly kind: 'command_line'; readonly osUser: string }
  /** The server itself. */
  | { readonly kind: 'system' }

/** The server itself. */
export const systemActor: Actor = { kind: 'system' }

/** Acts that are recorded. */
export type Act =
  | 'account.created'
  | 'key.created'
  | 'key.revoked'
  | 'credits.granted'
  | 'credits.adjusted'
  | 'job.resolved'
  | 'delivery.renewed'
  | 'signing_key.rotated'
  | 'files.sweep_begun'
  | 'files.swept'

/** What is written down of an act. Nothing of it is secret. */
export interface AuditDraft {
  readonly act: Act
  /** Id of what it was done to, such as `key_…`; for signing keys their purpose, for files `files`. */
  readonly subject: string
  /** Account that it concerns; null when it concerns none in particular. */
  readonly accountId: string | null
  /** Null for what was not there. */
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

/** An act on record. */
export interface AuditEntry extends AuditDraft {
  /** `audit_…`, sorts by time. */
  readonly entryId: string
  readonly actor: Actor
  readonly createdAtMs: number
}

/** The part of the store that keeps the record. Acts on its own data are recorded in the transaction that does them. */
export interface AuditStore {
  /** Records an act whose effects lie outside the store, such as the removal of files. */
  recordAct(draft: AuditDraft, by: Actor): Promise<AuditEntry>
  /** The newest first; of all accounts when `accountId` is null. */
  listAuditEntries(accountId: string | null, page: PageRequest): Promise<Page<AuditEntry>>
  /** Calls back with each act of this process after it is durable. */
  onAct(listener: (entry: AuditEntry) => void): () => void
}

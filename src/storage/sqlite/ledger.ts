// The ledger: appends entries, each of which changes the balance of its account by a trigger; lists entries.
import type { LedgerEntry, Posting } from '../../core/ledger.ts'
import type { Page, PageRequest } from '../../core/page.ts'
import type { Connection } from './connection.ts'
import type { Writing } from './writing.ts'

/** The account fields that an entry needs, with the number of earlier entries. */
export interface EntryOwner {
  readonly accountId: string
  readonly entryCount: number
}

/** Creates the only writer of the ledger. */
export function createLedgerWriter({ db, nowMs, ids }: Writing) {
  const insert = db.prepare<
    [string, number, string, string, number | null, number, number, number, string | null, number]
  >(
    `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return {
    /** Appends the postings, in order, to the ledger of an account that was read in this transaction. */
    post(owner: EntryOwner, postings: readonly Posting[], jobNumber: number | null, note: string | null): void {
      let number = owner.entryCount
      for (const { kind, credits, after } of postings) {
        number += 1
        insert.run(
          owner.accountId,
          number,
          ids.next('entry'),
          kind,
          jobNumber,
          credits,
          after.available,
          after.held,
          note,
          nowMs(),
        )
      }
    },
  }
}

/** Creates the reads of the ledger. */
export function createLedgerReads(db: Connection) {
  const list = db.prepare<[string, number, number], LedgerEntry>(
    `SELECT e.entry_id AS entryId, e.account_id AS accountId, j.job_id AS jobId, e.kind, e.credits,
            e.available_after AS availableAfter, e.held_after AS heldAfter, e.note, e.created_at AS createdAtMs
     FROM ledger_entries AS e LEFT JOIN jobs AS j ON j.number = e.job_number
     WHERE e.account_id = ? ORDER BY e.number DESC LIMIT ? OFFSET ?`,
  )
  const count = db.prepare<[string], number>('SELECT entry_count FROM accounts WHERE account_id = ?').pluck()
  return {
    listEntries: (accountId: string, { limit, offset }: PageRequest): Page<LedgerEntry> => ({
      items: list.all(accountId, limit, offset),
      total: count.get(accountId) ?? 0,
    }),
  }
}

// The ledger: appends entries, each of which changes the balance of its account by a trigger; lists entries.
import type { LedgerEntry, Posting } from '@mediagen/core/ledger.ts'
import type { Page, PageRequest } from '@mediagen/core/page.ts'
import { entryColumns } from '../rows.ts'
import type { Connection } from './connection.ts'
import { createPages, ofAccount } from './pages.ts'
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
  const pages = createPages<LedgerEntry>(db, entryColumns, 'ledger_entries', 'number')
  const count = db.prepare<[string], number>('SELECT entry_count FROM accounts WHERE account_id = ?').pluck()
  return {
    listEntries(accountId: string, { limit, offset }: PageRequest): Page<LedgerEntry> {
      const total = count.get(accountId) ?? 0
      // Numbers have no gaps, so a page is found by its first number: a deep one costs as much as the first.
      const where = [...ofAccount(accountId), 'number <= :first']
      return pages.read(where, { accountId, first: total - offset }, { limit, offset: 0 }, () => total)
    },
  }
}

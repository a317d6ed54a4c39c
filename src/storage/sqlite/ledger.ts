// The ledger: appends entries, each of which changes the balance of its account by a trigger; lists entries.
import type { LedgerEntry, Posting } from '../../core/credits/ledger.ts'
import type { Page, PageRequest } from '../../core/page.ts'
import { entryColumns } from '../rows.ts'
import type { Connection } from './connection.ts'
import { createPages, ofAccount } from './pages.ts'
import { createRowInsert, type Value } from './row-insert.ts'
import type { Writing } from './writing.ts'

/** The account fields that an entry needs, with the number of earlier entries. */
export interface EntryOwner {
  readonly accountId: string
  readonly entryCount: number
}

/** Creates the only writer of the ledger. */
export function createLedgerWriter({ db, nowMs, ids }: Writing) {
  const columns =
    'account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at'
  const append = createRowInsert(db, 'ledger_entries', columns)

  /** The rows of postings, in order, that follow the entries that the account has. */
  function toRows(
    { accountId, entryCount }: EntryOwner,
    postings: readonly Posting[],
    jobNumber: number | null,
    note: string | null,
  ): Value[] {
    return postings.flatMap(({ kind, credits, after: { available, held } }, index) => {
      const number = entryCount + index + 1
      return [accountId, number, ids.next('entry'), kind, jobNumber, credits, available, held, note, nowMs()]
    })
  }

  return {
    toRows,
    /** Appends such rows, in order. */
    append,
    /** Appends the postings, in order, to the ledger of an account that was read in this transaction. */
    post(owner: EntryOwner, postings: readonly Posting[], jobNumber: number | null, note: string | null): void {
      append(toRows(owner, postings, jobNumber, note))
    },
  }
}

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

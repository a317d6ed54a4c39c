// The ledger: appends entries, each of which changes the balance of its account by a trigger; lists entries.
import { hashEntry } from '../../../core/credits/ledger-chain.ts'
import type { LedgerEntry, Posting } from '../../../core/credits/ledger.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { entryColumns } from '../../rows.ts'
import type { Connection } from '../connection.ts'
import { createPages, ofAccount } from '../pages.ts'
import { createRowInsert, type Value } from '../row-insert.ts'
import type { Writing } from '../threads/writing.ts'

/** The account fields that an entry needs: the number of earlier entries, and the hash of the last one. */
export interface EntryOwner {
  readonly accountId: string
  readonly entryCount: number
  readonly ledgerHead: string | null
}

/** The job that an entry is about. */
interface EntryJob {
  readonly number: number | null
  readonly jobId: string | null
}

export const noJob: EntryJob = { number: null, jobId: null }

/** Creates the only writer of the ledger. */
export function createLedgerWriter({ db, nowMs, ids }: Writing) {
  const columns =
    'account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at, hash'
  const append = createRowInsert(db, 'ledger_entries', columns)

  /** The rows of postings, in order, that follow the entries that the account has, and the hash of the last one. */
  function toRows(
    { accountId, entryCount, ledgerHead }: EntryOwner,
    postings: readonly Posting[],
    { number: jobNumber, jobId }: EntryJob,
    note: string | null,
    reference: string | null = null,
  ): { readonly rows: Value[]; readonly ledgerHead: string | null } {
    let head = ledgerHead
    const rows = postings.flatMap(({ kind, credits, after: { available, held } }, index) => {
      const [number, entryId, createdAtMs] = [entryCount + index + 1, ids.next('entry'), nowMs()]
      const balance = { availableAfter: available, heldAfter: held }
      head = hashEntry(head, { accountId, entryId, kind, jobId, credits, ...balance, reference, note, createdAtMs })
      return [accountId, number, entryId, kind, jobNumber, credits, available, held, note, createdAtMs, head]
    })
    return { rows, ledgerHead: head }
  }

  return {
    toRows,
    /** Appends such rows, in order. */
    append,
    /** Appends the postings, in order, to the ledger of an account that was read in this transaction. */
    post(
      owner: EntryOwner,
      postings: readonly Posting[],
      job: EntryJob,
      note: string | null,
      reference: string | null = null,
    ): void {
      append(toRows(owner, postings, job, note, reference).rows)
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

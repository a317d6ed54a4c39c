// The ledger: appends entries, each of which changes the balance of its account by a trigger.
import { hashEntry } from '../../../core/credits/ledger-chain.ts'
import type { Posting } from '../../../core/credits/ledger.ts'
import { type AccountState, accountStateColumns } from '../../rows.ts'
import { toStoredText } from '../sql.ts'
import type { Writing } from '../writing.ts'

/** The accounts that a command has locked; each posting changes them as it changes the rows. */
export type LockedAccounts = Map<string, AccountState>

/** Postings of an account, and the job that they are about. */
export interface Posted {
  readonly accountId: string
  readonly jobNumber: number | null
  readonly jobId: string | null
  readonly note: string | null
  /** The payment that a grant is for. */
  readonly reference?: string | null
  readonly postings: readonly Posting[]
}

/** Locks accounts in the order of their ids. @param which a condition, such as `account_id = ANY(:accountIds)` */
export async function lockAccounts(
  tx: Pick<Writing, 'rows'>,
  which: string,
  values: Readonly<Record<string, unknown>>,
): Promise<LockedAccounts> {
  const sql = `SELECT ${accountStateColumns} FROM accounts WHERE ${which} ORDER BY account_id FOR NO KEY UPDATE`
  const rows = await tx.rows<AccountState>(sql, values)
  return new Map(rows.map((row) => [row.accountId, row]))
}

/** Appends postings, in order. The only writer of the ledger. */
export function post({ ids, send }: Writing, accounts: LockedAccounts, nowMs: number, posted: readonly Posted[]): void {
  const rows = posted.flatMap(({ accountId, jobNumber, jobId, note: given, reference = null, postings }) => {
    const note = given && toStoredText(given)
    return postings.map(({ kind, credits, after }) => {
      const account = accounts.get(accountId)
      if (account === undefined) throw new Error(`account ${accountId} is not locked`)
      const number = account.entryCount + 1
      const [entryId, createdAtMs] = [ids.next('entry'), nowMs]
      const balance = { availableAfter: after.available, heldAfter: after.held }
      const entry = { accountId, entryId, kind, jobId, credits, ...balance, reference, note, createdAtMs }
      const hash = hashEntry(account.ledgerHead, entry)
      accounts.set(accountId, { ...account, ...after, entryCount: number, ledgerHead: hash })
      return { ...entry, number, jobNumber, hash }
    })
  })
  if (rows.length === 0) return
  send(
    `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, hash, created_at)
     SELECT *, :nowMs::bigint FROM unnest(:accountIds::text[], :numbers::bigint[], :entryIds::text[], :kinds::text[], :jobNumbers::bigint[],
       :credits::bigint[], :available::bigint[], :held::bigint[], :notes::text[], :hashes::text[])`,
    {
      nowMs,
      accountIds: rows.map(({ accountId }) => accountId),
      numbers: rows.map(({ number }) => number),
      entryIds: rows.map(({ entryId }) => entryId),
      kinds: rows.map(({ kind }) => kind),
      jobNumbers: rows.map(({ jobNumber }) => jobNumber),
      credits: rows.map(({ credits }) => credits),
      available: rows.map(({ availableAfter }) => availableAfter),
      held: rows.map(({ heldAfter }) => heldAfter),
      notes: rows.map(({ note }) => note),
      hashes: rows.map(({ hash }) => hash),
    },
  )
}

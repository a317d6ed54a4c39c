// Accounts: created, read, and credited or debited.
import { newlyActive } from '../../../core/accounts/account-status.ts'
import { type Act, type Actor, systemActor } from '../../../core/accounts/audit.ts'
import { type Limits, parseLimits, toLimitsText } from '../../../core/accounts/limits.ts'
import { adjust, grant, isCredits, isSameGrant, type LedgerEntry, type Posting } from '../../../core/credits/ledger.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { Account, AdjustOutcome, GrantOutcome } from '../../../core/store.ts'
import { limitsAudit } from '../../budgets.ts'
import { accountColumns, type AccountRow, type AccountState, entryColumns, toAccount, toPosted } from '../../rows.ts'
import type { Database } from '../connection.ts'
import { readInTime, readPage } from '../pages.ts'
import type { Writing } from '../writing.ts'
import { record } from './audit.ts'
import { lockAccounts, type LockedAccounts, post } from './ledger.ts'

export async function createAccount(
  tx: Writing,
  name: string,
  credits: number,
  by: Actor = systemActor,
): Promise<Account> {
  if (!isCredits(credits)) throw new RangeError('credits of a new account must be a whole number from 0')
  const createdAtMs = await tx.nowMs()
  const accountId = tx.ids.next('acct')
  const counts = { entryCount: 0, jobCount: 0, queuedJobs: 0 }
  const empty = {
    accountId,
    name,
    available: 0,
    held: 0,
    createdAtMs,
    limits: null,
    ledgerHead: null,
    ...counts,
    ...newlyActive,
  }
  tx.send('INSERT INTO accounts (account_id, name, created_at) VALUES (:accountId, :name, :createdAtMs)', empty)
  const posting = credits > 0 ? grant(empty, credits) : null
  if (posting !== null)
    post(tx, new Map([[accountId, empty]]), createdAtMs, [
      { accountId, jobNumber: null, jobId: null, note: null, postings: [posting] },
    ])
  const after = { name, available: credits }
  await record(tx, { act: 'account.created', subject: accountId, accountId, before: null, after }, by)
  return toPosted(empty, posting ?? undefined)
}

export async function grantCredits(
  tx: Writing,
  accountId: string,
  credits: number,
  note: string | null,
  by: Actor = systemActor,
  reference: string | null = null,
): Promise<GrantOutcome> {
  if (!isCredits(credits) || credits === 0) throw new RangeError('credits of a grant must be a whole number from 1')
  const accounts = await lockAccounts(tx, 'account_id = :accountId', { accountId })
  const account = accounts.get(accountId)
  if (account === undefined) return { outcome: 'no_account' }
  const number = account.entryCount + 1
  const repeat = async (): Promise<GrantOutcome | null> => {
    const made = await tx.row<LedgerEntry>(
      `SELECT ${entryColumns} FROM ledger_entries
       WHERE (account_id, number) = (SELECT account_id, number FROM grant_references WHERE reference = :reference)`,
      { reference },
    )
    if (made === undefined) return null
    if (!isSameGrant(made, { accountId, credits })) return { outcome: 'reference_reused', entry: made }
    return { outcome: 'done', account: toPosted(account), entry: made, replayed: true }
  }
  const repeated = reference === null ? null : await repeat()
  if (repeated !== null) return repeated
  if (account.status === 'closed') return { outcome: 'closed' }
  const posting = grant(account, credits)
  if (posting === null) return { outcome: 'out_of_range', available: account.available }
  if (reference !== null) {
    // Waits for a grant to another account with this reference that is not committed yet.
    const taken = await tx.rows(
      `INSERT INTO grant_references (reference, account_id, number) VALUES (:reference, :accountId, :number)
       ON CONFLICT (reference) DO NOTHING RETURNING number`,
      { reference, accountId, number },
    )
    if (taken.length === 0) return (await repeat()) as GrantOutcome
  }
  await writeChange(tx, 'credits.granted', accounts, account, posting, { note, reference }, by)
  const entry = await tx.row<LedgerEntry>(
    `SELECT ${entryColumns} FROM ledger_entries WHERE account_id = :accountId AND number = :number`,
    { accountId, number },
  )
  return { outcome: 'done', account: toPosted(account, posting), entry: entry as LedgerEntry, replayed: false }
}

/** Corrects a balance. */
export async function adjustCredits(
  tx: Writing,
  accountId: string,
  credits: number,
  note: string,
  by: Actor = systemActor,
): Promise<AdjustOutcome> {
  if (!Number.isSafeInteger(credits) || credits === 0)
    throw new RangeError('credits of an adjustment must be a whole number other than 0')
  const accounts = await lockAccounts(tx, 'account_id = :accountId', { accountId })
  const account = accounts.get(accountId)
  if (account === undefined) return { outcome: 'no_account' }
  const posting = adjust(account, credits)
  if (posting === null) return { outcome: 'out_of_range', available: account.available }
  await writeChange(tx, 'credits.adjusted', accounts, account, posting, { note, reference: null }, by)
  return { outcome: 'done', account: toPosted(account, posting) }
}

/** Writes the entry of a grant or a correction, and its record in the audit. */
async function writeChange(
  tx: Writing,
  act: Act,
  accounts: LockedAccounts,
  { accountId, available, held }: AccountState,
  posting: Posting,
  { note, reference }: Pick<LedgerEntry, 'note' | 'reference'>,
  by: Actor,
): Promise<void> {
  post(tx, accounts, await tx.nowMs(), [
    { accountId, jobNumber: null, jobId: null, note, reference, postings: [posting] },
  ])
  const after = { ...posting.after, credits: posting.credits, note, ...(reference !== null && { reference }) }
  await record(tx, { act, subject: accountId, accountId, before: { available, held }, after }, by)
}

export async function changeAccountLimits(
  tx: Writing,
  accountId: string,
  change: Partial<Limits>,
  by: Actor = systemActor,
): Promise<Account | null> {
  const account = (await lockAccounts(tx, 'account_id = :accountId', { accountId })).get(accountId)
  if (account === undefined) return null
  const limits = toLimitsText({ ...parseLimits(account.limits), ...change })
  tx.send('UPDATE accounts SET limits = :limits WHERE account_id = :accountId', { limits, accountId })
  await record(
    tx,
    { act: 'account.limited', subject: accountId, accountId, ...limitsAudit(account.limits, limits) },
    by,
  )
  return toPosted({ ...account, limits })
}

export function createAccountReads(db: Database) {
  const accounts = { columns: accountColumns, from: 'accounts', order: 'account_id' }
  const entries = { columns: entryColumns, from: 'ledger_entries', order: 'number' }
  const entryCount = 'SELECT coalesce((SELECT entry_count FROM accounts WHERE account_id = :accountId), 0)'
  return {
    async getAccount(accountId: string): Promise<Account | null> {
      const sql = `SELECT ${accountColumns} FROM accounts WHERE account_id = :accountId`
      const row = await db.row<AccountRow>(sql, { accountId })
      return row === undefined ? null : toAccount(row)
    },
    async findAccounts(name: string, limit: number): Promise<readonly Account[]> {
      const sql = `SELECT ${accountColumns} FROM accounts WHERE name = :name ORDER BY account_id LIMIT :limit`
      return (await readInTime<AccountRow>(db, sql, { name, limit })).map(toAccount)
    },
    async listAccounts(page: PageRequest): Promise<Page<Account>> {
      const { items, total } = await readPage<AccountRow>(db, accounts, [], {}, page)
      return { items: items.map(toAccount), total }
    },
    listEntries(accountId: string, { limit, offset }: PageRequest) {
      // Numbers have no gaps, so a page is found by its first number: a deep one costs as much as the first.
      const where = ['account_id = :accountId', `number <= (${entryCount}) - :skipped::bigint`]
      return readPage<LedgerEntry>(db, entries, where, { accountId, skipped: offset }, { limit, offset: 0 }, entryCount)
    },
  }
}

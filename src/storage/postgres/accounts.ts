// Accounts: created, read, and credited or debited.
import { type Act, type Actor, systemActor } from '../../core/accounts/audit.ts'
import { adjust, grant, isCredits } from '../../core/credits/ledger.ts'
import type { LedgerEntry } from '../../core/credits/ledger.ts'
import type { PageRequest } from '../../core/page.ts'
import type { Account, AdjustOutcome } from '../../core/store.ts'
import { accountColumns, entryColumns, toAccount } from '../rows.ts'
import { record } from './audit.ts'
import type { Database } from './connection.ts'
import { lockAccounts, post } from './ledger.ts'
import { readPage } from './pages.ts'
import type { Writing } from './writing.ts'

const changes = {
  grant: { act: 'credits.granted', rule: grant },
  adjust: { act: 'credits.adjusted', rule: adjust },
} as const satisfies Record<string, { act: Act; rule: typeof grant }>

export async function createAccount(
  tx: Writing,
  name: string,
  credits: number,
  by: Actor = systemActor,
): Promise<Account> {
  if (!isCredits(credits)) throw new RangeError('credits of a new account must be a whole number from 0')
  const createdAtMs = await tx.nowMs()
  const accountId = tx.ids.next('acct')
  const empty = { accountId, name, available: 0, held: 0, createdAtMs, entryCount: 0, jobCount: 0, queuedJobs: 0 }
  tx.send('INSERT INTO accounts (account_id, name, created_at) VALUES (:accountId, :name, :createdAtMs)', empty)
  const posting = credits > 0 ? grant(empty, credits) : null
  if (posting !== null)
    post(tx, new Map([[accountId, empty]]), createdAtMs, [
      { accountId, jobNumber: null, note: null, postings: [posting] },
    ])
  const after = { name, available: credits }
  await record(tx, { act: 'account.created', subject: accountId, accountId, before: null, after }, by)
  return toAccount(empty, posting ?? undefined)
}

/** Grants credits, or corrects a balance. */
export async function changeCredits(
  tx: Writing,
  kind: keyof typeof changes,
  accountId: string,
  credits: number,
  note: string | null,
  by: Actor = systemActor,
): Promise<AdjustOutcome> {
  if (kind === 'grant' && (!isCredits(credits) || credits === 0))
    throw new RangeError('credits of a grant must be a whole number from 1')
  if (!Number.isSafeInteger(credits) || credits === 0)
    throw new RangeError('credits of an adjustment must be a whole number other than 0')
  const { act, rule } = changes[kind]
  const accounts = await lockAccounts(tx, 'account_id = :accountId', { accountId })
  const account = accounts.get(accountId)
  if (account === undefined) return { outcome: 'no_account' }
  const posting = rule(account, credits)
  if (posting === null) return { outcome: 'out_of_range', available: account.available }
  post(tx, accounts, await tx.nowMs(), [{ accountId, jobNumber: null, note, postings: [posting] }])
  const { available, held } = account
  const after = { ...posting.after, credits, note }
  await record(tx, { act, subject: accountId, accountId, before: { available, held }, after }, by)
  return { outcome: 'done', account: toAccount(account, posting) }
}

export function createAccountReads(db: Database) {
  const accounts = { columns: accountColumns, from: 'accounts', order: 'account_id' }
  const entries = { columns: entryColumns, from: 'ledger_entries', order: 'number' }
  const entryCount = 'SELECT coalesce((SELECT entry_count FROM accounts WHERE account_id = :accountId), 0)'
  return {
    async getAccount(accountId: string): Promise<Account | null> {
      const sql = `SELECT ${accountColumns} FROM accounts WHERE account_id = :accountId`
      return (await db.row<Account>(sql, { accountId })) ?? null
    },
    listAccounts: (page: PageRequest) => readPage<Account>(db, accounts, [], {}, page),
    listEntries(accountId: string, { limit, offset }: PageRequest) {
      // Numbers have no gaps, so a page is found by its first number: a deep one costs as much as the first.
      const where = ['account_id = :accountId', `number <= (${entryCount}) - :skipped::bigint`]
      return readPage<LedgerEntry>(db, entries, where, { accountId, skipped: offset }, { limit, offset: 0 }, entryCount)
    },
  }
}

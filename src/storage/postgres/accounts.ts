// Accounts: created, read, and credited or debited.
import { type Act, type Actor, systemActor } from '../../core/accounts/audit.ts'
import { type Limits, parseLimits, toLimitsText } from '../../core/accounts/limits.ts'
import { adjust, grant, isCredits } from '../../core/credits/ledger.ts'
import type { LedgerEntry } from '../../core/credits/ledger.ts'
import type { Page, PageRequest } from '../../core/page.ts'
import type { Account, AdjustOutcome } from '../../core/store.ts'
import { limitsAudit } from '../budgets.ts'
import { accountColumns, type AccountRow, entryColumns, toAccount, toPosted } from '../rows.ts'
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
  const counts = { entryCount: 0, jobCount: 0, queuedJobs: 0 }
  const empty = { accountId, name, available: 0, held: 0, createdAtMs, limits: null, ledgerHead: null, ...counts }
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
  post(tx, accounts, await tx.nowMs(), [{ accountId, jobNumber: null, jobId: null, note, postings: [posting] }])
  const { available, held } = account
  const after = { ...posting.after, credits, note }
  await record(tx, { act, subject: accountId, accountId, before: { available, held }, after }, by)
  return { outcome: 'done', account: toPosted(account, posting) }
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

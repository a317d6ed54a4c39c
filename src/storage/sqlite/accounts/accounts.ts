// Accounts: created, read, and credited or debited.
import { newlyActive } from '../../../core/accounts/account-status.ts'
import { type Act, type Actor, systemActor } from '../../../core/accounts/audit.ts'
import { type Limits, parseLimits, toLimitsText } from '../../../core/accounts/limits.ts'
import { adjust, grant, isCredits, isSameGrant, type LedgerEntry } from '../../../core/credits/ledger.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { Account, AdjustOutcome, GrantOutcome } from '../../../core/store.ts'
import { limitsAudit } from '../../budgets.ts'
import {
  accountColumns,
  type AccountRow,
  type AccountState,
  accountStateColumns,
  entryColumns,
  toAccount,
  toPosted,
} from '../../rows.ts'
import type { Connection } from '../connection.ts'
import { createPages } from '../pages.ts'
import type { Writing } from '../threads/writing.ts'
import { createAuditWriter } from './audit.ts'
import { createLedgerWriter, noJob } from './ledger.ts'

/** Creates a function that reads an account in a transaction. */
export function createAccountFinder(db: Connection): (accountId: string) => AccountState | null {
  const find = db.prepare<[string], AccountState>(`SELECT ${accountStateColumns} FROM accounts WHERE account_id = ?`)
  return (accountId) => find.get(accountId) ?? null
}

export function createAccountCommands(writing: Writing) {
  const { db, nowMs, ids } = writing
  const findAccount = createAccountFinder(db)
  const { post } = createLedgerWriter(writing)
  const record = createAuditWriter(writing)
  const setLimits = db.prepare<[string | null, string]>('UPDATE accounts SET limits = ? WHERE account_id = ?')
  const insert = db.prepare<[string, string, number]>(
    'INSERT INTO accounts (account_id, name, created_at) VALUES (?, ?, ?)',
  )

  const changes = {
    grant: { act: 'credits.granted', rule: grant },
    adjust: { act: 'credits.adjusted', rule: adjust },
  } as const satisfies Record<string, { act: Act; rule: typeof grant }>

  const findEntry = db.prepare<[string, number], LedgerEntry>(
    `SELECT ${entryColumns} FROM ledger_entries WHERE account_id = ? AND number = ?`,
  )
  const findGrant = db.prepare<[string], LedgerEntry>(
    `SELECT ${entryColumns} FROM ledger_entries
     WHERE (account_id, number) = (SELECT account_id, number FROM grant_references WHERE reference = ?)`,
  )
  const insertReference = db.prepare<[string, string, number]>(
    'INSERT INTO grant_references (reference, account_id, number) VALUES (?, ?, ?)',
  )

  function change(
    kind: keyof typeof changes,
    accountId: string,
    credits: number,
    note: string | null,
    by: Actor,
    reference: string | null = null,
  ): AdjustOutcome {
    const { act, rule } = changes[kind]
    const account = findAccount(accountId)
    if (account === null) return { outcome: 'no_account' }
    const posting = rule(account, credits)
    if (posting === null) return { outcome: 'out_of_range', available: account.available }
    post(account, [posting], noJob, note, reference)
    const { available, held } = account
    const after = { ...posting.after, credits, note, ...(reference !== null && { reference }) }
    record({ act, subject: accountId, accountId, before: { available, held }, after }, by)
    return { outcome: 'done', account: toPosted(account, posting) }
  }

  return {
    createAccount(name: string, credits: number, by: Actor = systemActor): Account {
      if (!isCredits(credits)) throw new RangeError('credits of a new account must be a whole number from 0')
      const empty = {
        accountId: ids.next('acct'),
        name,
        available: 0,
        held: 0,
        createdAtMs: nowMs(),
        entryCount: 0,
        jobCount: 0,
        queuedJobs: 0,
        ledgerHead: null,
        limits: null,
        ...newlyActive,
      }
      insert.run(empty.accountId, name, empty.createdAtMs)
      const posting = credits > 0 ? grant(empty, credits) : null
      if (posting !== null) post(empty, [posting], noJob, null)
      const { accountId } = empty
      const after = { name, available: credits }
      record({ act: 'account.created', subject: accountId, accountId, before: null, after }, by)
      return toPosted(empty, posting ?? undefined)
    },

    changeAccountLimits(accountId: string, change: Partial<Limits>, by: Actor = systemActor): Account | null {
      const account = findAccount(accountId)
      if (account === null) return null
      const limits = toLimitsText({ ...parseLimits(account.limits), ...change })
      setLimits.run(limits, accountId)
      record({ act: 'account.limited', subject: accountId, accountId, ...limitsAudit(account.limits, limits) }, by)
      return toPosted({ ...account, limits })
    },

    grantCredits(
      accountId: string,
      credits: number,
      note: string | null,
      by: Actor = systemActor,
      reference: string | null = null,
    ): GrantOutcome {
      if (!isCredits(credits) || credits === 0) throw new RangeError('credits of a grant must be a whole number from 1')
      const account = findAccount(accountId)
      const made = account && reference !== null && findGrant.get(reference)
      if (made) {
        if (!isSameGrant(made, { accountId, credits })) return { outcome: 'reference_reused', entry: made }
        return { outcome: 'done', account: toPosted(account), entry: made, replayed: true }
      }
      if (account?.status === 'closed') return { outcome: 'closed' }
      const changed = change('grant', accountId, credits, note, by, reference)
      if (changed.outcome !== 'done') return changed
      const number = (account?.entryCount ?? 0) + 1
      if (reference !== null) insertReference.run(reference, accountId, number)
      return { ...changed, entry: findEntry.get(accountId, number) as LedgerEntry, replayed: false }
    },

    adjustCredits(accountId: string, credits: number, note: string, by: Actor = systemActor): AdjustOutcome {
      if (!Number.isSafeInteger(credits) || credits === 0)
        throw new RangeError('credits of an adjustment must be a whole number other than 0')
      return change('adjust', accountId, credits, note, by)
    },
  }
}

export function createAccountReads(db: Connection) {
  const find = db.prepare<[string], AccountRow>(`SELECT ${accountColumns} FROM accounts WHERE account_id = ?`)
  const named = db.prepare<[string, number], AccountRow>(
    `SELECT ${accountColumns} FROM accounts WHERE name = ? ORDER BY account_id LIMIT ?`,
  )
  const pages = createPages<AccountRow>(db, accountColumns, 'accounts', 'account_id')
  return {
    getAccount(accountId: string): Account | null {
      const row = find.get(accountId)
      return row === undefined ? null : toAccount(row)
    },
    findAccounts: (name: string, limit: number): readonly Account[] => named.all(name, limit).map(toAccount),
    listAccounts(page: PageRequest): Page<Account> {
      const { items, total } = pages.read([], {}, page)
      return { items: items.map(toAccount), total }
    },
  }
}

// Accounts: created, read, and credited or debited.
import { type Act, type Actor, systemActor } from '../../core/accounts/audit.ts'
import { adjust, grant, isCredits } from '../../core/credits/ledger.ts'
import type { Page, PageRequest } from '../../core/page.ts'
import type { Account, AdjustOutcome } from '../../core/store.ts'
import { accountColumns, type AccountState, accountStateColumns, toAccount } from '../rows.ts'
import { createAuditWriter } from './audit.ts'
import type { Connection } from './connection.ts'
import { createLedgerWriter } from './ledger.ts'
import { createPages } from './pages.ts'
import type { Writing } from './writing.ts'

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
  const insert = db.prepare<[string, string, number]>(
    'INSERT INTO accounts (account_id, name, created_at) VALUES (?, ?, ?)',
  )

  const changes = {
    grant: { act: 'credits.granted', rule: grant },
    adjust: { act: 'credits.adjusted', rule: adjust },
  } as const satisfies Record<string, { act: Act; rule: typeof grant }>

  function change(
    kind: keyof typeof changes,
    accountId: string,
    credits: number,
    note: string | null,
    by: Actor,
  ): AdjustOutcome {
    const { act, rule } = changes[kind]
    const account = findAccount(accountId)
    if (account === null) return { outcome: 'no_account' }
    const posting = rule(account, credits)
    if (posting === null) return { outcome: 'out_of_range', available: account.available }
    post(account, [posting], null, note)
    const { available, held } = account
    const after = { ...posting.after, credits, note }
    record({ act, subject: accountId, accountId, before: { available, held }, after }, by)
    return { outcome: 'done', account: toAccount(account, posting) }
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
      }
      insert.run(empty.accountId, name, empty.createdAtMs)
      const posting = credits > 0 ? grant(empty, credits) : null
      if (posting !== null) post(empty, [posting], null, null)
      const { accountId } = empty
      const after = { name, available: credits }
      record({ act: 'account.created', subject: accountId, accountId, before: null, after }, by)
      return toAccount(empty, posting ?? undefined)
    },

    grantCredits(accountId: string, credits: number, note: string | null, by: Actor = systemActor): AdjustOutcome {
      if (!isCredits(credits) || credits === 0) throw new RangeError('credits of a grant must be a whole number from 1')
      return change('grant', accountId, credits, note, by)
    },

    adjustCredits(accountId: string, credits: number, note: string, by: Actor = systemActor): AdjustOutcome {
      if (!Number.isSafeInteger(credits) || credits === 0)
        throw new RangeError('credits of an adjustment must be a whole number other than 0')
      return change('adjust', accountId, credits, note, by)
    },
  }
}

export function createAccountReads(db: Connection) {
  const find = db.prepare<[string], Account>(`SELECT ${accountColumns} FROM accounts WHERE account_id = ?`)
  const pages = createPages<Account>(db, accountColumns, 'accounts', 'account_id')
  return {
    getAccount: (accountId: string): Account | null => find.get(accountId) ?? null,
    listAccounts: (page: PageRequest): Page<Account> => pages.read([], {}, page),
  }
}

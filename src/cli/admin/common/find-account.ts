// Finds the account that an operator names, by its id or its name.
import type { Account } from '../../../../gen/mediagen/v1/admin_pb.ts'
import { StartupError } from '../../../core/errors.ts'
import { pageBounds } from '../../../core/page.ts'
import { escapeHidden } from '../../../core/text/hidden-characters.ts'
import type { Printed } from '../../user/print.ts'
import { readAll } from './act.ts'
import type { Admin } from './installation.ts'

/**
 * The id of an account: ids are taken as they are, names are looked up, as they are written or else in other cases.
 * @throws StartupError when no account has the name, or several
 */
export async function findAccount(admin: Admin, written: string): Promise<string> {
  if (/^acct_\w+$/.test(written)) return written
  const accounts = await readAll('accounts', admin.listAccounts)
  const exact = accounts.filter(({ name }) => name === written)
  const found = exact.length > 0 ? exact : accounts.filter(({ name }) => fold(name) === fold(written))
  const [account, other] = found
  const quoted = `"${escapeHidden(written)}"`
  if (account === undefined)
    throw new StartupError(`There is no account ${quoted}; “mediagen admin accounts list” shows all.`)
  if (other !== undefined)
    throw new StartupError(`${found.length} accounts are called ${quoted}; give an id: ${found.map(toId).join(', ')}.`)
  return account.accountId
}

/** The same for the option of a list, where it may be missing. */
export async function findAccountFilter(admin: Admin, written = ''): Promise<string> {
  return written === '' ? '' : findAccount(admin, written)
}

/** The names of accounts by their ids; of the newest only, as many as one page has. */
export async function readAccountNames(admin: Admin): Promise<ReadonlyMap<string, string>> {
  const { accounts } = await admin.listAccounts({ limit: pageBounds.largestLimit })
  return new Map(accounts.map(({ accountId, name }) => [accountId, name]))
}

/** Rows of a table with the names of their accounts, or their ids where no name is known. */
export function withAccounts(rows: readonly Printed[], names: ReadonlyMap<string, string>): readonly Printed[] {
  return rows.map((row) => {
    const id = row['account_id'] as string | null
    return { account: id === null ? null : (names.get(id) ?? id), ...row }
  })
}

function toId({ accountId }: Account): string {
  return accountId
}

function fold(name: string): string {
  return name.trim().toLowerCase()
}

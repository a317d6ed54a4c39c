// The operator's accounts: created, read, renamed, frozen, unfrozen, closed.
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { AccountChange } from '../../core/accounts/account-status.ts'
import type { Actor } from '../../core/accounts/audit.ts'
import { MediagenError } from '../../core/errors.ts'
import type { Account, Store } from '../../core/store.ts'
import { accountClosed, accountNotFound } from '../account.ts'
import { findEmpty, findText, longestName, longestNote, readPage, refuse, toCredits } from '../calls/request.ts'
import { toAccountMessage } from '../messages/convert.ts'

// More accounts with one name are not named.
const mostNamed = 10

/** Creates the operator's part, for AdminService. */
export function createAccountAdmin(
  store: Pick<Store, 'createAccount' | 'listAccounts' | 'getAccount' | 'findAccounts' | 'changeAccount'>,
  by: (context: HandlerContext) => Actor,
) {
  async function change(accountId: string, wanted: AccountChange, context: HandlerContext) {
    const changed = await store.changeAccount(accountId, wanted, by(context))
    switch (changed.outcome) {
      case 'done':
        return { account: toAccountMessage(changed.account), revokedKeys: changed.revokedKeys }
      case 'no_account':
        throw accountNotFound(accountId)
      case 'closed':
        throw accountClosed(accountId)
      case 'busy': {
        const { openJobs } = changed
        const jobs = openJobs === 1 ? '1 job that has' : `${openJobs} jobs that have`
        throw new MediagenError(
          'job_not_ended',
          `The account "${accountId}" has ${jobs} not ended or ${openJobs === 1 ? 'is' : 'are'} under review. Freeze it, cancel or resolve them, then close it. Nothing was changed.`,
        )
      }
    }
  }

  return {
    async createAccount(request, context) {
      const credits = toCredits(request.credits)
      const violations = findNameFaults(request.name)
      if (credits === null || credits < 0) violations.push({ pointer: '/credits', detail: 'must be 0 to 2^53 - 1' })
      refuse(violations)
      return { account: toAccountMessage(await store.createAccount(request.name, credits as number, by(context))) }
    },

    async listAccounts(request) {
      const { items, total } = await store.listAccounts(readPage(request))
      return { accounts: items.map(toAccountMessage), total }
    },

    async inspectAccount({ accountId, name }) {
      if ((accountId === '') === (name === ''))
        refuse([{ pointer: '/account_id', detail: 'or /name is required, and not both' }])
      const account = accountId === '' ? await findNamed(store, name) : await store.getAccount(accountId)
      if (!account) throw accountNotFound(accountId)
      return { account: toAccountMessage(account) }
    },

    async renameAccount({ accountId, name }, context) {
      refuse(findNameFaults(name))
      return change(accountId, { name }, context)
    },

    async freezeAccount({ accountId, reason }, context) {
      refuse([...findEmpty({ reason }), ...findText('reason', reason, longestNote)])
      return change(accountId, { status: 'frozen', statusReason: reason }, context)
    },

    async unfreezeAccount({ accountId, reason }, context) {
      refuse(findText('reason', reason, longestNote))
      return change(accountId, { status: 'active', statusReason: reason || null }, context)
    },

    async closeAccount({ accountId, reason }, context) {
      refuse([...findEmpty({ reason }), ...findText('reason', reason, longestNote)])
      return change(accountId, { status: 'closed', statusReason: reason }, context)
    },
  } satisfies Partial<ServiceImpl<typeof AdminService>>
}

function findNameFaults(name: string) {
  return [...findEmpty({ name }), ...findText('name', name, longestName)]
}

async function findNamed(store: Pick<Store, 'findAccounts'>, name: string): Promise<Account> {
  const found = await store.findAccounts(name, mostNamed + 1)
  const [account, ...others] = found
  if (!account)
    throw new MediagenError('account_not_found', `There is no account with the name ${JSON.stringify(name)}.`)
  if (others.length > 0) {
    const ids = found.slice(0, mostNamed).map(({ accountId }) => accountId)
    const rest = found.length > mostNamed ? ' and others' : ''
    const detail = `is the name of ${ids.join(', ')}${rest}; use an id`
    refuse([{ pointer: '/name', detail }])
  }
  return account
}

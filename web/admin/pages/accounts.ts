// Accounts: who has how many credits; to create one.
import type { Account } from '../../../gen/mediagen/v1/admin_pb.ts'
import { button, element } from '../../element.ts'
import { openCreateAccount } from '../account-acts.ts'
import { pageFrame, type PageDeps } from '../deps.ts'
import { describeLimits } from '../limit-fields.ts'
import { createLiveTable } from '../live-table.ts'
import { toHash } from '../route.ts'
import { emptyNote } from '../table.ts'
import { badge, codeOf, describeAccountStatus, formatNumber, timeOf } from '../words.ts'

export function accountsPage(deps: PageDeps): HTMLElement {
  const { admin, names } = deps
  const create = (): void => openCreateAccount(deps, ({ accountId }) => (location.hash = toHash('accounts', accountId)))
  const table = createLiveTable<Account>(deps, {
    label: 'Accounts',
    noun: ['account', 'accounts'],
    keyOf: ({ accountId }) => accountId,
    columns: [
      {
        title: 'Account',
        kind: 'wide',
        cell: ({ accountId, name }) => [element('a', { href: toHash('accounts', accountId) }, name), codeOf(accountId)],
      },
      { title: 'State', cell: ({ status }) => badge(describeAccountStatus(status)) },
      { title: 'Available', kind: 'number', cell: ({ available }) => formatNumber(available) },
      { title: 'Held', kind: 'number', cell: ({ held }) => formatNumber(held) },
      { title: 'Limits', kind: 'name', cell: ({ limits }) => describeLimits(limits) },
      { title: 'Created', cell: ({ createdAt }) => timeOf(createdAt) },
    ],
    empty: () =>
      emptyNote(
        'There are no accounts yet. An account owns credits and API keys: one for each customer or team.',
        button('Create the first account', create, { icon: 'plus', look: 'primary' }),
      ),
    async read(page, signal) {
      const { accounts, total } = await admin.listAccounts(page, { signal })
      names.note(accounts)
      return { rows: accounts, total }
    },
  })
  return pageFrame(
    'Accounts',
    {
      lead: 'Who uses this server, and what they may spend.',
      actions: [button('Create account', create, { icon: 'plus', look: 'primary' })],
    },
    table.element,
  )
}

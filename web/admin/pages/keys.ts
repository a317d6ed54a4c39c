// API keys: whose they are, what they may do and spend, when they were last used.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Key } from '../../../gen/mediagen/v1/admin_pb.ts'
import { button, element } from '../../element.ts'
import { pageFrame, type PageDeps } from '../deps.ts'
import { createFilters } from '../filters.ts'
import { openCreateKeys, openKeyLimits, openRevoke } from '../key-acts.ts'
import { describeLimits } from '../limit-fields.ts'
import { createLiveTable, type LiveTable } from '../live-table.ts'
import { emptyNote } from '../table.ts'
import { badge, formatDay, namePermissions, timeOf } from '../words.ts'

export function keysPage(deps: PageDeps): HTMLElement {
  const { names, route } = deps
  const filters = createFilters(
    'keys',
    route.query,
    [{ name: 'account', label: 'Account', options: names.all(), all: 'All accounts' }],
    () => table.restart(),
  )
  const table = keyTable(deps, () => filters.get('account'), true)
  return pageFrame(
    'Keys',
    {
      lead: 'What programs and people sign in with. The text of a key is shown once, when it is made.',
      actions: [
        button('Create keys', () => void openCreateKeys(deps, filters.get('account'), () => void table.refresh()), {
          icon: 'plus',
          look: 'primary',
        }),
      ],
    },
    filters.element,
    table.element,
  )
}

/** The keys of an account, or of all. */
export function keyTable(deps: PageDeps, account: () => string, withAccount: boolean): LiveTable {
  const { admin, names } = deps
  const refresh = (): void => void table.refresh()
  const table: LiveTable = createLiveTable<Key>(deps, {
    label: 'API keys',
    noun: ['key', 'keys'],
    keyOf: ({ keyId }) => keyId,
    columns: [
      {
        title: 'Key',
        kind: 'name',
        cell: ({ name, prefix }) => [
          name ? element('strong', {}, name) : element('span', { class: 'fine' }, 'without a name'),
          // A person who signs in has no text to tell apart.
          prefix === 'mgs_'
            ? element('span', { class: 'fine' }, 'signs in')
            : element('code', { class: 'id' }, `${prefix}…`),
        ],
      },
      ...(withAccount
        ? [{ title: 'Account', kind: 'name' as const, cell: ({ accountId }: Key) => names.link(accountId) }]
        : []),
      {
        title: 'May',
        kind: 'wide',
        cell: ({ permissions }) => element('span', { class: 'small' }, namePermissions(permissions)),
      },
      { title: 'Limits', kind: 'name', cell: ({ limits }) => describeLimits(limits) },
      { title: 'Last used', cell: ({ lastUsedAt }) => timeOf(lastUsedAt, 'never') },
      { title: 'State', cell: describeState },
      {
        title: 'Actions',
        kind: 'acts',
        cell: (key) =>
          key.revokedAt
            ? null
            : element(
                'span',
                { class: 'row-actions' },
                button('Limits', () => openKeyLimits(deps, key, refresh), { look: 'quiet small' }),
                button('Revoke', () => openRevoke(deps, key, refresh), { look: 'quiet small' }),
              ),
      },
    ],
    empty: () =>
      emptyNote(
        'There are no keys here. Whoever uses this server needs one.',
        button('Create keys', () => void openCreateKeys(deps, account(), refresh), { icon: 'plus', look: 'primary' }),
      ),
    async read(page, signal) {
      const { keys, total } = await admin.listKeys({ accountId: account(), ...page }, { signal })
      if (withAccount) await names.learn(keys.map(({ accountId }) => accountId))
      return { rows: keys, total }
    },
  })
  return table
}

function describeState({ revokedAt, expiresAt, createdAt }: Key): Node[] {
  const since = (words: string): Node => element('span', { class: 'fine nowrap' }, words)
  if (revokedAt) return [badge({ word: 'revoked', tone: 'still' }), since(formatDay(revokedAt))]
  if (expiresAt && timestampMs(expiresAt) <= Date.now())
    return [badge({ word: 'expired', tone: 'still' }), since(formatDay(expiresAt))]
  const until = expiresAt ? `until ${formatDay(expiresAt)}` : createdAt ? `since ${formatDay(createdAt)}` : ''
  return [badge({ word: 'active', tone: 'good' }), since(until)]
}

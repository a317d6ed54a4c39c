// The overview of the account: its credits, this month, its keys and webhooks, and the limits that apply to it.
import { element, linkButton } from '../element.ts'
import { formatBytes } from '../job-words.ts'
import type { AccountRecord, KeyRecord, ListRecord, OwnKeyRecord, WalletRecord, WebhookRecord } from '../records.ts'
import { type Route, toHash } from '../route.ts'
import type { ViewDeps } from '../view-deps.ts'
import { accountPage, filled } from './account-page.ts'
import { describeLeft, describeRights, findState } from './key-words.ts'
import { fillSessions } from './sessions.ts'
import { formatMoney, monthChart, readUsage } from './usage-chart.ts'

const longestList = 500
// Of keys that are people, who have no text.
const signedInPrefix = 'mgs_'

export function accountView(deps: ViewDeps): HTMLElement {
  const { api, signal } = deps
  const title = element('h1', {}, 'Account')
  const content = element('div', { class: 'overview' })
  const load = filled(
    content,
    () => api.get<AccountRecord>('/v1/account', { signal }),
    (account) => {
      title.textContent = account.name
      const may = (right: KeyRecord['permissions'][number]): boolean => account.key.permissions.includes(right)
      return [
        may('wallet:read') ? credits(deps) : null,
        ownKey(deps),
        may('wallet:read') ? month(deps) : null,
        may('wallet:read') ? keys(deps) : null,
        may('webhooks') ? webhooks(deps) : null,
        account.key.prefix === signedInPrefix ? sessions(deps) : null,
        limits(account),
      ]
    },
  )
  void load()
  return accountPage('account', title, content)
}

/** A part of the page with a way to its own page. */
function panel(
  heading: string,
  to: { readonly view: Route['view']; readonly words: string } | null,
  look: string,
  fillWith: (body: HTMLElement) => () => Promise<void>,
): HTMLElement {
  const body = element('div', {})
  void fillWith(body)()
  return element(
    'section',
    { class: `panel ${look}` },
    element(
      'header',
      { class: 'panel-bar' },
      element('h2', {}, heading),
      to && element('a', { href: toHash({ view: to.view } as Route) }, to.words),
    ),
    body,
  )
}

function credits({ api, signal }: ViewDeps): HTMLElement {
  return panel('Credits', { view: 'wallet', words: 'History' }, '', (body) =>
    filled(
      body,
      () => api.get<WalletRecord>('/v1/wallet', { signal }),
      ({ available, held }) => [
        element('p', { class: 'big-figure' }, format(available)),
        element(
          'p',
          { class: 'fine' },
          held === 0 ? 'available' : `available, ${format(held)} held for running generations`,
        ),
      ],
    ),
  )
}

function month({ api, signal }: ViewDeps): HTMLElement {
  return panel('This month', { view: 'usage', words: 'Usage' }, 'wide', (body) =>
    filled(
      body,
      () => readUsage(api, 'day', '', signal),
      ({ data, sum, from }) => {
        const cost = formatMoney(sum.cost)
        return [
          monthChart(data, from.slice(0, 7)),
          cost === null ? null : element('p', { class: 'fine' }, `That is ${cost}.`),
        ]
      },
    ),
  )
}

function keys({ api, signal }: ViewDeps): HTMLElement {
  return panel('Keys', { view: 'keys', words: 'Manage' }, '', (body) =>
    filled(
      body,
      () => api.get<ListRecord<KeyRecord>>(`/v1/account/keys?limit=${longestList}`, { signal }),
      ({ data, has_more }) => {
        const active = data.filter((key) => findState(key, Date.now()) === 'active').length
        const ended = data.length - active
        return [
          element('p', { class: 'big-figure' }, `${format(active)}${has_more ? '+' : ''}`),
          element('p', { class: 'fine' }, ended === 0 ? 'active' : `active, ${format(ended)} revoked or expired`),
        ]
      },
    ),
  )
}

function webhooks({ api, signal }: ViewDeps): HTMLElement {
  return panel('Webhooks', { view: 'webhooks', words: 'Manage' }, '', (body) =>
    filled(
      body,
      () => api.get<ListRecord<WebhookRecord>>(`/v1/webhooks?limit=${longestList}`, { signal }),
      ({ data }) => {
        const off = data.filter(({ disabled_at }) => disabled_at !== null).length
        if (data.length === 0)
          return [
            element('p', { class: 'fine' }, 'Have your server told when a generation ends.'),
            linkButton('Add a webhook', toHash({ view: 'webhooks' }), { look: 'quiet small' }),
          ]
        return [
          element('p', { class: 'big-figure' }, format(data.length)),
          element('p', { class: off > 0 ? 'field-error' : 'fine' }, off > 0 ? `${format(off)} turned off` : 'in use'),
        ]
      },
    ),
  )
}

function sessions(deps: ViewDeps): HTMLElement {
  return panel('Signed in on these browsers', null, 'wide', (body) => fillSessions(deps, body))
}

/** The key that is used here: what it may do, and what is left of its limits. */
function ownKey({ api, signal }: ViewDeps): HTMLElement {
  return panel('The key in use here', null, '', (body) =>
    filled(
      body,
      () => api.get<OwnKeyRecord>('/v1/key', { signal }),
      ({ name, prefix, permissions, left }) => [
        element(
          'p',
          {},
          name === null ? '' : `${name} `,
          prefix === signedInPrefix ? '' : element('code', {}, `${prefix}…`),
        ),
        element('p', { class: 'fine' }, `It may ${describeRights(permissions)}.`),
        ...left.map((state) =>
          element(
            'p',
            { class: 'fine' },
            element('meter', { min: 0, max: state.credits, value: state.left, 'aria-label': 'Left' }),
            ` ${describeLeft(state)}`,
          ),
        ),
      ],
    ),
  )
}

function limits({ limits: most }: AccountRecord): HTMLElement {
  const rows: readonly (readonly [string, string])[] = [
    [
      'Requests with this key',
      most.requests_per_second === null ? 'no limit' : `${format(most.requests_per_second)} a second`,
    ],
    [
      'Data in requests with this key',
      most.request_bytes_per_second === null ? 'no limit' : `${formatBytes(most.request_bytes_per_second)} a second`,
    ],
    ['One request, without files', formatBytes(most.request_bytes)],
    ['Generations in the queue', format(most.queued_jobs)],
    ['Generations watched at once', format(most.open_watches)],
    ['One upload', formatBytes(most.upload_bytes)],
    ['All uploads together', formatBytes(most.stored_upload_bytes)],
    ['Webhooks', format(most.webhooks)],
    ['A price holds for', formatSpan(most.quote_seconds)],
    ['Files are kept for', formatSpan(most.retain_seconds)],
  ]
  return element(
    'details',
    { class: 'server-limits' },
    element('summary', {}, 'Limits of this server'),
    element('p', { class: 'fine' }, 'Its operator sets them.'),
    element(
      'dl',
      { class: 'limits' },
      ...rows.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
    ),
  )
}

function format(count: number): string {
  return count.toLocaleString('en-US')
}

/** "7 days", "90 minutes": in the largest unit that is exact. */
export function formatSpan(seconds: number): string {
  const [size, unit] = ([
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
  ].find(([size]) => seconds % Number(size) === 0) ?? [1, 'second']) as [number, string]
  const count = seconds / size
  return `${format(count)} ${unit}${count === 1 ? '' : 's'}`
}

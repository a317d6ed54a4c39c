// The account: its credits, its keys, its webhooks and the limits that apply to it.
import { type Api, isAbort } from './api.ts'
import { element } from './element.ts'
import { formatAge, formatBytes } from './job-words.ts'
import { problemNotice } from './problem-notice.ts'
import type { AccountRecord, KeyRecord, ListRecord, WalletRecord, WebhookRecord } from './records.ts'
import { toHash } from './route.ts'
import type { ViewDeps } from './view-deps.ts'

const longestList = 500
/** What keys may do, in words. */
const rights: Readonly<Record<string, string>> = {
  generate: 'generate',
  'models:read': 'see models',
  'jobs:read': 'see generations',
  'wallet:read': 'see credits and keys',
  webhooks: 'manage webhooks',
  admin: 'administer the server',
}

export function accountView({ api, signal }: ViewDeps): HTMLElement {
  document.title = 'Account · mediagen'
  const title = element('h1', {}, 'Account')
  const content = element('div', { class: 'account-parts', 'aria-busy': 'true' })

  async function load(): Promise<void> {
    try {
      const account = await api.get<AccountRecord>('/v1/account', { signal })
      title.textContent = account.name
      const { permissions } = account.key
      const may = (right: KeyRecord['permissions'][number]): boolean => permissions.includes(right)
      content.replaceChildren(
        ...(may('wallet:read') ? [credits(api, signal), keys(api, account, signal)] : [ownKey(account)]),
        ...(may('webhooks') ? [webhooks(api, signal)] : []),
        limits(account),
      )
    } catch (error) {
      if (isAbort(error)) return
      content.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
    content.removeAttribute('aria-busy')
  }
  void load()
  return element('section', { class: 'ledger' }, element('header', { class: 'page-head' }, title), content)
}

/** A part of the page, filled when its answer has come. */
function part<Answer>(heading: string, request: Promise<Answer>, fill: (answer: Answer) => Node[]): HTMLElement {
  const body = element('div', { 'aria-busy': 'true' })
  void request
    .then(
      (answer) => body.replaceChildren(...fill(answer)),
      (error: unknown) => {
        if (!isAbort(error)) body.replaceChildren(problemNotice(error))
      },
    )
    .finally(() => body.removeAttribute('aria-busy'))
  return element('section', {}, element('h2', {}, heading), body)
}

function credits(api: Api, signal: AbortSignal): HTMLElement {
  return part('Credits', api.get<WalletRecord>('/v1/wallet', { signal }), ({ available, held }) => [
    element(
      'p',
      {},
      `${available.toLocaleString('en-US')} available, ${held.toLocaleString('en-US')} held. `,
      element('a', { href: toHash({ view: 'wallet' }) }, 'History'),
    ),
  ])
}

function keys(api: Api, account: AccountRecord, signal: AbortSignal): HTMLElement {
  const request = api.get<ListRecord<KeyRecord>>(`/v1/account/keys?limit=${longestList}`, { signal })
  return part('Keys', request, ({ data, has_more }) => [
    keyTable(data, account.key.key_id),
    ...(has_more ? [element('p', { class: 'fine' }, `The newest ${longestList} are shown.`)] : []),
  ])
}

/** For a key that may not see the others. */
function ownKey({ key }: AccountRecord): HTMLElement {
  return element('section', {}, element('h2', {}, 'Your key'), keyTable([key], key.key_id))
}

function keyTable(all: readonly KeyRecord[], ownId: string): HTMLElement {
  const head = ['Key', 'Permissions', 'Created', 'Last used', 'State'].map((name) =>
    element('th', { scope: 'col' }, name),
  )
  return element(
    'div',
    { class: 'wide-table', tabindex: 0, role: 'region', 'aria-label': 'Keys' },
    element(
      'table',
      { class: 'keys' },
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...all.map((key) => toKeyRow(key, key.key_id === ownId))),
    ),
  )
}

function toKeyRow(key: KeyRecord, isOwn: boolean): HTMLElement {
  const { name, prefix, permissions, created_at, last_used_at } = key
  // A person who signs in has no text to tell apart.
  const beginning =
    prefix === 'mgs_' ? element('span', { class: 'fine' }, 'signs in') : element('code', {}, `${prefix}…`)
  const label = name === null ? [beginning] : [name, ' ', beginning]
  // The own key is in use now; its record says so up to a minute later.
  const used = isOwn ? 'now, here' : last_used_at === null ? 'never' : time(last_used_at)
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, ...label),
    element('td', {}, permissions.map((right) => rights[right] ?? right).join(', ')),
    element('td', {}, time(created_at)),
    element('td', {}, used),
    element('td', {}, ...describeState(key)),
  )
}

function describeState({ revoked_at, expires_at }: KeyRecord): (Node | string)[] {
  if (revoked_at !== null) return ['revoked ', time(revoked_at)]
  if (expires_at === null) return ['active']
  const ended = Date.parse(expires_at) <= Date.now()
  return [ended ? 'expired ' : 'active until ', ended ? time(expires_at) : toDay(expires_at)]
}

function webhooks(api: Api, signal: AbortSignal): HTMLElement {
  const request = api.get<ListRecord<WebhookRecord>>(`/v1/webhooks?limit=${longestList}`, { signal })
  return part('Webhooks', request, ({ data }) => {
    if (data.length === 0) {
      const how = element('a', { href: '/docs#/operation/createWebhook' }, 'How to register one')
      return [element('p', {}, 'This account has no webhooks. ', how)]
    }
    const lines = data.map(({ url, description, disabled_at }) =>
      element(
        'li',
        {},
        description ?? url,
        disabled_at === null ? null : ' (turned off, because it answered that it is gone)',
      ),
    )
    return [
      element('ul', {}, ...lines),
      element('p', {}, element('a', { href: toHash({ view: 'webhooks' }) }, 'Deliveries')),
    ]
  })
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
    'section',
    {},
    element('h2', {}, 'Limits'),
    element('p', { class: 'fine' }, 'The operator of this server sets them.'),
    element(
      'dl',
      { class: 'limits' },
      ...rows.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
    ),
  )
}

function time(at: string): HTMLElement {
  return element('time', { datetime: at, title: at }, formatAge(at, Date.now()))
}

function toDay(at: string): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
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

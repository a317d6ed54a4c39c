// The webhook endpoints of the account, and what was delivered to each.
import { type Api, isAbort } from './api.ts'
import { element, icon } from './element.ts'
import { formatAge } from './job-words.ts'
import { problemNotice } from './problem-notice.ts'
import type { DeliveryRecord, ListRecord, WebhookRecord } from './records.ts'
import { toHash } from './route.ts'
import type { ViewDeps } from './view-deps.ts'

const recentDeliveries = 20

export function webhooksView({ api, signal }: ViewDeps): HTMLElement {
  document.title = 'Webhooks · mediagen'
  const list = element('div', { class: 'webhooks', 'aria-busy': 'true' })

  async function load(): Promise<void> {
    try {
      const { data } = await api.get<ListRecord<WebhookRecord>>('/v1/webhooks?limit=500', { signal })
      list.replaceChildren(...data.map((webhook) => endpoint(webhook, api, signal)))
      if (data.length === 0) list.replaceChildren(element('p', { class: 'empty' }, 'This account has no webhooks.'))
    } catch (error) {
      if (isAbort(error)) return
      list.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
    list.removeAttribute('aria-busy')
  }
  void load()
  return element(
    'section',
    { class: 'ledger' },
    element('a', { class: 'back', href: toHash({ view: 'account' }) }, icon('back'), 'Account'),
    element('header', { class: 'page-head' }, element('h1', {}, 'Webhooks')),
    list,
  )
}

function endpoint(webhook: WebhookRecord, api: Api, signal: AbortSignal): HTMLElement {
  const rows = element('tbody', {})
  const state = element('p', { class: 'fine', role: 'status' }, 'Loading deliveries …')
  const table = element(
    'table',
    { hidden: true },
    element(
      'thead',
      {},
      element('tr', {}, ...['When', 'What', 'State'].map((name) => element('th', { scope: 'col' }, name))),
    ),
    rows,
  )
  const path = `/v1/webhooks/${encodeURIComponent(webhook.webhook_id)}/deliveries?limit=${recentDeliveries}`
  void api.get<ListRecord<DeliveryRecord>>(path, { signal }).then(
    ({ data }) => {
      rows.replaceChildren(...data.map(toRow))
      table.hidden = data.length === 0
      state.textContent = data.length === 0 ? 'Nothing has been sent to it yet.' : ''
    },
    (error: unknown) => {
      if (!isAbort(error)) state.replaceChildren(problemNotice(error))
    },
  )
  const disabled = webhook.disabled_at
  return element(
    'article',
    {},
    element('h2', {}, webhook.description ?? webhook.url),
    webhook.description && webhook.url ? element('p', { class: 'fine' }, webhook.url) : null,
    disabled === null
      ? null
      : element(
          'p',
          { class: 'field-error' },
          icon('warning'),
          `It answered ${formatAge(disabled, Date.now())} that it is gone, so nothing more is sent to it.`,
        ),
    state,
    table,
  )
}

function toRow(delivery: DeliveryRecord): HTMLElement {
  const { error, status } = delivery
  return element(
    'tr',
    { 'data-status': status },
    element(
      'td',
      {},
      element(
        'time',
        { datetime: delivery.created_at, title: delivery.created_at },
        formatAge(delivery.created_at, Date.now()),
      ),
    ),
    element(
      'td',
      {},
      element('a', { href: toHash({ view: 'job', id: delivery.job_id }) }, delivery.type),
      error === null ? null : element('span', { class: 'fine' }, ` · ${error}`),
    ),
    element('td', { class: 'number' }, describeState(delivery)),
  )
}

function describeState({ status, attempts: { length } }: DeliveryRecord): string {
  const times = length === 1 ? '1 attempt' : `${length} attempts`
  if (status === 'delivered') return length === 1 ? 'Delivered' : `Delivered after ${times}`
  if (status === 'failed') return `Given up after ${times}`
  return length === 0 ? 'Being sent' : `To be sent again after ${times}`
}

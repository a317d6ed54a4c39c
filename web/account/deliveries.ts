// What was sent to a webhook endpoint: the newest deliveries, with what came of them, and a way to send one again.
import { type Api, isAbort } from '../api.ts'
import { button, element } from '../element.ts'
import { describeAge, moment } from '../moment.ts'
import { problemNotice } from '../problem-notice.ts'
import type { DeliveryRecord, ListRecord } from '../records.ts'
import { toHash } from '../route.ts'

const firstCount = 5
const moreCount = 20
const refreshMs = 2000
// What is sent again is usually answered in seconds; what waits longer shows when it is tried next.
const mostRefreshes = 15

const eventWords: Readonly<Record<string, string>> = {
  'job.succeeded': 'Generation done',
  'job.failed': 'Generation failed',
  'job.canceled': 'Generation canceled',
  'job.expired': 'Generation expired',
  'job.needs_review': 'Generation in review',
}

/** The deliveries to an endpoint. */
export function deliveryList(api: Api, webhookId: string, signal: AbortSignal): HTMLElement {
  const path = `/v1/webhooks/${encodeURIComponent(webhookId)}/deliveries`
  const rows = element('ul', { class: 'deliveries' })
  const state = element('p', { class: 'fine', role: 'status' }, 'Loading deliveries …')
  const trouble = element('div', {})
  const more = button('Show more', () => void load(shown + moreCount), { look: 'quiet small' })
  let shown = firstCount
  let refreshes = 0
  more.hidden = true

  async function load(count = shown): Promise<void> {
    try {
      const { data, has_more } = await api.get<ListRecord<DeliveryRecord>>(`${path}?limit=${count}`, { signal })
      shown = count
      // A button that was pressed keeps the focus where it is.
      const focused = document.activeElement?.closest('[data-delivery]')?.getAttribute('data-delivery')
      rows.replaceChildren(...data.map(toRow))
      if (focused) rows.querySelector<HTMLElement>(`[data-delivery="${focused}"] .button`)?.focus()
      state.textContent =
        data.length === 0 ? 'Nothing has been sent to it yet. Send a test to see whether it answers.' : ''
      more.hidden = !has_more
    } catch (error) {
      if (isAbort(error)) return
      state.textContent = ''
      trouble.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
  }
  /** Looks again until what is under way has been answered. */
  function follow(): void {
    refreshes = mostRefreshes
    const timer = setInterval(() => {
      refreshes -= 1
      void load()
      if (refreshes <= 0 || !rows.querySelector('[data-status=pending]')) clearInterval(timer)
    }, refreshMs)
    signal.addEventListener('abort', () => clearInterval(timer))
  }
  async function resend({ delivery_id }: DeliveryRecord, clicked: HTMLButtonElement): Promise<void> {
    clicked.disabled = true
    trouble.replaceChildren()
    try {
      await api.post<DeliveryRecord>(`${path}/${encodeURIComponent(delivery_id)}/redeliver`)
      await load()
      follow()
    } catch (error) {
      clicked.disabled = false
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
    }
  }
  function toRow(delivery: DeliveryRecord): HTMLElement {
    const { status, type, job_id, created_at, error } = delivery
    const again = button('Send again', () => void resend(delivery, again), { look: 'bare small' })
    return element(
      'li',
      { 'data-status': status, 'data-delivery': delivery.delivery_id },
      element('span', { class: 'delivery-state' }, element('span', { class: 'dot' }), describeStatus(delivery)),
      element(
        'span',
        { class: 'delivery-what' },
        element('a', { href: toHash({ view: 'job', id: job_id }) }, eventWords[type] ?? type),
        ' ',
        element('span', { class: 'fine' }, moment(created_at)),
        error === null ? null : element('span', { class: 'fine delivery-error' }, `${error} ${describeNext(delivery)}`),
      ),
      again,
    )
  }
  void load()
  return element('div', {}, state, rows, trouble, more)
}

/** One or two words: the details stand beside. */
export function describeStatus({ status, attempts: { length } }: DeliveryRecord): string {
  if (status === 'delivered') return 'Delivered'
  if (status === 'failed') return 'Given up'
  return length === 0 ? 'Being sent' : 'Retrying'
}

function describeNext({ attempts: { length }, next_attempt_at }: DeliveryRecord): string {
  const times = length === 1 ? 'Tried once' : `Tried ${length} times`
  if (next_attempt_at === null) return `${times}.`
  const next = describeAge(Date.parse(next_attempt_at), Date.now())
  return `${times}, next ${next?.startsWith('in ') ? next : 'soon'}.`
}

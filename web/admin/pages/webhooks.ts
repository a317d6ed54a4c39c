// Webhooks of all accounts: the endpoints, and what became of each delivery.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { type Delivery, DeliveryStatus, type Webhook } from '../../../gen/mediagen/v1/webhooks_pb.ts'
import { button, element } from '../../element.ts'
import { pageFrame, type PageDeps, section } from '../deps.ts'
import { openAct } from '../dialog.ts'
import { createFilters } from '../filters.ts'
import { createLiveTable, type LiveTable } from '../live-table.ts'
import { toHash } from '../route.ts'
import { emptyNote } from '../table.ts'
import { badge, countOf, formatDistance, type StateWords, timeOf } from '../words.ts'

const states: readonly (readonly [string, DeliveryStatus])[] = [
  ['pending', DeliveryStatus.PENDING],
  ['delivered', DeliveryStatus.DELIVERED],
  ['failed', DeliveryStatus.FAILED],
]

interface DeliveryFilter {
  readonly accountId?: string
  readonly jobId?: string
  readonly status?: DeliveryStatus
}

export function webhooksPage(deps: PageDeps): HTMLElement {
  const { names, route } = deps
  const filters = createFilters(
    'webhooks',
    route.query,
    [
      { name: 'status', label: 'Delivery', options: states.map(([word]) => [word, word]) },
      { name: 'account', label: 'Account', options: names.all(), all: 'All accounts' },
      { name: 'job', label: 'Job', placeholder: 'job_…' },
    ],
    () => {
      deliveries.restart()
      endpoints.restart()
    },
  )
  const deliveries = deliveryTable(deps, () => ({
    accountId: filters.get('account'),
    jobId: filters.get('job'),
    status: states.find(([word]) => word === filters.get('status'))?.[1] ?? DeliveryStatus.UNSPECIFIED,
  }))
  const endpoints = endpointTable(deps, () => filters.get('account'))
  return pageFrame(
    'Webhooks',
    { lead: 'The messages that tell programs of accounts that a job has ended.' },
    filters.element,
    section('Deliveries', deliveries.element),
    section('Endpoints', endpoints.element),
  )
}

/** Deliveries as a table. */
export function deliveryTable(deps: PageDeps, filter: () => DeliveryFilter): LiveTable {
  const { admin, names } = deps
  const table: LiveTable = createLiveTable<Delivery>(deps, {
    label: 'Webhook deliveries',
    noun: ['delivery', 'deliveries'],
    keyOf: ({ deliveryId }) => deliveryId,
    columns: [
      {
        title: 'Event',
        cell: ({ type, jobId }) => [
          element('strong', {}, type),
          element('a', { class: 'id', href: toHash('jobs', jobId) }, jobId),
        ],
      },
      {
        title: 'To',
        kind: 'wide',
        cell: ({ url, accountId }) => [element('span', { class: 'url' }, url), names.link(accountId)],
      },
      { title: 'State', cell: describeDelivery },
      { title: 'When', cell: ({ createdAt }) => timeOf(createdAt) },
      {
        title: 'Actions',
        kind: 'acts',
        cell: (delivery) =>
          button('Redeliver', () => openRedeliver(deps, delivery, () => void table.refresh()), {
            look: 'quiet small',
          }),
      },
    ],
    empty: () =>
      emptyNote(
        Object.values(filter()).some(Boolean) ? 'No deliveries match.' : 'Nothing has been sent to a webhook yet.',
      ),
    async read(page, signal) {
      const { deliveries, total } = await admin.findDeliveries({ ...filter(), ...page }, { signal })
      await names.learn(deliveries.map(({ accountId }) => accountId))
      return { rows: deliveries, total }
    },
  })
  return table
}

function describeDelivery({ status, attempts, error, nextAttemptAt }: Delivery): Node[] {
  const state: StateWords =
    status === DeliveryStatus.DELIVERED
      ? { word: 'delivered', tone: 'good' }
      : status === DeliveryStatus.FAILED
        ? { word: 'failed', tone: 'bad' }
        : { word: 'pending', tone: 'busy' }
  const lines = attempts.map(({ attemptedAt, responseStatus, error: why, durationSeconds }) =>
    element(
      'li',
      {},
      `${attemptedAt ? timestampDate(attemptedAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' }) : ''}: ${why ?? `HTTP ${responseStatus ?? ''}`}, after ${durationSeconds.toFixed(1)} s`,
    ),
  )
  return [
    badge(state),
    ...(error ? [element('span', { class: 'fine remark', title: error }, error)] : []),
    ...(nextAttemptAt ? [element('span', { class: 'fine' }, `next attempt ${formatDistance(nextAttemptAt)}`)] : []),
    ...(lines.length > 0
      ? [
          element(
            'details',
            { class: 'attempts fine' },
            element('summary', {}, countOf(attempts.length, 'attempt')),
            element('ul', {}, ...lines),
          ),
        ]
      : []),
  ]
}

function openRedeliver({ admin }: PageDeps, { deliveryId, url, type }: Delivery, done: () => void): void {
  openAct({
    title: 'Send it again',
    intro: `${type} is sent to ${url} at once, with the full number of attempts. The receiver knows by its id if it has had it before.`,
    label: 'Redeliver',
    async run() {
      await admin.redeliver({ deliveryId })
    },
    done,
  })
}

function endpointTable(deps: PageDeps, account: () => string): LiveTable {
  const { admin, names } = deps
  return createLiveTable<Webhook>(deps, {
    label: 'Webhook endpoints',
    noun: ['endpoint', 'endpoints'],
    keyOf: ({ webhookId }) => webhookId,
    columns: [
      {
        title: 'Endpoint',
        kind: 'wide',
        cell: ({ url, description }) => [
          element('span', { class: 'url' }, url),
          description ? element('span', { class: 'fine' }, description) : null,
        ],
      },
      { title: 'Account', kind: 'name', cell: ({ accountId }) => names.link(accountId) },
      {
        title: 'State',
        cell: ({ disabledAt }) =>
          disabledAt
            ? [
                badge({ word: 'off', tone: 'bad' }),
                element('span', { class: 'fine' }, `answered ${formatDistance(disabledAt)} that it is gone`),
              ]
            : badge({ word: 'on', tone: 'good' }),
      },
      { title: 'Registered', cell: ({ createdAt }) => timeOf(createdAt) },
    ],
    empty: () =>
      emptyNote(
        'No endpoints are registered. Accounts register their own, with a key that has the permission webhooks.',
        element('a', { href: toHash('keys') }, 'Go to the keys'),
      ),
    async read(page, signal) {
      const { webhooks, total } = await admin.findWebhooks({ accountId: account(), ...page }, { signal })
      await names.learn(webhooks.map(({ accountId }) => accountId))
      return { rows: webhooks, total }
    },
  })
}

// What was charged: by account, day, model, key or label, as a chart, a table and a file.
import type { AccountUsage, FindUsageResponse } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { UsageSum } from '../../../gen/mediagen/v1/wallet_pb.ts'
import { offerTable } from '../../csv.ts'
import { button, element } from '../../element.ts'
import { drawChart, nameDay } from '../chart.ts'
import { failurePlace, pageFrame, type PageDeps } from '../deps.ts'
import { createFilters, type Filters } from '../filters.ts'
import { keepLive } from '../live.ts'
import { toHash } from '../route.ts'
import { createTable, emptyNote } from '../table.ts'
import { countOf, formatNumber } from '../words.ts'

const pauseMs = 30_000
const mostRows = 500
const mostDownloaded = 10_000
const recentJobs = 200

/** What rows are by; a label is `label:` and its name. */
const dimensions: readonly (readonly [string, string])[] = [
  ['account', 'account'],
  ['key', 'key'],
  ['model', 'model'],
  ['day', 'day'],
]
const periods: readonly (readonly [string, string])[] = [
  ['last-month', 'last month'],
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
  ['90', 'last 90 days'],
  ['365', 'last 365 days'],
  ['days', 'these days'],
]

export function usagePage(deps: PageDeps): HTMLElement {
  const { admin, names, route, signal } = deps
  const filters = createFilters(
    'usage',
    route.query,
    [
      { name: 'by', label: 'By', options: listDimensions(deps), all: 'account' },
      { name: 'period', label: 'Period', options: periods, all: 'this month' },
      { name: 'from', label: 'From', type: 'date' },
      { name: 'to', label: 'To', type: 'date' },
      { name: 'account', label: 'Account', options: names.all(), all: 'All accounts' },
    ],
    () => {
      showDays()
      void live.refresh()
    },
  )
  const sum = element('p', { class: 'usage-sum', role: 'status' })
  const chart = element('div', { class: 'chart-place' })
  const failure = failurePlace(() => void live.refresh())
  const csv = button('Download as CSV', () => void save(), { icon: 'download', look: 'quiet' })
  const place = element('div', { 'aria-busy': 'true' })
  let seen = ''

  const by = (): string => filters.get('by') || 'account'
  function showDays(): void {
    for (const name of ['from', 'to']) {
      const field = filters.element.querySelector<HTMLElement>(`[data-name=${name}]`)
      if (field) field.hidden = filters.get('period') !== 'days'
    }
  }
  const ask = () => ({ accountId: filters.get('account'), ...toPeriod(filters) })

  async function read(signal: AbortSignal): Promise<void> {
    const [asked, dimension] = [ask(), by()]
    const [rows, days] = await Promise.all([
      admin.findUsage({ ...asked, groupBy: toGroups(dimension), limit: mostRows }, { signal }),
      admin.findUsage({ ...asked, groupBy: toDailyGroups(dimension), limit: mostDownloaded }, { signal }),
    ])
    if (signal.aborted || dimension !== by()) return
    const now = JSON.stringify([asked, dimension, rows, days], (_name, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    place.removeAttribute('aria-busy')
    if (now === seen) return
    seen = now
    showUsage(rows, days, dimension)
  }
  function showUsage(rows: FindUsageResponse, days: FindUsageResponse, dimension: string): void {
    const { jobs = 0n, succeeded = 0n, charged = 0n, cost } = rows.sum ?? {}
    sum.replaceChildren(
      element('strong', {}, countOf(charged, 'credit')),
      `${cost ? ` (${cost.amount} ${cost.currency})` : ''} for ${countOf(jobs, 'job')}, ${formatNumber(succeeded)} succeeded · ${nameDay(rows.from)} – ${nameDay(rows.to)}, days of ${rows.timeZone}`,
    )
    csv.disabled = rows.rows.length === 0
    chart.hidden = charged === 0n
    const groups =
      dimension === 'day'
        ? ['credits']
        : rows.rows.filter(({ usage }) => usage?.charged).map((row) => nameGroup(row, dimension))
    chart.replaceChildren(
      drawChart(
        days.rows.map((row) => ({
          day: row.usage?.day ?? '',
          group: dimension === 'day' ? 'credits' : nameGroup(row, dimension),
          charged: row.usage?.charged ?? 0n,
        })),
        { from: rows.from, to: rows.to, groups: [...new Set(groups)] },
      ),
    )
    const table = usageTable(deps, dimension, rows.sum ?? {})
    table.show(rows.rows)
    place.replaceChildren(
      table.element,
      ...(rows.total > rows.rows.length
        ? [
            element(
              'p',
              { class: 'fine' },
              `The ${mostRows} highest of ${formatNumber(rows.total)} rows; the file has more.`,
            ),
          ]
        : []),
    )
  }
  async function save(): Promise<void> {
    csv.disabled = true
    try {
      await saveUsage(admin, ask(), by(), signal)
      failure.show(null)
    } catch (error) {
      failure.show(error)
    } finally {
      csv.disabled = false
    }
  }
  showDays()
  const live = keepLive(read, failure.showFor(place), signal, pauseMs)
  return pageFrame(
    'Usage',
    { lead: 'Who spent what. A job counts on the day of its start, when it has ended.', actions: [csv] },
    filters.element,
    failure.element,
    sum,
    chart,
    place,
  )
}

/** Saves each day of each group. */
async function saveUsage(
  admin: PageDeps['admin'],
  asked: { readonly accountId: string; readonly from: string; readonly to: string },
  dimension: string,
  signal: AbortSignal,
): Promise<void> {
  const { rows } = await admin.findUsage(
    { ...asked, groupBy: toDailyGroups(dimension), limit: mostDownloaded },
    { signal },
  )
  const names: Readonly<Record<string, readonly string[]>> = {
    account: ['account_id', 'account'],
    key: ['account_id', 'account', 'key_id', 'key'],
    day: [],
  }
  offerTable('usage', [
    ['day', ...(names[dimension] ?? [dimension]), 'jobs', 'succeeded', 'charged', 'cost', 'currency'],
    ...rows.map((row) => [
      row.usage?.day,
      ...toCells(row, dimension),
      row.usage?.jobs,
      row.usage?.succeeded,
      row.usage?.charged,
      row.usage?.cost?.amount,
      row.usage?.cost?.currency,
    ]),
  ])
}

/** The dimensions, with the labels that recent jobs have. */
async function listDimensions({ admin, signal }: PageDeps): Promise<readonly (readonly [string, string])[]> {
  const { jobs } = await admin.listAllJobs({ limit: recentJobs }, { signal }).catch(() => ({ jobs: [] }))
  const labels = [...new Set(jobs.flatMap((job) => Object.keys(job.labels)))].toSorted()
  return [...dimensions.slice(1), ...labels.map((name) => [`label:${name}`, `label ${name}`] as const)]
}

/** A key says more with its account. */
function toGroups(dimension: string): string[] {
  return dimension === 'key' ? ['account', 'key'] : [dimension]
}

function toDailyGroups(dimension: string): string[] {
  return dimension === 'day' ? ['day'] : ['day', ...toGroups(dimension)]
}

function nameGroup({ accountId, accountName, usage }: AccountUsage, dimension: string): string {
  if (dimension === 'account') return accountName || accountId || 'unknown'
  if (dimension === 'key')
    return usage?.keyName || (usage?.keyId ? `${usage.keyId}, without a name` : 'not known any more')
  if (dimension === 'model') return usage?.model || 'not known any more'
  if (dimension === 'day') return usage?.day ?? ''
  return usage?.labels[dimension.slice('label:'.length)] ?? 'without this label'
}

function toCells(row: AccountUsage, dimension: string): (string | undefined)[] {
  if (dimension === 'account') return [row.accountId, row.accountName]
  if (dimension === 'key') return [row.accountId, row.accountName, row.usage?.keyId, row.usage?.keyName]
  return dimension === 'day' ? [] : [nameGroup(row, dimension)]
}

function usageTable({ names }: PageDeps, dimension: string, { charged: sum = 0n, cost }: Partial<UsageSum>) {
  const hasCost = cost !== undefined
  const isByAccount = dimension === 'account' || dimension === 'key'
  const hasLink = dimension === 'account'
  return createTable<AccountUsage>({
    label: 'Usage',
    keyOf: (row) => `${row.accountId} ${row.usage?.keyId ?? ''} ${nameGroup(row, dimension)}`,
    columns: [
      {
        title: dimension.startsWith('label:')
          ? dimension.slice('label:'.length)
          : dimension[0]?.toUpperCase() + dimension.slice(1),
        kind: 'wide',
        cell: (row) =>
          hasLink
            ? element('a', { href: toHash('accounts', row.accountId) }, nameGroup(row, dimension))
            : dimension === 'day'
              ? nameDay(nameGroup(row, dimension))
              : nameGroup(row, dimension),
      },
      ...(isByAccount && !hasLink
        ? [
            {
              title: 'Account',
              kind: 'name' as const,
              cell: ({ accountId = '' }: AccountUsage) => names.link(accountId),
            },
          ]
        : []),
      { title: 'Jobs', kind: 'number', cell: ({ usage }) => formatNumber(usage?.jobs ?? 0n) },
      { title: 'Succeeded', kind: 'number', cell: ({ usage }) => formatNumber(usage?.succeeded ?? 0n) },
      { title: 'Credits', kind: 'number', cell: ({ usage }) => formatNumber(usage?.charged ?? 0n) },
      ...(hasCost
        ? [
            {
              title: 'Cost',
              kind: 'number' as const,
              cell: ({ usage }: AccountUsage) => (usage?.cost ? `${usage.cost.amount} ${usage.cost.currency}` : '–'),
            },
          ]
        : []),
      { title: 'Share', cell: ({ usage }) => shareBar(usage?.charged ?? 0n, sum) },
    ],
    empty: () =>
      emptyNote('No jobs ended in this period.', element('a', { href: toHash('jobs') }, 'See what runs now')),
  })
}

function shareBar(charged: bigint, sum: bigint): HTMLElement {
  const share = sum === 0n ? 0 : Number(charged) / Number(sum)
  const fill = element('i', {})
  fill.style.width = `${share * 100}%`
  return element(
    'span',
    { class: 'share-of-all' },
    element('span', { class: 'share-bar' }, fill),
    `${Math.round(share * 100)}%`,
  )
}

/** The days that are asked for; the server fills in what is empty. */
function toPeriod(filters: Filters): { from: string; to: string } {
  const period = filters.get('period')
  if (period === 'days') return { from: filters.get('from'), to: filters.get('to') }
  const now = new Date()
  const write = (date: Date): string =>
    `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  if (period === 'last-month') return { from: write(new Date(year, month - 1, 1)), to: write(new Date(year, month, 0)) }
  return period === '' ? { from: '', to: '' } : { from: write(new Date(year, month, day - Number(period) + 1)), to: '' }
}

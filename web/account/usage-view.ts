// What the account was charged: a month by day, and what it went to: by model, by key, by label or by day; and as a file.
import { isAbort } from '../api.ts'
import { shareBar } from '../chart.ts'
import { button, element } from '../element.ts'
import { problemNotice } from '../problem-notice.ts'
import type { JobRecord, ListRecord, ModelRecord, UsageRecord, UsageRowRecord } from '../records.ts'
import { toHash } from '../route.ts'
import { offerFile } from '../save-file.ts'
import type { ViewDeps } from '../view-deps.ts'
import { accountPage, nothingYet } from './account-page.ts'
import { daysOf, nameDay } from './month-chooser.ts'
import { addMoney, createUsageChart, describeSum, formatMoney, readUsage, sumUp } from './usage-chart.ts'

// Names of labels are looked for in so many of the latest jobs.
const jobsWithLabels = 500

interface Grouping {
  /** As the server calls it. */
  readonly id: string
  readonly words: string
}

const groupings: readonly Grouping[] = [
  { id: 'model', words: 'By model' },
  { id: 'key', words: 'By key' },
  { id: 'day', words: 'By day' },
]

export function usageView(deps: ViewDeps): HTMLElement {
  const { api, catalog, signal } = deps
  const totals = element('dl', { class: 'figures' })
  const table = element('div', { 'aria-busy': 'true' })
  const chips = element('div', { class: 'chips', role: 'group', 'aria-label': 'Grouped' })
  const csv = button('Download as CSV', () => void save(), { icon: 'download', look: 'quiet small' })
  const trouble = element('div', {})
  let month = ''
  let chosen = 'model'
  let turn = 0

  function offer(all: readonly Grouping[]): void {
    chips.replaceChildren(
      ...all.flatMap(({ id, words }, index) => [
        element('input', {
          type: 'radio',
          name: 'grouped',
          id: `grouped-${index}`,
          checked: id === chosen,
          onchange: () => {
            chosen = id
            void load()
          },
        }),
        element('label', { class: 'chip', for: `grouped-${index}` }, words),
      ]),
    )
  }
  async function load(): Promise<void> {
    const own = ++turn
    table.setAttribute('aria-busy', 'true')
    try {
      const [usage, models] = await Promise.all([
        readUsage(api, chosen, month, signal),
        catalog.models().catch(() => new Map<string, ModelRecord>()),
      ])
      if (own !== turn) return
      csv.hidden = usage.data.length === 0
      table.replaceChildren(
        usage.data.length === 0
          ? nothingYet(
              'Nothing in this month',
              'Generations count on the day of their start, once they have ended.',
              element('a', { class: 'button primary', href: '#/' }, 'Pick a model'),
            )
          : toTable(usage, chosen, models),
      )
    } catch (error) {
      if (isAbort(error)) return
      table.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
    table.removeAttribute('aria-busy')
  }
  async function save(): Promise<void> {
    csv.disabled = true
    trouble.replaceChildren()
    try {
      const [from = '', to = ''] = [daysOf(month)[0], daysOf(month).at(-1)]
      const query = new URLSearchParams({ from, to, group_by: chosen, format: 'csv' })
      const answer = await api.open(`/v1/usage?${query.toString()}`, { signal })
      offerFile(await answer.blob(), `usage-${month}-by-${chosen.replace('label:', '')}.csv`)
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
    } finally {
      csv.disabled = false
    }
  }
  const chart = createUsageChart(deps, (shown, usage, rows) => {
    const sum = sumUp(rows)
    // With a model chosen, its rows have the costs.
    const cost = shown.model === '' ? usage.sum.cost : addMoney(rows.map((row) => row.cost))
    totals.replaceChildren(
      figure('Charged', sum.charged.toLocaleString('en-US'), sum.charged === 1 ? 'credit' : 'credits'),
      ...(cost ? [figure('Cost', formatMoney(cost) ?? '', '')] : []),
      figure('Generations', sum.jobs.toLocaleString('en-US'), `${sum.succeeded.toLocaleString('en-US')} succeeded`),
    )
    if (shown.month === month) return
    month = shown.month
    void load()
  })
  offer(groupings)
  void findLabels(deps).then((names) => {
    const byLabel = names.map((name) => ({ id: `label:${name}`, words: `By label “${name}”` }))
    if (byLabel.length > 0) offer([...groupings, ...byLabel])
  })
  return accountPage(
    'usage',
    'Usage',
    totals,
    chart.element,
    element('div', { class: 'panel-bar' }, chips, csv),
    trouble,
    table,
  )
}

function figure(name: string, value: string, unit: string): HTMLElement {
  return element(
    'div',
    {},
    element('dt', {}, name),
    element('dd', {}, element('b', {}, value), unit ? element('span', { class: 'fine' }, ` ${unit}`) : null),
  )
}

/** The names of labels that the latest jobs have; none if the key may not see jobs. */
async function findLabels({ api, signal }: ViewDeps): Promise<string[]> {
  const { data } = await api
    .get<ListRecord<JobRecord>>(`/v1/jobs?limit=${jobsWithLabels}`, { signal })
    .catch(() => ({ data: [] as readonly JobRecord[] }))
  return [...new Set(data.flatMap(({ labels }) => Object.keys(labels)))].toSorted()
}

function toTable({ data, sum }: UsageRecord, grouping: string, models: ReadonlyMap<string, ModelRecord>): HTMLElement {
  const priced = sum.cost !== null
  const largest = Math.max(...data.map(({ charged }) => charged))
  const heads = [
    [nameGrouping(grouping), ''],
    ['', 'share-cell'],
    ['Generations', 'number'],
    ['Credits', 'number'],
    ...(priced ? [['Cost', 'number']] : []),
  ]
  return element(
    'div',
    { class: 'wide-table', tabindex: 0, role: 'region', 'aria-label': 'Usage' },
    element(
      'table',
      { class: 'usage-table' },
      element('thead', {}, element('tr', {}, ...heads.map(([words, look]) => headCell(words ?? '', look ?? '')))),
      element(
        'tbody',
        {},
        ...data.map((row) =>
          element(
            'tr',
            {},
            element('th', { scope: 'row' }, ...nameRow(row, grouping, models)),
            element('td', { class: 'share-cell' }, shareBar(row.charged, largest)),
            element('td', { class: 'number', title: describeSum(row) }, row.jobs.toLocaleString('en-US')),
            element('td', { class: 'number' }, row.charged.toLocaleString('en-US')),
            priced ? element('td', { class: 'number' }, formatMoney(row.cost) ?? '') : null,
          ),
        ),
      ),
    ),
  )
}

/** A column of bars repeats the one of credits, so it has no name. */
function headCell(words: string, look: string): HTMLElement {
  return words === '' ? element('td', { class: look }) : element('th', { scope: 'col', class: look }, words)
}

function nameGrouping(grouping: string): string {
  if (grouping.startsWith('label:')) return grouping.slice('label:'.length)
  return { model: 'Model', key: 'Key', day: 'Day' }[grouping] ?? grouping
}

function nameRow(
  { day, model, key_id, key_name, labels }: UsageRowRecord,
  grouping: string,
  models: ReadonlyMap<string, ModelRecord>,
): (Node | string)[] {
  if (grouping === 'day') return [day === null ? '' : nameDay(day)]
  if (grouping === 'key') {
    if (!key_id) return ['Not known any more']
    return key_name ? [key_name] : [element('code', {}, key_id), ', without a name']
  }
  if (grouping === 'model') {
    if (!model) return ['Not known any more']
    const name = models.get(model)?.name
    return name ? [element('a', { href: toHash({ view: 'model', id: model }) }, name)] : [model]
  }
  return [labels[grouping.slice('label:'.length)] ?? 'Without this label']
}

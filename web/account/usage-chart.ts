// What was charged in a month: a chart by day, for all models or one, with the month and the model to choose.
import { isAbort, type Api } from '../api.ts'
import { type Bar, barChart } from '../chart.ts'
import { element } from '../element.ts'
import { formatCredits } from '../job-words.ts'
import { problemNotice } from '../problem-notice.ts'
import type { ModelRecord, MoneyRecord, UsageRecord, UsageRowRecord } from '../records.ts'
import type { ViewDeps } from '../view-deps.ts'
import { createMonthChooser, daysOf, nameDay, nameMonth } from './month-chooser.ts'

// The largest page of the server.
const mostRows = 10_000

/** The month and the model that are looked at; an empty model is for all. */
export interface Shown {
  readonly month: string
  readonly model: string
}

/** Sums of rows. */
export interface Sum {
  readonly charged: number
  readonly jobs: number
  readonly succeeded: number
}

/** Reads usage; without a month that of the current one, up to today. */
export function readUsage(api: Api, groupBy: string, month: string, signal: AbortSignal): Promise<UsageRecord> {
  const days = month === '' ? [] : daysOf(month)
  const query = new URLSearchParams({ group_by: groupBy, limit: String(mostRows) })
  if (days[0] && days.at(-1)) {
    query.set('from', days[0])
    query.set('to', days.at(-1) ?? '')
  }
  return api.get(`/v1/usage?${query.toString()}`, { signal })
}

export function sumUp(rows: readonly Sum[]): Sum {
  return rows.reduce<Sum>(
    (sum, { charged, jobs, succeeded }) => ({
      charged: sum.charged + charged,
      jobs: sum.jobs + jobs,
      succeeded: sum.succeeded + succeeded,
    }),
    { charged: 0, jobs: 0, succeeded: 0 },
  )
}

/** "3.40 EUR" as people write it; null where the server gives no price. */
export function formatMoney(money: MoneyRecord): string | null {
  if (!money) return null
  const { amount, currency } = money
  // A currency need not be one that the browser knows.
  return /^[A-Z]{3}$/.test(currency)
    ? new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(Number(amount))
    : `${amount} ${currency}`
}

/** The sum of costs in one currency; null if there is none. */
export function addMoney(costs: readonly MoneyRecord[]): MoneyRecord {
  const known = costs.filter((cost) => cost !== null)
  const [first] = known
  if (!first) return null
  const digits = Math.max(...known.map(({ amount }) => (amount.split('.')[1] ?? '').length))
  return { ...first, amount: known.reduce((sum, { amount }) => sum + Number(amount), 0).toFixed(digits) }
}

export function describeSum({ jobs, succeeded }: Sum): string {
  const all = `${jobs.toLocaleString('en-US')} ${jobs === 1 ? 'generation' : 'generations'}`
  return succeeded === jobs ? all : `${all}, ${succeeded.toLocaleString('en-US')} succeeded`
}

/** The bars of a month, one for each day. */
export function toBars(rows: readonly UsageRowRecord[], month: string): Bar[] {
  const byDay = Map.groupBy(rows, ({ day }) => day)
  return daysOf(month).map((day) => {
    const sum = sumUp(byDay.get(day) ?? [])
    const words = `${nameDay(day)}: ${formatCredits(sum.charged)}${sum.jobs > 0 ? `, ${describeSum(sum)}` : ''}`
    return { label: String(Number(day.slice(8))), value: sum.charged, words }
  })
}

/** The chart of a month. */
export function monthChart(rows: readonly UsageRowRecord[], month: string): HTMLElement {
  const sum = sumUp(rows)
  const name = nameMonth(month)
  return barChart(toBars(rows, month), {
    words: `Credits charged by day in ${name}: ${formatCredits(sum.charged)} in all.`,
    summary: `${formatCredits(sum.charged)} charged in ${name}`,
  })
}

export interface UsageChart {
  readonly element: HTMLElement
}

/** `onShown` is called with what is shown, with its rows, whenever another month or model is. */
export function createUsageChart(
  { api, catalog, signal }: ViewDeps,
  onShown: (shown: Shown, usage: UsageRecord, rows: readonly UsageRowRecord[]) => void,
): UsageChart {
  const body = element('div', { class: 'usage-chart', 'aria-busy': 'true' })
  const model = element('select', { class: 'input', 'aria-label': 'Model', onchange: () => draw() })
  const chooser = createMonthChooser((month) => void load(month))
  let usage: UsageRecord | null = null
  let turn = 0

  async function load(month: string): Promise<void> {
    const own = ++turn
    body.setAttribute('aria-busy', 'true')
    try {
      const [read, models] = await Promise.all([
        readUsage(api, 'day,model', month, signal),
        catalog.models().catch(() => new Map<string, ModelRecord>()),
      ])
      if (own !== turn) return
      usage = read
      offer(models)
      draw()
    } catch (error) {
      if (isAbort(error)) return
      body.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load(month) }))
    }
    body.removeAttribute('aria-busy')
  }
  /** Offers the models of the month; the chosen one stays. */
  function offer(models: ReadonlyMap<string, ModelRecord>): void {
    const chosen = model.value
    const ids = new Set([...(usage?.data ?? []).flatMap(({ model: id }) => id || []), ...(chosen ? [chosen] : [])])
    model.replaceChildren(
      element('option', { value: '' }, 'All models'),
      ...[...ids].map((id) => element('option', { value: id }, models.get(id)?.name ?? id)),
    )
    model.value = chosen
  }
  function draw(): void {
    if (!usage) return
    const shown = { month: usage.from.slice(0, 7), model: model.value }
    const rows = usage.data.filter((row) => shown.model === '' || row.model === shown.model)
    chooser.show(shown.month)
    body.replaceChildren(monthChart(rows, shown.month))
    onShown(shown, usage, rows)
  }
  void load('')
  return {
    element: element(
      'section',
      { class: 'panel', 'aria-label': 'Charged by day' },
      element('div', { class: 'panel-bar' }, chooser.element, element('div', { class: 'select' }, model)),
      body,
    ),
  }
}

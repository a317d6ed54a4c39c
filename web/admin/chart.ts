// Credits by day as stacked bars: drawn of elements, so that it is as wide as its page and its texts stay readable.
import { element } from '../element.ts'
import { countOf, formatNumber } from './words.ts'

/** What was charged on one day for one group. */
export interface Piece {
  /** `YYYY-MM-DD`. */
  readonly day: string
  readonly group: string
  readonly charged: bigint
}

/** So many groups have a colour of their own; the rest is one. */
export const mostGroups = 5
const others = 'others'
// Among more days, their names would touch each other.
const mostNames = 7

/** Draws days from `from` to `to`. `groups` are all groups, those with the highest charge first. */
export function drawChart(
  pieces: readonly Piece[],
  { from, to, groups }: { readonly from: string; readonly to: string; readonly groups: readonly string[] },
): HTMLElement {
  const days = listDays(from, to)
  const shown = groups.slice(0, mostGroups)
  const series = groups.length > mostGroups ? [...shown, others] : shown
  const sums = new Map(days.map((day) => [day, series.map(() => 0n)]))
  for (const { day, group, charged } of pieces) {
    const sum = sums.get(day)
    const at = shown.includes(group) ? shown.indexOf(group) : series.length - 1
    if (sum && sum[at] !== undefined) sum[at] += charged
  }
  const totals = days.map((day) => (sums.get(day) ?? []).reduce((all, one) => all + one, 0n))
  const top = roundUp(totals.reduce((most, one) => (one > most ? one : most), 0n))
  const step = Math.ceil(days.length / mostNames)
  const columns = days.map((day, index) => {
    const total = totals[index] ?? 0n
    const bar = element('div', { class: 'bar-stack' })
    bar.style.height = `${(Number(total) / Number(top)) * 100}%`
    ;(sums.get(day) ?? []).forEach((charged, at) => {
      if (charged === 0n) return
      const piece = element('div', { class: `series-${at}` })
      piece.style.flexGrow = String(Number(charged))
      bar.append(piece)
    })
    const words = (sums.get(day) ?? [])
      .flatMap((charged, at) => (charged === 0n ? [] : `${series[at]}: ${formatNumber(charged)}`))
      .join('\n')
    return element(
      'div',
      { class: 'bar-column', title: `${nameDay(day)}: ${countOf(total, 'credit')}\n${words}` },
      element('div', { class: 'bar-space' }, bar),
      element('span', { class: 'bar-name' }, index % step === 0 ? nameDay(day) : ''),
    )
  })
  const sum = totals.reduce((all, one) => all + one, 0n)
  const label = `${countOf(sum, 'credit')} from ${nameDay(from)} to ${nameDay(to)}, at most ${formatNumber(totals.reduce((most, one) => (one > most ? one : most), 0n))} on one day. The table below has the sums.`
  return element(
    'figure',
    { class: 'usage-chart' },
    element(
      'div',
      { class: 'bars', role: 'img', 'aria-label': label },
      element(
        'div',
        { class: 'bar-scale' },
        ...[top, top / 2n, 0n].map((one) => element('span', {}, formatNumber(one))),
      ),
      element('div', { class: 'bar-columns' }, ...columns),
    ),
    series.length > 1
      ? element(
          'figcaption',
          {},
          ...series.map((name, at) =>
            element('span', { class: 'legend' }, element('i', { class: `series-${at}` }), name),
          ),
        )
      : null,
  )
}

/** Every day, both ends included. */
function listDays(from: string, to: string): string[] {
  const days: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}

/** "28 Nov". */
export function nameDay(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

/** The next of 2, 4, 6, 8, 10, 20, 40 … that half of is whole. */
function roundUp(most: bigint): bigint {
  let unit = 1n
  while (unit * 10n < most) unit *= 10n
  const step = [2n, 4n, 6n, 8n, 10n].find((one) => one * unit >= most) ?? 10n
  return step * unit
}

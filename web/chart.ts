// Charts: a bar for each day, whose figures a line above reads out, and bars in the cells of tables.
import { element } from './element.ts'

/** One bar. */
export interface Bar {
  /** Below the axis, where there is room: "3". */
  readonly label: string
  /** 0 or more. */
  readonly value: number
  /** The bar in words: "3 November: 120 credits, 14 generations". */
  readonly words: string
}

export interface BarChartOptions {
  /** The whole chart in words, for who does not see it; a table beside it has the figures. */
  readonly words: string
  /** The line above it while no bar is pointed at. */
  readonly summary: string
  readonly format?: (value: number) => string
}

const fewLabels = 8

/** Draws bars; those without a value are a thin line. */
export function barChart(bars: readonly Bar[], options: BarChartOptions): HTMLElement {
  const { words, summary, format = (value) => value.toLocaleString('en-US') } = options
  const top = findTop(Math.max(0, ...bars.map(({ value }) => value)))
  const readout = element('p', { class: 'chart-readout' }, summary)
  const every = Math.ceil(bars.length / fewLabels)
  const columns = bars.map(({ label, value, words: inWords }, index) => {
    const bar = element('i', { class: value > 0 ? '' : 'none' })
    bar.style.blockSize = `${(value / top) * 100}%`
    return element(
      'div',
      {
        class: 'chart-column',
        onpointerenter: () => (readout.textContent = inWords),
        onpointerleave: () => (readout.textContent = summary),
      },
      bar,
      element('span', {}, index % every === 0 ? label : ''),
    )
  })
  const line = (value: number): HTMLElement => element('span', {}, format(value))
  return element(
    'figure',
    { class: 'chart' },
    readout,
    element(
      'div',
      { class: 'chart-plot', role: 'img', 'aria-label': words },
      element('div', { class: 'chart-scale' }, line(top), line(top / 2), line(0)),
      element('div', { class: 'chart-columns' }, ...columns),
    ),
  )
}

/** A bar for the cell of a table: how large a value is beside the largest one. */
export function shareBar(value: number, largest: number): HTMLElement {
  const bar = element('i', {})
  bar.style.inlineSize = `${largest > 0 ? (value / largest) * 100 : 0}%`
  return element('span', { class: 'share', 'aria-hidden': 'true' }, bar)
}

/** The least round number that is not below a value and whose half is whole: 2, 4, 10, 20, 40, 100 … */
export function findTop(value: number): number {
  for (let size = 1; ; size *= 10) {
    const round = [2, 4, 6, 8, 10].find((factor) => factor * size >= value)
    if (round !== undefined) return round * size
  }
}

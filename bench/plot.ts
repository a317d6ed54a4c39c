// Plots as SVG, readable in light and dark: bars with their spread and target, and lines over time.
import type { Bar, Line, Row, Timeline } from './bench.ts'

const width = 800
const barFrom = 290
const barTo = 640
const barHeight = 11
const barStep = 17
// Plain colours in classes: not every program that shows SVG knows variables.
const style = `<style>
.plot { font: 13px system-ui, sans-serif; fill: #1f2328 }
.plot .pale { fill: #59636e; font-size: 11px }
.plot .ground { fill: #fff }
.plot .grid { stroke: #d0d7de }
.plot .rule { stroke: #1f2328; stroke-width: 1.5 }
.plot .target { stroke: #16803c; stroke-width: 2 }
.plot path { fill: none; stroke-width: 1.5 }
.plot .a { fill: #2f6fd0 } .plot path.a { fill: none; stroke: #2f6fd0 }
.plot .b { fill: #b04a00 } .plot path.b { fill: none; stroke: #b04a00 }
.plot .c { fill: #16803c } .plot path.c { fill: none; stroke: #16803c }
.plot .d { fill: #7d42b8 } .plot path.d { fill: none; stroke: #7d42b8 }
@media (prefers-color-scheme: dark) {
.plot { fill: #e6edf3 }
.plot .pale { fill: #9198a1 }
.plot .ground { fill: #0d1117 }
.plot .grid { stroke: #3d444d }
.plot .rule { stroke: #e6edf3 }
}
</style>`
const colours = ['a', 'b', 'c', 'd']

/** Bars of all rows that have some, and lines of text below. Each row has its own scale, from 0. */
export function plotBars(rows: readonly Row[], notes: readonly string[]): string {
  let y = 24
  const parts: string[] = []
  for (const { what, bars = [], target } of rows) {
    if (bars.length === 0) continue
    const most = Math.max(...bars.flatMap((bar) => [bar.spread.max, bar.target ?? 0])) * 1.05
    const toX = (value: number): number => barFrom + ((barTo - barFrom) * value) / most
    const middle = y + (bars.length * barStep) / 2
    parts.push(text(12, middle, what), text(12, middle + 14, target === '' ? '' : `target ${target}`, 'pale'))
    const aim = bars[0]?.target ?? null
    parts.push(...bars.map((bar, index) => plotBar(bar, y + index * barStep, toX, colours[index] ?? '')))
    if (aim !== null) parts.push(rule('target', toX(aim), y - 4, toX(aim), y + bars.length * barStep))
    y += Math.max(bars.length * barStep, 28) + 14
  }
  const legend = 'Bars: medians; thin lines: least to most; green: target. Each row has its own scale, from 0.'
  parts.push(...[legend, ...notes].map((note, index) => text(12, y + 12 + index * 15, note, 'pale')))
  return toSvg(y + 20 + notes.length * 15, parts)
}

function plotBar({ name, spread, unit }: Bar, y: number, toX: (value: number) => number, colour: string): string {
  const { median, min, max } = spread
  const middle = y + barHeight / 2
  return [
    `<rect x="${barFrom}" y="${y}" width="${round(toX(median) - barFrom)}" height="${barHeight}" rx="2" class="${colour}"/>`,
    rule('rule', toX(min), middle, toX(max), middle),
    ...[min, max].map((end) => rule('rule', toX(end), middle - 3, toX(end), middle + 3)),
    text(barTo + 10, y + barHeight - 1, `${write(median)}${unit} ${name}`),
  ].join('')
}

const panel = { from: 60, to: 780, latencyHeight: 190, shareHeight: 90 }
const latencyFrom = 1
const latencyTo = 100_000
// Without points for so long, a line is interrupted: nothing is known of the time between.
const gapMs = 500

/** Latencies on a logarithmic scale, and shares below, over the same time. */
export function plotTimeline({ endMs, marks, latencies, shares }: Timeline): string {
  const toX = (atMs: number): number => panel.from + ((panel.to - panel.from) * atMs) / endMs
  const latencyBottom = 30 + panel.latencyHeight
  const shareBottom = latencyBottom + 50 + panel.shareHeight
  const toLatencyY = (ms: number): number => {
    const bounded = Math.min(latencyTo, Math.max(latencyFrom, ms))
    return (
      latencyBottom - panel.latencyHeight * (Math.log10(bounded / latencyFrom) / Math.log10(latencyTo / latencyFrom))
    )
  }
  const toShareY = (share: number): number => shareBottom - panel.shareHeight * share
  const seconds = Array.from({ length: Math.floor(endMs / 1000) + 1 }, (_, second) => second)
  return toSvg(shareBottom + 30, [
    ...[1, 10, 100, 1000, 10_000, 100_000].map((ms) => gridLine(toLatencyY(ms), `${ms} ms`)),
    ...[0, 0.5, 1].map((share) => gridLine(toShareY(share), `${share * 100} %`)),
    ...seconds.map((second) => text(toX(second * 1000), shareBottom + 16, `${second} s`, 'pale')),
    ...marks.map(({ atMs, what }) => {
      return rule('target', toX(atMs), 24, toX(atMs), shareBottom) + text(toX(atMs) + 4, shareBottom - 6, what, 'pale')
    }),
    plotLines(latencies, toX, toLatencyY, 14),
    plotLines(shares, toX, toShareY, latencyBottom + 34),
  ])
}

/** Lines of one thing each, below each other, over the same time: each on a scale of its own, from 0. */
export function plotSeries(unit: string, series: readonly Series[]): string {
  const end = Math.max(...series.flatMap(({ points }) => points.map(([at]) => at)))
  const toX = (at: number): number => panel.from + ((panel.to - panel.from) * at) / end
  const parts = series.flatMap(({ name, points }, index) => {
    const bottom = (index + 1) * (panel.shareHeight + 40) - 10
    const known = points.filter((point): point is readonly [number, number] => point[1] !== null)
    const most = Math.max(...known.map(([, value]) => value))
    const toY = (value: number): number => bottom - (panel.shareHeight * value) / most
    const path = known.map(([at, value], step) => `${step === 0 ? 'M' : 'L'}${round(toX(at))} ${round(toY(value))}`)
    return [
      gridLine(bottom, '0'),
      gridLine(bottom - panel.shareHeight, write(most)),
      text(panel.from, bottom - panel.shareHeight - 6, name),
      `<path d="${path.join('')}" class="${colours[index % colours.length]}"/>`,
    ]
  })
  const height = series.length * (panel.shareHeight + 40)
  const ticks = Array.from({ length: 7 }, (_, tick) => (end * tick) / 6)
  return toSvg(height + 20, [
    ...parts,
    ...ticks.map((at, tick) =>
      text(toX(at) - 8, height + 8, `${Math.round(at)}${tick === 0 ? ` ${unit}` : ''}`, 'pale'),
    ),
  ])
}

/** Points in the order of time; null where nothing is known. */
interface Series {
  readonly name: string
  readonly points: readonly (readonly [at: number, value: number | null])[]
}

function plotLines(
  lines: readonly Line[],
  toX: (ms: number) => number,
  toY: (value: number) => number,
  y: number,
): string {
  let legendX = panel.from
  return lines
    .map(({ name, points }, index) => {
      const colour = colours[index % colours.length]
      const steps = points.map(([atMs, value], step) => {
        const follows = atMs - (points[step - 1]?.[0] ?? -Infinity) <= gapMs
        return `${follows ? 'L' : 'M'}${round(toX(atMs))} ${round(toY(value))}`
      })
      const legend = `<rect x="${legendX}" y="${y - 9}" width="10" height="10" class="${colour}"/>${text(legendX + 15, y, name)}`
      legendX += 40 + name.length * 7
      return `${legend}<path d="${steps.join('')}" class="${colour}"/>`
    })
    .join('')
}

function gridLine(y: number, label: string): string {
  return rule('grid', panel.from, y, panel.to, y) + text(4, y + 4, label, 'pale')
}

function rule(kind: string, x1: number, y1: number, x2: number, y2: number): string {
  return `<line class="${kind}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`
}

function text(x: number, y: number, words: string, kind = ''): string {
  return `<text x="${round(x)}" y="${round(y)}"${kind === '' ? '' : ` class="${kind}"`}>${escape(words)}</text>`
}

function toSvg(height: number, parts: readonly string[]): string {
  const ground = `<rect width="${width}" height="${height}" rx="6" class="ground"/>`
  return `<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 ${width} ${height}" width="${width}">\n${style}\n${[ground, ...parts].join('\n')}\n</svg>\n`
}

/** With two digits behind the point where there are few before it. */
function write(value: number): string {
  return value >= 10 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** For text in XML and HTML. */
export function escape(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

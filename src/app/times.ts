// Histograms of durations, counted in plain numbers until somebody reads them. prom-client's own looks its labels up each time:
// 3,900 instructions a call instead of 200.
import type { Metric } from 'prom-client'
import type Registry from 'prom-client/lib/registry.js'

/** Makes what records how long one operation took, in seconds. */
export type Timer = (operation: string) => (seconds: number) => void

// In seconds.
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 180]

/** Adds a histogram with one label to the metrics. An operation is shown once it was timed. */
export function createTimes(registry: Registry, label: string, name: string, help: string): Timer {
  /** By the value of the label: how many were within each bound but not the one before, and the sum of all. */
  const timed = new Map<string, { readonly counts: number[]; sum: number }>()

  function open(operation: string) {
    const times = { counts: Array<number>(bounds.length + 1).fill(0), sum: 0 }
    timed.set(operation, times)
    return times
  }

  function* listValues() {
    for (const [operation, { counts, sum }] of timed) {
      let count = 0
      for (const [n, le] of [...bounds, '+Inf'].entries())
        yield { metricName: `${name}_bucket`, labels: { le, [label]: operation }, value: (count += counts[n] ?? 0) }
      yield { metricName: `${name}_sum`, labels: { [label]: operation }, value: sum }
      yield { metricName: `${name}_count`, labels: { [label]: operation }, value: count }
    }
  }
  const metric = {
    name,
    help,
    type: 'histogram',
    get: async () => ({ name, help, type: 'histogram', values: [...listValues()] }),
  }
  // The registry asks no more of a metric than this.
  registry.registerMetric(metric as unknown as Metric)
  return (operation) => {
    let times = timed.get(operation)
    return (seconds) => {
      times ??= timed.get(operation) ?? open(operation)
      let n = 0
      while (n < bounds.length && seconds > (bounds[n] ?? 0)) n += 1
      times.counts[n] = (times.counts[n] ?? 0) + 1
      times.sum += seconds
    }
  }
}

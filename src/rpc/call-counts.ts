// Calls by outcome and duration, counted in plain numbers and converted to Prometheus metrics on request:
// prom-client's observe() checks and hashes its labels each time, which took a tenth of the time of a request.
import { Counter, type Histogram, type Registry } from 'prom-client'

/** Upper bounds of the buckets of durations, in seconds. */
export const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 180]

const name = 'mediagen_rpc_seconds'

interface Tally {
  readonly codes: Map<string, number>
  /** Calls per bucket; the last bucket has those beyond all bounds. */
  readonly buckets: number[]
  seconds: number
}

/** Adds both metrics to a registry; returns the function that counts a finished call. */
export function createCallCounts(registry: Registry): (rpc: string, code: string, seconds: number) => void {
  const tallies = new Map<string, Tally>()
  const calls = new Counter({
    name: 'mediagen_rpc_total',
    help: 'Calls by rpc and outcome (ok or error code)',
    labelNames: ['rpc', 'code'],
    registers: [],
    collect() {
      this.reset()
      for (const [rpc, { codes }] of tallies) for (const [code, count] of codes) this.inc({ rpc, code }, count)
    },
  })
  const durations = {
    name,
    get: async () => ({
      name,
      help: 'How long calls took',
      type: 'histogram',
      values: [...tallies].flatMap(([rpc, tally]) => toSeries(rpc, tally)),
    }),
  }
  registry.registerMetric(calls)
  // A registry needs no more of a metric than this.
  registry.registerMetric(durations as unknown as Histogram)
  return (rpc, code, seconds) => {
    let tally = tallies.get(rpc)
    if (!tally) {
      tally = { codes: new Map(), buckets: Array<number>(durationBounds.length + 1).fill(0), seconds: 0 }
      tallies.set(rpc, tally)
    }
    const { codes, buckets } = tally
    codes.set(code, (codes.get(code) ?? 0) + 1)
    let bucket = 0
    while (seconds > (durationBounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    buckets[bucket] = (buckets[bucket] ?? 0) + 1
    tally.seconds += seconds
  }
}

/** The lines of one rpc: cumulative buckets, sum and count. */
function toSeries(rpc: string, { buckets, seconds }: Tally) {
  let calls = 0
  const series = buckets.map((count, index) => {
    calls += count
    return { metricName: `${name}_bucket`, labels: { le: durationBounds[index] ?? '+Inf', rpc }, value: calls }
  })
  return [
    ...series,
    { metricName: `${name}_sum`, labels: { rpc }, value: seconds },
    { metricName: `${name}_count`, labels: { rpc }, value: calls },
  ]
}

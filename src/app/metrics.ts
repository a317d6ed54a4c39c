// Everything that a server counts, as Prometheus metrics. Each part gets only the functions that it calls.
import Counter from 'prom-client/lib/counter.js'
import Gauge from 'prom-client/lib/gauge.js'
import Registry from 'prom-client/lib/registry.js'
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { Backlog } from '@mediagen/core/backlog.ts'
import type { CallMetrics } from '../rpc/pipeline.ts'
import { createBacklogGauges } from './backlog-gauges.ts'
import { createTimes, type Timer } from './times.ts'

/** Counters of one server. */
export interface Metrics extends CallMetrics {
  /** Counts one request that the REST door refused by itself. */
  countRefusal(code: string): void
  /** Counts one connection to the HTTP port that was not served, or cut off, by the reason. */
  countCut(reason: string): void
  /** Counts one job that ended a run. */
  countJob(model: string, status: string): void
  /** Sets how many jobs run here. */
  setRunning(jobs: number): void
  /** Counts one attempt to deliver a webhook, by what became of the delivery. */
  countWebhook(status: string): void
  /** Counts leases of jobs that ended without an end of the run, by who noticed: the leader that sweeps, or the worker that had them. */
  countLostLeases(noticedBy: 'leader' | 'worker', jobs: number): void
  readonly timeStore: Timer
  readonly timeFiles: Timer
  /** Shows what waits in the store, which is measured when the metrics are asked for. */
  showBacklog(measure: () => Promise<Backlog>): void
  /** Shows a number that is read when the metrics are asked for: one that goes up and down. */
  showGauge(name: string, help: string, read: () => number): void
  /** Shows a number that is read when the metrics are asked for: one that only grows. */
  showCounter(name: string, help: string, read: () => number): void
  /** Everything as Prometheus' text, and its media type. */
  render(): Promise<{ contentType: string; body: string }>
}

/**
 * Creates the counters. Those of the process itself are added by the first reading, because one of them looks at the event loop a
 * hundred times a second: a server without a reader of metrics does without.
 * @param monotonicMs a monotonic clock
 */
export function createMetrics(monotonicMs = () => performance.now()): Metrics {
  const registry = new Registry()
  let refresh = (): Promise<void> => Promise.resolve()
  const watchProcess = onFirstUse(async () => {
    const { collectDefaultMetrics } = await import('prom-client')
    collectDefaultMetrics({ register: registry })
  })
  // Counted in plain numbers until somebody reads them, at a twentieth of what `inc` takes.
  const outcomes = new Map<string, Map<string, number>>()
  registry.registerMetric(
    new Counter({
      name: 'mediagen_rpc_total',
      help: 'Calls by rpc and outcome (ok or error code)',
      labelNames: ['rpc', 'code'],
      registers: [],
      collect() {
        this.reset()
        for (const [rpc, counts] of outcomes) for (const [code, count] of counts) this.inc({ rpc, code }, count)
      },
    }),
  )
  const timeCalls = createTimes(registry, 'rpc', 'mediagen_rpc_seconds', 'How long calls took')
  const refusals = new Counter({
    name: 'mediagen_http_refusals_total',
    help: 'Requests that the REST door refused by itself, before any call, by error code',
    labelNames: ['code'],
    registers: [registry],
  })
  const grpcRefusals = new Counter({
    name: 'mediagen_grpc_refusals_total',
    help: 'Calls and connections that the gRPC port refused or ended by itself, before any call of a service, by reason',
    labelNames: ['reason'],
    registers: [registry],
  })
  const cuts = new Counter({
    name: 'mediagen_http_cuts_total',
    help: 'Connections that the REST door did not serve or cut off, by reason',
    labelNames: ['reason'],
    registers: [registry],
  })
  const jobs = new Counter({
    name: 'mediagen_jobs_total',
    help: 'Runs that ended, by model and status',
    labelNames: ['model', 'status'],
    registers: [registry],
  })
  const webhooks = new Counter({
    name: 'mediagen_webhook_attempts_total',
    help: 'Attempts to deliver a webhook, by what became of the delivery (delivered, pending, failed)',
    labelNames: ['status'],
    registers: [registry],
  })
  const running = new Gauge({
    name: 'mediagen_jobs_running',
    help: 'Jobs that run in this process',
    registers: [registry],
  })
  return {
    countCalls(rpc) {
      const recordTime = timeCalls(rpc)
      const counts = outcomes.get(rpc) ?? new Map<string, number>()
      outcomes.set(rpc, counts)
      return (code, seconds) => {
        counts.set(code, (counts.get(code) ?? 0) + 1)
        recordTime(seconds)
      }
    },
    countRefusal: (code) => refusals.labels(code).inc(),
    countGrpcRefusal: (reason) => grpcRefusals.labels(reason).inc(),
    countCut: (reason) => cuts.labels(reason).inc(),
    countJob: (model, status) => jobs.labels(model, status).inc(),
    countWebhook: (status) => webhooks.labels(status).inc(),
    ...createStoreMetrics(registry),
    showBacklog: (measure) => (refresh = createBacklogGauges(registry, measure, monotonicMs)),
    setRunning: (count) => running.set(count),
    showGauge(name, help, read) {
      const gauge: Gauge = new Gauge({ name, help, registers: [], collect: (): void => gauge.set(read()) })
      registry.registerMetric(gauge)
    },
    showCounter(name, help, read) {
      const counter: Counter = new Counter({
        name,
        help,
        registers: [],
        collect(): void {
          counter.reset()
          counter.inc(read())
        },
      })
      registry.registerMetric(counter)
    },
    async render() {
      await Promise.all([watchProcess(), refresh()])
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
  }
}

function createStoreMetrics(registry: Registry): Pick<Metrics, 'countLostLeases' | 'timeStore' | 'timeFiles'> {
  const lostLeases = new Counter({
    name: 'mediagen_leases_lost_total',
    help: 'Leases of jobs that were lost, by who noticed: the process that sweeps for all (leader), or the worker that had the job',
    labelNames: ['noticed_by'],
    registers: [registry],
  })
  return {
    countLostLeases: (noticedBy, jobs) => lostLeases.labels(noticedBy).inc(jobs),
    timeStore: createTimes(
      registry,
      'operation',
      'mediagen_store_seconds',
      'How long operations of the database took, waits included',
    ),
    timeFiles: createTimes(
      registry,
      'operation',
      'mediagen_files_seconds',
      'How long operations of the store of files took',
    ),
  }
}

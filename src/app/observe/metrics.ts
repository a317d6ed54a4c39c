// Everything that a server counts, as Prometheus metrics. Each part gets only the functions that it calls.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Backlog } from '../../core/jobs/backlog.ts'
import type { CallMetrics } from '../../rpc/pipeline.ts'
import { createBacklogGauges } from './backlog-gauges.ts'

// In seconds.
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 180]

/** Makes what records how long one operation took, in seconds. */
export type Timer = (operation: string) => (seconds: number) => void

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
  let watchesProcess = false
  const calls = new Counter({
    name: 'mediagen_rpc_total',
    help: 'Calls by rpc and outcome (ok or error code)',
    labelNames: ['rpc', 'code'],
    registers: [registry],
  })
  const timeCalls = createTimer(registry, 'rpc', 'mediagen_rpc_seconds', 'How long calls took')
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
      return (code, seconds) => {
        calls.inc({ rpc, code })
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
      registry.registerMetric(
        new Gauge({
          name,
          help,
          registers: [],
          collect() {
            this.set(read())
          },
        }),
      )
    },
    showCounter(name, help, read) {
      registry.registerMetric(
        new Counter({
          name,
          help,
          registers: [],
          collect() {
            this.reset()
            this.inc(read())
          },
        }),
      )
    },
    async render() {
      if (!watchesProcess) collectDefaultMetrics({ register: registry })
      watchesProcess = true
      await refresh()
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
    timeStore: createTimer(
      registry,
      'operation',
      'mediagen_store_seconds',
      'How long operations of the database took, waits included',
    ),
    timeFiles: createTimer(
      registry,
      'operation',
      'mediagen_files_seconds',
      'How long operations of the store of files took',
    ),
  }
}

/** Adds a histogram with one label to the metrics. An operation is shown once it was timed. */
function createTimer(registry: Registry, label: string, name: string, help: string): Timer {
  const histogram = new Histogram({ name, help, labelNames: [label], buckets, registers: [registry] })
  return (operation) => {
    const times = histogram.labels(operation)
    return (seconds) => times.observe(seconds)
  }
}

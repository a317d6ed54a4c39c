// What is counted, in Prometheus' terms.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/** Counters of one server. */
export interface Metrics {
  /** Counts one finished call. */
  countCall(rpc: string, code: string, seconds: number): void
  /** Counts one request that the REST door refused by itself. */
  countRefusal(code: string): void
  /** Counts one job that ended a run. */
  countJob(model: string, status: string): void
  /** Sets how many jobs run here. */
  setRunning(jobs: number): void
  /** Counts one attempt to deliver a webhook, by what became of the delivery. */
  countWebhook(status: string): void
  /** Everything as Prometheus' text, and its media type. */
  render(): Promise<{ contentType: string; body: string }>
}

/** Creates the counters, with the process's own beside them. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const calls = new Counter({
    name: 'mediagen_rpc_total',
    help: 'Calls by rpc and outcome (ok or error code)',
    labelNames: ['rpc', 'code'],
    registers: [registry],
  })
  const durations = new Histogram({
    name: 'mediagen_rpc_seconds',
    help: 'How long calls took',
    labelNames: ['rpc'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 180],
    registers: [registry],
  })
  const refusals = new Counter({
    name: 'mediagen_http_refusals_total',
    help: 'Requests that the REST door refused by itself, before any call, by error code',
    labelNames: ['code'],
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
  // labels() looks its child up by a key that it builds; the few that there are can be kept.
  const callChildren = new Map<string, Counter.Internal>()
  const durationChildren = new Map<string, Histogram.Internal<'rpc'>>()
  return {
    countCall(rpc, code, seconds) {
      const name = `${rpc} ${code}`
      let call = callChildren.get(name)
      if (!call) callChildren.set(name, (call = calls.labels(rpc, code)))
      call.inc()
      let duration = durationChildren.get(rpc)
      if (!duration) durationChildren.set(rpc, (duration = durations.labels(rpc)))
      duration.observe(seconds)
    },
    countRefusal: (code) => refusals.labels(code).inc(),
    countJob: (model, status) => jobs.labels(model, status).inc(),
    countWebhook: (status) => webhooks.labels(status).inc(),
    setRunning: (count) => running.set(count),
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}

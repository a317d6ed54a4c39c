// Gauges of what waits in an installation, read from the store when somebody asks for the metrics. Each process shows the same.
import { Gauge, type Registry } from 'prom-client'
import type { Backlog, ModelBacklog } from '../../core/jobs/backlog.ts'

// What several readers of the metrics ask for within this time is read once.
const keptMs = 2000
// A store that does not answer holds up the other metrics no longer than this.
const patienceMs = 2000
// Models with gauges of their own, those with the most jobs; the others share one. A catalog may have any number.
const mostModels = 100

/**
 * Creates the gauges.
 * @returns what brings them up to date; it never rejects. Of a store that does not answer they show only that.
 */
export function createBacklogGauges(
  registry: Registry,
  measure: () => Promise<Backlog>,
  monotonicMs: () => number,
): () => Promise<void> {
  const gauge = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge<Label>({ name, help, labelNames, registers: [registry] })
  const up = gauge('mediagen_store_up', 'Whether the database answered when the metrics were read')
  const queued = gauge('mediagen_queued_jobs', 'Jobs that a worker could take now, in the whole installation', 'model')
  const oldest = gauge('mediagen_queued_oldest_seconds', 'Age of the oldest of these jobs', 'model')
  const inAll = {
    delayed: gauge('mediagen_delayed_jobs', 'Queued jobs that wait for a retry or for another server'),
    running: gauge('mediagen_running_jobs', 'Jobs that run in all processes of the installation'),
  } as const satisfies Partial<Record<keyof ModelBacklog, Gauge>>
  const others = {
    reviews: gauge('mediagen_reviews_waiting', 'Jobs that wait for the decision of an operator'),
    oldestReviewMs: gauge('mediagen_reviews_oldest_seconds', 'How long the first of them has waited'),
    deliveries: gauge('mediagen_webhooks_waiting', 'Webhook deliveries that are neither made nor given up'),
    overdueMs: gauge(
      'mediagen_webhooks_overdue_seconds',
      'How long the delivery that is due the longest waits for an attempt',
    ),
  } as const satisfies { [Name in Exclude<keyof Backlog, 'models'>]: Gauge }

  function show(backlog: Backlog | null): void {
    for (const each of Object.values({ ...inAll, ...others })) each.remove()
    queued.reset()
    oldest.reset()
    up.set(backlog === null ? 0 : 1)
    if (backlog === null) return
    const { models } = backlog
    for (const { model, queued: jobs, oldestMs } of boundModels(models.filter((one) => one.queued > 0))) {
      queued.set({ model }, jobs)
      oldest.set({ model }, oldestMs / 1000)
    }
    inAll.delayed.set(models.reduce((sum, { delayed }) => sum + delayed, 0))
    inAll.running.set(models.reduce((sum, { running }) => sum + running, 0))
    for (const [name, each] of Object.entries(others)) {
      const value = backlog[name as keyof typeof others]
      each.set(name.endsWith('Ms') ? value / 1000 : value)
    }
  }

  let readAt = Number.NEGATIVE_INFINITY
  let reading = Promise.resolve()
  return () => {
    const now = monotonicMs()
    if (now - readAt >= keptMs) {
      readAt = now
      reading = within(measure()).then(show)
    }
    return reading
  }
}

/** The answer; null when there is none in time. */
async function within(answer: Promise<Backlog>): Promise<Backlog | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), patienceMs)
  try {
    return await Promise.race([answer, late])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}

type Queue = Pick<ModelBacklog, 'model' | 'queued' | 'oldestMs'>

function boundModels(queues: readonly Queue[]): readonly Queue[] {
  if (queues.length <= mostModels) return queues
  const sorted = queues.toSorted((a, b) => b.queued - a.queued)
  const rest = sorted.splice(mostModels - 1)
  const queued = rest.reduce((sum, queue) => sum + queue.queued, 0)
  return [...sorted, { model: 'other', queued, oldestMs: Math.max(...rest.map(({ oldestMs }) => oldestMs)) }]
}

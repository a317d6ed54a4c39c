// Empties the outbox: claims due deliveries while there is room, makes one attempt at each, and reports the outcome.
// Jobs never wait for it: their ends leave deliveries in the store. Most slots are reserved for endpoints that answer promptly; all
// others share the rest.
import type { Logger } from 'pino'
import {
  type ClaimedDelivery,
  type DeliveryCaps,
  type DeliveryReport,
  type WebhookStore,
} from '../core/accounts/webhook.ts'
import type { Clock } from '../core/clock.ts'
import { everySecond } from '../core/every-second.ts'
import type { Job } from '../core/jobs/job.ts'
import { createRound } from '../core/round.ts'
import type { Store } from '../core/store.ts'
import { type Span, toTraceHeaders, type Traces } from '../core/traces.ts'
import type { Poster, PostResult } from '../outgoing/poster.ts'
import { planDelivery } from './retries.ts'
import { signWebhook, toWebhookBody, webhookHeaders } from './signature.ts'

// A claim lasts this many times the time limit of an attempt. After a crash, the next attempt waits for its end.
const leaseFactor = 2
// An attempt that takes longer than this fraction of its time limit is slow.
const promptPart = 1 / 3
// Concurrent attempts at endpoints that are not known to answer: with two per account, a silent one does not keep
// another one from being tried.
const unprovenSlots = { perWebhook: 1, perAccount: 2 }
const gone = 410

export interface SenderBounds {
  /** Concurrent attempts in total. */
  readonly slots: number
  /** Of these, attempts at endpoints that are not known to answer promptly. At least one slot is left for the others. */
  readonly unprovenSlots: number
  readonly slotsPerAccount: number
  readonly slotsPerWebhook: number
  /** Time limit of an attempt. */
  readonly attemptTimeoutMs: number
  /** Number of attempts after which a delivery is given up. */
  readonly maxAttempts: number
}

export interface WebhookSenderDeps {
  readonly store: Pick<WebhookStore, 'hasDueDelivery' | 'claimDeliveries' | 'reportDelivery'> &
    Pick<Store, 'onNotification'>
  readonly poster: Poster
  readonly bounds: SenderBounds
  /** The record of a job, exactly as REST returns it. */
  readonly renderJob: (job: Job, input: ClaimedDelivery['input']) => object
  readonly clock: Clock
  /** 0 … 1 */
  readonly random: () => number
  readonly log: Logger
  readonly traces: Traces
  readonly onAttempt: (outcome: 'delivered' | 'pending' | 'failed') => void
}

export interface WebhookSender {
  /** Stops claiming, waits `graceMs` for running attempts, then aborts them. Aborted attempts are retried later. */
  stop(graceMs: number): Promise<void>
}

interface UnderWay {
  readonly proven: boolean
  readonly abort: AbortController
  readonly done: Promise<void>
}

export function startWebhookSender(deps: WebhookSenderDeps): WebhookSender {
  const { store, log, bounds } = deps
  const caps: DeliveryCaps = {
    perWebhook: bounds.slotsPerWebhook,
    perAccount: bounds.slotsPerAccount,
    unproven: { ...unprovenSlots, inAll: Math.min(bounds.unprovenSlots, bounds.slots - 1) },
  }
  const leaseMs = bounds.attemptTimeoutMs * leaseFactor
  const underWay = new Map<string, UnderWay>()
  let stopped = false

  async function claim(): Promise<void> {
    const limit = bounds.slots - underWay.size
    if (stopped || limit <= 0) return
    let unprovenHere = 0
    for (const { proven } of underWay.values()) if (!proven) unprovenHere += 1
    const wanted = { ...caps, limit, unprovenHere, leaseMs }
    if (!(await store.hasDueDelivery(wanted))) return
    for (const delivery of await store.claimDeliveries(wanted)) begin(delivery)
  }

  function begin(delivery: ClaimedDelivery): void {
    const abort = new AbortController()
    // A claim that expired and was taken again is another attempt at the same delivery.
    const name = `${delivery.deliveryId} ${delivery.token}`
    const span = openSpan(delivery, deps.traces)
    const done = span
      .run(() => deliver(delivery, span, abort.signal, deps))
      .catch((error: unknown) =>
        log.error({ err: error, delivery_id: delivery.deliveryId }, 'the result of a delivery could not be recorded'),
      )
      .then(() => {
        underWay.delete(name)
        claiming.again()
      })
    underWay.set(name, { proven: delivery.proven, abort, done })
  }

  const claiming = createRound(claim, (error) => log.error({ err: error }, 'deliveries could not be claimed'))
  // The store reports jobs that end; retries become due by time.
  const stopLooking = everySecond(() => claiming.again())
  const ignoreChanges = store.onNotification(() => claiming.again())
  claiming.again()

  return {
    async stop(graceMs) {
      stopped = true
      stopLooking()
      ignoreChanges()
      await claiming.settled()
      const late = setTimeout(() => {
        for (const { abort } of underWay.values()) abort.abort()
      }, graceMs)
      await Promise.all([...underWay.values()].map(({ done }) => done))
      clearTimeout(late)
    },
  }
}

/** The first attempt is a part of the trace of the start; a later one, perhaps hours later, has its own, with a link. */
function openSpan({ trace, attempt, deliveryId, webhookId, job }: ClaimedDelivery, traces: Traces): Span {
  return traces.open('webhook', {
    kind: 'client',
    ...(attempt === 1 ? { parent: trace } : { parent: null, link: trace }),
    facts: {
      'mediagen.job.id': job.jobId,
      'mediagen.account.id': job.accountId,
      'mediagen.webhook.id': webhookId,
      'mediagen.delivery.id': deliveryId,
      'mediagen.attempt': attempt,
    },
  })
}

/** Makes one attempt and reports it. */
async function deliver(
  delivery: ClaimedDelivery,
  span: Span,
  signal: AbortSignal,
  deps: WebhookSenderDeps,
): Promise<void> {
  const { clock, log, bounds } = deps
  const startedAt = performance.now()
  const result = await post(delivery, span, clock.nowMs(), signal, deps)
  if (result.responseStatus !== null) span.set({ 'http.response.status_code': result.responseStatus })
  if (result.error !== null) span.fail(String(result.responseStatus ?? 'no_answer'))
  span.end()
  const { deliveryId, token } = delivery
  let report: DeliveryReport
  if (signal.aborted && result.error !== null) {
    const next = { status: 'pending', waitMs: 0 } as const
    report = { deliveryId, token, attempt: null, next, prompt: false, gone: false }
  } else {
    const { waitMs, ...said } = result
    const attempt = { ...said, durationMs: Math.round(performance.now() - startedAt) }
    const isGone = result.responseStatus === gone
    const next = isGone
      ? ({ status: 'failed' } as const)
      : planDelivery(delivery.attempt, bounds.maxAttempts, attempt, deps.random(), waitMs)
    const prompt = attempt.durationMs < bounds.attemptTimeoutMs * promptPart
    report = { deliveryId, token, attempt, next, prompt, gone: isGone }
    deps.onAttempt(next.status)
    log.info(
      {
        delivery_id: deliveryId,
        webhook_id: delivery.webhookId,
        job_id: delivery.job.jobId,
        attempt: delivery.attempt,
        status: next.status,
        ...(result.error !== null && { error: result.error }),
      },
      'webhook attempt',
    )
  }
  await deps.store.reportDelivery(report)
}

async function post(
  { deliveryId, url, secrets, event, job, input, createdAtMs }: ClaimedDelivery,
  span: Span,
  nowMs: number,
  signal: AbortSignal,
  { poster, renderJob, log }: WebhookSenderDeps,
): Promise<PostResult> {
  try {
    const body = toWebhookBody(event, createdAtMs, renderJob(job, input))
    const headers = {
      ...webhookHeaders,
      ...toTraceHeaders(span.context),
      ...signWebhook(secrets, deliveryId, nowMs, body),
    }
    return await poster.post({ url, headers, body, signal })
  } catch (error) {
    log.error({ err: error, delivery_id: deliveryId }, 'a webhook could not be built')
    return {
      responseStatus: null,
      error: 'This server could not make the message; its log holds the cause.',
      waitMs: null,
    }
  }
}

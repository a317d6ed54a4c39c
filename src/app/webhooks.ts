// The sender of webhooks.
import type { Logger } from 'pino'
import { JobSchema } from '../../gen/mediagen/v1/generation_pb.ts'
import type { Config } from '../config.ts'
import type { SendTest } from '../core/accounts/webhook.ts'
import type { Clock } from '../core/clock.ts'
import type { AssetUrls } from '../core/files/asset.ts'
import type { Store } from '../core/store.ts'
import type { Traces } from '../core/traces.ts'
import { toRecord } from '../gateway/records.ts'
import { type AllowedHosts, everyHost, onlyPublic } from '../outgoing/hosts.ts'
import { createPoster, type Poster } from '../outgoing/poster.ts'
import { toJobMessage } from '../services/messages/job-message.ts'
import { startWebhookSender } from '../webhooks/sender.ts'
import { createTestSender } from '../webhooks/test-message.ts'
import type { Grace } from './doors/grace.ts'
import type { Metrics } from './observe/metrics.ts'

/** Which hosts webhooks may be sent to. */
export function readWebhookHosts(config: Config): AllowedHosts {
  return config.webhookAllowPrivate ? everyHost : onlyPublic
}

/** What posts messages to endpoints, within the bounds of the settings. */
function createWebhookPoster(config: Config): Poster {
  return createPoster({
    allowed: readWebhookHosts(config),
    allowedPorts: config.allowPorts,
    timeoutMs: config.webhookSeconds * 1000,
    maxAnswerBytes: config.webhookAnswerBytes,
  })
}

/** Sends tests of endpoints, until `closing` ends. */
export function createWebhookTests(config: Config, clock: Clock, closing: AsyncDisposableStack): SendTest {
  const poster = createWebhookPoster(config)
  closing.defer(() => poster.close())
  return createTestSender({ poster, clock })
}

/** A webhook contains the record of the job, as the gateway would answer it. */
export function startWebhooks(
  config: Config,
  {
    store,
    urls,
    clock,
    log,
    traces,
    metrics,
    grace,
  }: {
    store: Store
    urls: AssetUrls
    clock: Clock
    log: Logger
    traces: Traces
    metrics: Metrics
    grace: Grace
  },
): AsyncDisposable {
  const poster = createWebhookPoster(config)
  const sender = startWebhookSender({
    store,
    poster,
    bounds: {
      slots: config.webhookSlots,
      unprovenSlots: config.webhookUnprovenSlots,
      slotsPerAccount: config.webhookSlotsPerAccount,
      slotsPerWebhook: config.webhookSlotsPerEndpoint,
      attemptTimeoutMs: config.webhookSeconds * 1000,
      maxAttempts: config.webhookAttempts,
    },
    renderJob: (job, input) => toRecord(JobSchema, toJobMessage(job, input, urls)),
    clock,
    random: Math.random,
    log,
    traces,
    onAttempt: metrics.countWebhook,
  })
  return {
    async [Symbol.asyncDispose]() {
      await sender.stop(grace())
      await poster.close()
    },
  }
}

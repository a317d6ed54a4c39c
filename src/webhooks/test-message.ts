// Sends a test message to an endpoint at once, signed and bounded as deliveries are. It is no delivery: nothing is recorded,
// nothing is tried again, and the endpoint stays as it was.
import { randomUUID } from 'node:crypto'
import type { SendTest } from '../core/accounts/webhook.ts'
import type { Clock } from '../core/clock.ts'
import type { Poster } from '../outgoing/poster.ts'
import { signWebhook, toWebhookBody, webhookHeaders } from './signature.ts'

/** Creates the sender of tests. */
export function createTestSender({ poster, clock }: { poster: Poster; clock: Clock }): SendTest {
  return async ({ webhookId, url, secrets }, signal) => {
    const attemptedAtMs = clock.nowMs()
    const startedAt = performance.now()
    const messageId = `test_${randomUUID().replaceAll('-', '')}`
    const body = toWebhookBody('webhook.test', attemptedAtMs, { webhook_id: webhookId })
    const headers = { ...webhookHeaders, ...signWebhook(secrets, messageId, attemptedAtMs, body) }
    const { responseStatus, error } = await poster.post({ url, headers, body, signal })
    const durationMs = Math.round(performance.now() - startedAt)
    return { messageId, attempt: { attemptedAtMs, responseStatus, error, durationMs } }
  }
}

// The body of a delivery, and headers that prove its origin according to Standard Webhooks (standardwebhooks.com).
import { createHmac } from 'node:crypto'
import type { WebhookEvent } from '../core/accounts/webhook.ts'
import { toTimestampText } from '../core/clock.ts'

/** The headers of every message, beside those that prove its origin. */
export const webhookHeaders = { 'content-type': 'application/json', 'user-agent': 'mediagen-webhooks/1' } as const

/** The body of a delivery: the same for each attempt, except for URLs inside `data` that are signed anew. */
export function toWebhookBody(event: WebhookEvent | 'webhook.test', createdAtMs: number, data: object): string {
  return JSON.stringify({ type: event, timestamp: toTimestampText(createdAtMs), data })
}

/**
 * The headers that prove the origin of a body. Standard Webhooks, "Webhook headers" and "Signature scheme".
 * @param secrets each makes a signature; a receiver needs to know one of them
 */
export function signWebhook(
  secrets: readonly Buffer[],
  id: string,
  nowMs: number,
  body: string,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const signed = `${id}.${timestamp}.${body}`
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

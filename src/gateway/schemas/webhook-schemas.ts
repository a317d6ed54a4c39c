// JSON Schemas of webhook endpoints, deliveries and tests.
import { deliveryStatuses } from '../../core/accounts/webhook.ts'
import { terminalStatuses } from '../../core/jobs/job.ts'
import { listOf, nullableString, nullableTime, record, seconds, string, time, url } from './schema-fields.ts'

export const webhookSchema = record('Webhook', 'An endpoint that is notified when jobs end.', {
  webhook_id: string,
  url: {
    type: 'string',
    format: 'uri-reference',
    description: 'Where events are sent by POST; empty for the endpoint of starts, which name URLs of their own.',
  },
  description: { ...nullableString, description: 'A note of its owner.' },
  created_at: time,
  disabled_at: {
    ...nullableTime,
    description: 'When it answered 410 Gone and was disabled; null while it is enabled.',
  },
  include_input: { type: 'boolean', description: "Whether messages carry the job's input." },
})

export const createdWebhookSchema = record(
  'CreatedWebhook',
  'A new endpoint, with its secret, which is shown only this once.',
  {
    ...webhookSchema.properties,
    secret: { ...string, description: '`whsec_` and the base64 of the signing key. Shown only this once.' },
  },
)

export const rotatedWebhookSchema = record(
  'RotatedWebhook',
  'An endpoint with its new secret, which is shown only this once.',
  {
    ...createdWebhookSchema.properties,
    previous_secret_until: { ...time, description: 'Until when the secret before it signs messages, too.' },
  },
)

const deliveryAttemptSchema = record('DeliveryAttempt', 'One attempt of a delivery.', {
  attempted_at: time,
  response_status: { type: ['integer', 'null'], description: 'HTTP status of the answer; null when there was none.' },
  error: { ...nullableString, description: 'Why it failed; null if it succeeded.' },
  duration_seconds: seconds,
})

export const deliverySchema = record('Delivery', 'One event for one endpoint.', {
  delivery_id: { ...string, description: 'Also the webhook-id header of every attempt.' },
  webhook_id: string,
  url: { ...url, description: 'Where it is sent.' },
  job_id: string,
  type: {
    type: 'string',
    enum: terminalStatuses.map((status) => `job.${status}`),
  },
  status: { type: 'string', enum: deliveryStatuses },
  attempts: { type: 'array', items: deliveryAttemptSchema, description: 'The oldest first.' },
  error: { ...nullableString, description: 'Why it is not delivered yet, or was given up.' },
  next_attempt_at: { ...nullableTime, description: 'Earliest time of the next attempt; null unless pending.' },
  created_at: { ...time, description: 'When the event happened.' },
  finished_at: { ...nullableTime, description: 'When it was delivered or given up.' },
})

export const webhookTestSchema = record('WebhookTest', 'What came of a test of an endpoint.', {
  message_id: { ...string, description: 'The webhook-id header of the message.' },
  attempt: deliveryAttemptSchema,
})

export const webhookListSchema = listOf(webhookSchema, 'A page of webhook endpoints, newest first.')
export const deliveryListSchema = listOf(deliverySchema, 'A page of webhook deliveries, newest first.')

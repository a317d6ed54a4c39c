// What the server sends to webhook endpoints. docs/webhooks.md.
import { endedJob } from './examples.ts'

const createdAt = '2026-11-22T13:02:10.040Z'
const words: Readonly<Record<string, string>> = {
  'job.succeeded': 'A generation succeeded',
  'job.failed': 'A generation failed',
  'job.canceled': 'A generation was canceled',
  'job.expired': 'A generation expired',
  'job.needs_review': 'A generation needs a review',
}

const parameters = [
  ['webhook-id', 'Id of the delivery, the same at each attempt.', 'dlv_4a7a2b0f6d0e4a0f'],
  ['webhook-timestamp', 'When this attempt was signed, in seconds since 1970.', '1795168800'],
  [
    'webhook-signature',
    '`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`, with the secret of the endpoint.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
].map(([name, description, example]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
}))

/** The `webhooks` of the document, by the names of their events. */
export function describeWebhooks(events: readonly string[]): object {
  return Object.fromEntries([
    ...events.map((event) => [event, { post: describeWebhook(event) }]),
    ['webhook.test', { post: describeTest() }],
  ])
}

function describeTest(): object {
  const data = { webhook_id: 'wh_01m81n4sg6e009ehdb3x9q6c7r' }
  return {
    operationId: 'webhook_test',
    tags: ['Webhooks'],
    summary: 'A test of an endpoint',
    description:
      'Sent once by POST /v1/webhooks/{webhook_id}/test, signed as every message is. No generation ended; answer 2xx.',
    security: [],
    parameters,
    requestBody: describeBody('webhook.test', 'When it was sent.', data, {
      type: 'object',
      required: ['webhook_id'],
      properties: { webhook_id: { type: 'string', description: 'The endpoint.' } },
    }),
    responses: { '2XX': { description: 'The test succeeded.' }, '4XX': { description: 'The test failed.' } },
  }
}

function describeBody(event: string, when: string, example: object, data: object, at: string | null = createdAt) {
  return {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['type', 'timestamp', 'data'],
          properties: {
            type: { type: 'string', const: event },
            timestamp: { type: 'string', format: 'date-time', description: when },
            data,
          },
        },
        example: { type: event, timestamp: at, data: example },
      },
    },
  }
}

function describeWebhook(event: string): object {
  const status = event.slice('job.'.length)
  return {
    operationId: `webhook_${status}`,
    tags: ['Webhooks'],
    summary: words[event] ?? event,
    description:
      'Sent at least once to each endpoint of the account when a job ends, signed as standardwebhooks.com describes. Verify the signature before you trust the body.',
    security: [],
    parameters,
    requestBody: describeBody(
      event,
      'When the job ended.',
      endedJob(status),
      { $ref: '#/components/schemas/Job' },
      endedJob(status).finished_at,
    ),
    responses: {
      '2XX': { description: 'The delivery was accepted.' },
      410: { description: 'The endpoint wants no more deliveries and is disabled.' },
      '4XX': { description: 'The delivery failed and is tried again later, for about a day.' },
    },
  }
}

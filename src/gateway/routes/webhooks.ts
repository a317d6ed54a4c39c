// /v1/webhooks: webhook endpoints and their deliveries.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { DeliverySchema, TestWebhookResponseSchema, WebhookSchema } from '../../../gen/mediagen/v1/webhooks_pb.ts'
import { toTimestampText } from '../../core/clock.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { oneOf, page, readQuery } from '../query.ts'
import { deliveryStatusCodes, toListOf, toRecord } from '../records.ts'
import { webhookBodySchema } from '../schemas/bodies.ts'
import {
  createdWebhookSchema,
  deliveryListSchema,
  rotatedWebhookSchema,
  webhookListSchema,
  webhookSchema,
  webhookTestSchema,
  deliverySchema,
} from '../schemas/webhook-schemas.ts'

interface WebhookParams {
  webhook_id: string
}

const permission = 'webhooks'

const path = { webhook_id: 'Endpoint id.' }
const errors = ['webhook_not_found'] as const
const deliveriesQuery = { status: oneOf('Only deliveries in this state.', deliveryStatusCodes), ...page }

/** Adds the routes. */
export function addWebhookRoutes(app: FastifyInstance, core: CoreClient): void {
  app.get(
    '/v1/webhooks',
    {
      config: { permission },
      schema: {
        operation: { id: 'listWebhooks', summary: 'List webhook endpoints. The newest come first.', query: page },
        response: { 200: webhookListSchema },
      },
    },
    async (request) => {
      const query = readQuery(request, page)
      const { webhooks, total } = await core.webhooks.listWebhooks(query, forward(request))
      return toListOf(WebhookSchema, webhooks, total, query)
    },
  )

  app.post<{ Body: { url: string; description?: string | null; include_input?: boolean } }>(
    '/v1/webhooks',
    {
      config: { permission },
      schema: {
        operation: {
          id: 'createWebhook',
          summary: 'Register a webhook endpoint. It receives a signed webhook (standardwebhooks.com) when a job ends.',
          errors: ['too_many_webhooks'],
        },
        body: webhookBodySchema,
        response: { 201: createdWebhookSchema },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      const { url, description, include_input: includeInput = false } = request.body
      const { webhook, secret } = await core.webhooks.createWebhook(
        { url, description: description ?? '', includeInput },
        forward(request),
      )
      reply.code(201).header('location', `/v1/webhooks/${webhook?.webhookId}`)
      return { ...toRecord(WebhookSchema, webhook), secret }
    },
  )

  app.get<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id',
    {
      config: { permission },
      schema: {
        operation: { id: 'getWebhook', summary: 'Read a webhook endpoint. Its secret is left out.', path, errors },
        response: { 200: webhookSchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { webhook } = await core.webhooks.getWebhook({ webhookId: request.params.webhook_id }, forward(request))
      return toRecord(WebhookSchema, webhook)
    },
  )

  addSecretRoute(app, core)
  addResendingRoutes(app, core)

  app.delete<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id',
    {
      config: { permission },
      schema: {
        operation: {
          id: 'deleteWebhook',
          summary: 'Delete a webhook endpoint. Its pending deliveries are dropped.',
          path,
          answers: { 204: { description: 'Deleted.' } },
          errors,
        },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      await core.webhooks.deleteWebhook({ webhookId: request.params.webhook_id }, forward(request))
      return reply.code(204).send()
    },
  )

  app.get<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id/deliveries',
    {
      config: { permission },
      schema: {
        operation: {
          id: 'listDeliveries',
          summary: 'List the deliveries to a webhook endpoint. They come with their attempts, the newest first.',
          path,
          query: deliveriesQuery,
          errors,
        },
        response: { 200: deliveryListSchema },
      },
    },
    async (request) => {
      const query = readQuery(request, deliveriesQuery)
      const { deliveries, total } = await core.webhooks.listDeliveries(
        { webhookId: request.params.webhook_id, ...query },
        forward(request),
      )
      return toListOf(DeliverySchema, deliveries, total, query)
    },
  )
}

function addSecretRoute(app: FastifyInstance, core: CoreClient): void {
  app.post<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id/rotate-secret',
    {
      config: { permission },
      schema: {
        operation: {
          id: 'rotateWebhookSecret',
          summary:
            'Replace the secret of a webhook endpoint. For a day messages are signed with the one before it as well.',
          path,
          errors,
        },
        response: { 200: rotatedWebhookSchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { webhook, secret, previousSecretUntil } = await core.webhooks.rotateWebhookSecret(
        { webhookId: request.params.webhook_id },
        forward(request),
      )
      return {
        ...toRecord(WebhookSchema, webhook),
        secret,
        previous_secret_until: previousSecretUntil && toTimestampText(timestampMs(previousSecretUntil)),
      }
    },
  )
}

/** What sends a message now: a test, or a delivery once more. */
function addResendingRoutes(app: FastifyInstance, core: CoreClient): void {
  app.post<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id/test',
    {
      config: { permission },
      schema: {
        operation: {
          id: 'testWebhook',
          summary:
            'Send a test to a webhook endpoint now. The message is signed and has the type `webhook.test`; the answer says what came of it. Nothing is recorded or tried again.',
          path,
          errors,
        },
        response: { 200: webhookTestSchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { webhook_id: webhookId } = request.params
      return toRecord(TestWebhookResponseSchema, await core.webhooks.testWebhook({ webhookId }, forward(request)))
    },
  )

  app.post<{ Params: WebhookParams & { delivery_id: string } }>(
    '/v1/webhooks/:webhook_id/deliveries/:delivery_id/redeliver',
    {
      config: { permission },
      schema: {
        operation: {
          id: 'redeliverOwnDelivery',
          summary: 'Send a delivery again. It is due at once, with the full number of attempts.',
          path: { ...path, delivery_id: 'Delivery id.' },
          errors: ['webhook_not_found', 'delivery_not_found'],
        },
        response: { 200: deliverySchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { webhook_id: webhookId, delivery_id: deliveryId } = request.params
      const { delivery } = await core.webhooks.redeliverOwnDelivery({ webhookId, deliveryId }, forward(request))
      return toRecord(DeliverySchema, delivery)
    },
  )
}

// /v1/webhooks: webhook endpoints and their deliveries.
import type { FastifyInstance } from 'fastify'
import { DeliveryStatus } from '../../gen/mediagen/v1/webhooks_pb.ts'
import { type CoreClient, forward } from './core-client.ts'
import { page, type Parameter, readQuery } from './query.ts'
import { deliveryStatusNames, parseDeliveryStatus, toDeliveryRecord, toList, toWebhookRecord } from './records.ts'
import {
  createdWebhookSchema,
  deliveryListSchema,
  webhookBodySchema,
  webhookListSchema,
  webhookSchema,
} from './schemas.ts'

interface WebhookParams {
  webhook_id: string
}

const permission = 'webhooks'

const status: Parameter<DeliveryStatus> = (sent) => {
  if (sent === undefined) return DeliveryStatus.UNSPECIFIED
  const code = parseDeliveryStatus(sent)
  if (code === undefined) throw new Error(`must be one of ${deliveryStatusNames.join(', ')}`)
  return code
}

/** Adds the routes. */
export function addWebhookRoutes(app: FastifyInstance, core: CoreClient): void {
  app.post<{ Body: { url: string; description?: string | null } }>(
    '/v1/webhooks',
    { config: { permission }, schema: { body: webhookBodySchema, response: { 201: createdWebhookSchema } } },
    async (request, reply) => {
      readQuery(request, {})
      const { url, description } = request.body
      const { webhook, secret } = await core.webhooks.createWebhook(
        { url, description: description ?? '' },
        forward(request),
      )
      const { webhook_id, ...record } = toWebhookRecord(webhook)
      reply.code(201).header('location', `/v1/webhooks/${webhook_id}`)
      return { webhook_id, ...record, secret }
    },
  )

  app.get(
    '/v1/webhooks',
    { config: { permission }, schema: { response: { 200: webhookListSchema } } },
    async (request) => {
      const query = readQuery(request, page)
      const { webhooks, total } = await core.webhooks.listWebhooks(query, forward(request))
      return toList(webhooks.map(toWebhookRecord), total, query)
    },
  )

  app.get<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id',
    { config: { permission }, schema: { response: { 200: webhookSchema } } },
    async (request) => {
      readQuery(request, {})
      const { webhook } = await core.webhooks.getWebhook({ webhookId: request.params.webhook_id }, forward(request))
      return toWebhookRecord(webhook)
    },
  )

  app.delete<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id',
    { config: { permission } },
    async (request, reply) => {
      readQuery(request, {})
      await core.webhooks.deleteWebhook({ webhookId: request.params.webhook_id }, forward(request))
      return reply.code(204).send()
    },
  )

  app.get<{ Params: WebhookParams }>(
    '/v1/webhooks/:webhook_id/deliveries',
    { config: { permission }, schema: { response: { 200: deliveryListSchema } } },
    async (request) => {
      const query = readQuery(request, { status, ...page })
      const { deliveries, total } = await core.webhooks.listDeliveries(
        { webhookId: request.params.webhook_id, ...query },
        forward(request),
      )
      return toList(deliveries.map(toDeliveryRecord), total, query)
    },
  )
}

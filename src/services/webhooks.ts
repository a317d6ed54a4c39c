// WebhooksService: the endpoints of an account and their deliveries, and the operator's view of all of them.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { DeliveryStatus as DeliveryStatusCode, type WebhooksService } from '../../gen/mediagen/v1/webhooks_pb.ts'
import type { Actor } from '../core/accounts/audit.ts'
import type { DeliveryStatus, RedeliverOutcome, SendTest, Webhook, WebhookStore } from '../core/accounts/webhook.ts'
import { MediagenError, type Violation } from '../core/errors.ts'
import { createSlots, type SlotBounds } from '../guards/slots.ts'
import { actorOf, callerOf } from './calls/caller.ts'
import { findEmpty, findHidden, findLong, readPage, refuse } from './calls/request.ts'
import { toAttemptMessage, toDeliveryMessage, toDeliveryStatus, toWebhookMessage } from './messages/convert.ts'
import {
  createWebhookSecret,
  findBadWebhookUrl,
  toSecretText,
  type WebhookTargets,
} from './messages/webhook-endpoint.ts'

const longestDescription = 200
const retryTestSeconds = 2
// Stands for the id of the endpoint of starts, whose owner may want its secret before there is a first start.
const startsId = 'starts'

/** What the service needs. */
export interface WebhooksDeps {
  readonly store: WebhookStore
  readonly targets: WebhookTargets
  /** Endpoints that an account may have. */
  readonly maxWebhooks: number
  readonly sendTest: SendTest
  /** Tests under way, by account and in this process. */
  readonly tests: SlotBounds
}

/** Creates the service. */
export function createWebhooksService(deps: WebhooksDeps): ServiceImpl<typeof WebhooksService> {
  const { store, maxWebhooks } = deps
  const tests = createSlots(deps.tests)

  async function findWebhook(accountId: string, webhookId: string): Promise<Webhook> {
    const webhook = await (webhookId === startsId
      ? store.findStartWebhook(accountId)
      : store.getWebhook(accountId, webhookId))
    if (!webhook) throw webhookNotFound(webhookId)
    return webhook
  }

  return {
    async createWebhook(request, context) {
      refuse(findBadTexts(request, deps.targets))
      const secret = createWebhookSecret()
      const { accountId } = callerOf(context)
      const { url, description, includeInput } = request
      const draft = { accountId, url, description: description || null, includeInput, secret }
      const created = await store.createWebhook(draft, maxWebhooks)
      switch (created.outcome) {
        case 'created':
          return { webhook: toWebhookMessage(created.webhook), secret: toSecretText(secret) }
        case 'too_many':
          throw new MediagenError(
            'too_many_webhooks',
            `The account has ${maxWebhooks} webhook endpoints, which is the limit. Delete one first.`,
          )
        case 'no_account':
          throw new Error(`the key belongs to the account ${accountId}, which does not exist`)
      }
    },

    async getWebhook(request, context) {
      return { webhook: toWebhookMessage(await findWebhook(callerOf(context).accountId, request.webhookId)) }
    },

    async listWebhooks(request, context) {
      const { items, total } = await store.listWebhooks(callerOf(context).accountId, readPage(request))
      return { webhooks: items.map(toWebhookMessage), total }
    },

    async rotateWebhookSecret(request, context) {
      const secret = createWebhookSecret()
      const { accountId } = callerOf(context)
      const { webhookId } =
        request.webhookId === startsId ? await store.openStartWebhook(accountId, createWebhookSecret()) : request
      const rotated = await store.rotateWebhookSecret(accountId, webhookId, secret)
      if (!rotated) throw webhookNotFound(request.webhookId)
      const { webhook, previousUntilMs } = rotated
      return {
        webhook: toWebhookMessage(webhook),
        secret: toSecretText(secret),
        previousSecretUntil: timestampFromMs(previousUntilMs),
      }
    },

    async testWebhook({ webhookId }, context) {
      const { accountId } = callerOf(context)
      const { url, ...found } = await findWebhook(accountId, webhookId)
      if (url === '')
        refuse([{ pointer: '/webhook_id', detail: 'is the endpoint of starts, which has no URL of its own' }])
      const endpoint = await store.getSigningEndpoint(accountId, found.webhookId)
      if (!endpoint) throw webhookNotFound(webhookId)
      const slot = tests.take(accountId)
      if (typeof slot === 'string') throw tooManyTests(slot, deps.tests)
      try {
        const { messageId, attempt } = await deps.sendTest(endpoint, context.signal)
        return { messageId, attempt: toAttemptMessage(attempt) }
      } finally {
        slot()
      }
    },

    async deleteWebhook(request, context) {
      const { accountId } = callerOf(context)
      const { webhookId } = request.webhookId === startsId ? await findWebhook(accountId, startsId) : request
      if (!(await store.deleteWebhook(accountId, webhookId))) throw webhookNotFound(request.webhookId)
      return {}
    },

    async listDeliveries(request, context) {
      const { accountId } = callerOf(context)
      const status = readDeliveryStatus(request.status)
      const page = readPage(request)
      const { webhookId } = await findWebhook(accountId, request.webhookId)
      const { items, total } = await store.listDeliveries({ accountId, webhookId, jobId: null, status, ...page })
      return { deliveries: items.map(toDeliveryMessage), total }
    },

    async redeliverOwnDelivery({ webhookId, deliveryId }, context) {
      const { accountId } = callerOf(context)
      const owner = { accountId, webhookId: (await findWebhook(accountId, webhookId)).webhookId }
      return { delivery: readRenewed(deliveryId, await store.redeliver(deliveryId, actorOf(context, null), owner)) }
    },
  }
}

/** Creates the operator's part, for AdminService. */
export function createWebhookAdmin(
  store: WebhookStore,
  by: (context: HandlerContext) => Actor,
): Pick<ServiceImpl<typeof AdminService>, 'findWebhooks' | 'findDeliveries' | 'redeliver'> {
  return {
    async findWebhooks(request) {
      const { items, total } = await store.listWebhooks(request.accountId || null, readPage(request))
      return { webhooks: items.map(toWebhookMessage), total }
    },

    async findDeliveries(request) {
      const { items, total } = await store.listDeliveries({
        accountId: request.accountId || null,
        webhookId: null,
        jobId: request.jobId || null,
        status: readDeliveryStatus(request.status),
        ...readPage(request),
      })
      return { deliveries: items.map(toDeliveryMessage), total }
    },

    async redeliver(request, context) {
      const { deliveryId } = request
      return { delivery: readRenewed(deliveryId, await store.redeliver(deliveryId, by(context))) }
    },
  }
}

/** @throws MediagenError `delivery_not_found`, `webhook_not_found` */
function readRenewed(deliveryId: string, renewed: RedeliverOutcome): ReturnType<typeof toDeliveryMessage> {
  switch (renewed.outcome) {
    case 'done':
      return toDeliveryMessage(renewed.delivery)
    case 'no_delivery':
      throw new MediagenError('delivery_not_found', `There is no delivery "${deliveryId}".`)
    case 'no_webhook':
      throw new MediagenError(
        'webhook_not_found',
        `The endpoint of the delivery "${deliveryId}" was deleted, and its secret with it.`,
      )
  }
}

function tooManyTests(bound: 'perOwner' | 'inAll', { perOwner, inAll }: SlotBounds): MediagenError {
  const retry = { retryAfterSeconds: retryTestSeconds }
  if (bound === 'inAll')
    return new MediagenError(
      'overloaded',
      `This server sends ${inAll} tests of webhooks, which is the limit (MEDIAGEN_WEBHOOK_UNPROVEN_PLACES). Try again later.`,
      retry,
    )
  return new MediagenError(
    'rate_limited',
    `The account has ${perOwner} tests of webhooks under way, which is the limit (MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT). Wait for their answers.`,
    retry,
  )
}

function findBadTexts(
  { url, description }: { url: string; description: string },
  targets: WebhookTargets,
): Violation[] {
  const violations = [...findEmpty({ url }), ...findHidden({ url, description })]
  const badUrl = url === '' ? null : findBadWebhookUrl(url, targets)
  if (badUrl !== null) violations.push({ pointer: '/url', detail: badUrl })
  violations.push(...findLong('description', description, longestDescription))
  if (!description.isWellFormed())
    violations.push({ pointer: '/description', detail: 'must be valid Unicode: it holds a lone surrogate' })
  return violations
}

function readDeliveryStatus(code: DeliveryStatusCode): DeliveryStatus | null {
  if (code === DeliveryStatusCode.UNSPECIFIED) return null
  const status = toDeliveryStatus(code)
  if (!status) refuse([{ pointer: '/status', detail: 'is not a known state' }])
  return status ?? null
}

function webhookNotFound(webhookId: string): MediagenError {
  return new MediagenError('webhook_not_found', `There is no webhook endpoint "${webhookId}".`)
}

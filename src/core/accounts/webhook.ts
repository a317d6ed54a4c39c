// Webhooks: endpoints, deliveries, how many may be under way, and the part of the store that keeps them.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Job, terminalStatuses } from '../jobs/job.ts'
import type { Page, PageRequest } from '../page.ts'
import type { TraceContext } from '../traces.ts'
import type { Actor } from './audit.ts'

/** Number of attempts kept of a delivery, the latest ones. */
export const keptAttempts = 50

/** How long deliveries are kept after they ended, in milliseconds: 30 days. */
export const keptDeliveryMs = 30 * 86_400_000

/**
 * A slow endpoint counts as prompt again after this many prompt attempts, so deliberate slowness costs an endpoint many
 * answers each time.
 */
export const probation = 10

/** The event, as the receiver reads it. */
export type WebhookEvent = `job.${(typeof terminalStatuses)[number]}`

/** An endpoint of an account, without its secret, which is shown only once. Times are milliseconds since 1970. */
export interface Webhook {
  readonly webhookId: string
  readonly accountId: string
  /** Empty for the endpoint of starts, whose messages go to the URLs that starts name. */
  readonly url: string
  readonly description: string | null
  /** Whether messages carry the job's input, without large values. */
  readonly includeInput: boolean
  readonly createdAtMs: number
  /** When it answered 410 Gone and was disabled. */
  readonly disabledAtMs: number | null
}

/** An endpoint to register. */
export interface WebhookDraft extends Pick<Webhook, 'accountId' | 'url' | 'description' | 'includeInput'> {
  /** Signs its messages. */
  readonly secret: Uint8Array
}

/** Where a message to an endpoint goes, and what signs it. */
export interface SigningEndpoint {
  readonly webhookId: string
  readonly url: string
  /** All that sign, the newest first. */
  readonly secrets: readonly Buffer[]
}

/** Sends a test message to an endpoint at once, and answers with what came of it. It never rejects. */
export type SendTest = (
  endpoint: SigningEndpoint,
  signal: AbortSignal,
) => Promise<{ readonly messageId: string; readonly attempt: DeliveryAttempt }>

/** The endpoint of a delivery, as its owner names it. */
export interface DeliveryOwner {
  readonly accountId: string
  readonly webhookId: string
}

/** Whether a delivery to `endpoint` is the owner's; without an owner every one is. */
export function owns(owner: DeliveryOwner | undefined, endpoint: DeliveryOwner): boolean {
  return owner === undefined || (owner.accountId === endpoint.accountId && owner.webhookId === endpoint.webhookId)
}

/** What became of a secret that was replaced. */
export interface SecretRotation {
  readonly webhook: Webhook
  /** Until when it still signs. */
  readonly previousUntilMs: number
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'
export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const satisfies readonly DeliveryStatus[]

export interface AttemptResult {
  /** HTTP status of the answer; null when there was none. */
  readonly responseStatus: number | null
  /** Why it failed, as the owner of the endpoint may read it; null if it succeeded. */
  readonly error: string | null
  readonly durationMs: number
}

export interface DeliveryAttempt extends AttemptResult {
  readonly attemptedAtMs: number
}

/** One event for one endpoint. */
export interface Delivery {
  /** Also the `webhook-id` of every attempt. */
  readonly deliveryId: string
  readonly webhookId: string
  readonly accountId: string
  readonly url: string
  readonly jobId: string
  readonly event: WebhookEvent
  readonly status: DeliveryStatus
  /** The attempts, the oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** Why it is not delivered yet, or was given up; null if it was delivered. */
  readonly error: string | null
  /** Earliest time of the next attempt; during an attempt, when another process may try. Null unless pending. */
  readonly nextAttemptAtMs: number | null
  /** When the event happened. */
  readonly createdAtMs: number
  /** When it was delivered or given up. */
  readonly finishedAtMs: number | null
}

export interface ClaimedDelivery {
  readonly deliveryId: string
  readonly webhookId: string
  readonly url: string
  /** All that sign the message, the newest first. */
  readonly secrets: readonly Buffer[]
  readonly event: WebhookEvent
  /** The job as it was when the event happened. */
  readonly job: Job
  /** Where the start of the job is in a trace; null without traces. */
  readonly trace: TraceContext | null
  /** Its input without large values, where the endpoint gets it; else null. */
  readonly input: JsonObject | null
  readonly createdAtMs: number
  /** 1 for the first attempt; the count restarts when the delivery is sent again on request. */
  readonly attempt: number
  /** Fencing token of the claim: a report with an older token changes nothing. */
  readonly token: number
  /** Whether the endpoint is known to answer promptly. */
  readonly proven: boolean
}

/** An endpoint and its account. */
export interface Endpoint {
  readonly webhookId: string
  readonly accountId: string
  /** Whether its last attempt was prompt; false before the first one, and for a while after a slow one. */
  readonly proven: boolean
}

/** Limits of concurrent attempts, so slow endpoints leave room for others. */
export interface DeliveryCaps {
  readonly perWebhook: number
  readonly perAccount: number
  /** To endpoints that are not known to answer promptly; `inAll` for this process. */
  readonly unproven: { readonly inAll: number; readonly perWebhook: number; readonly perAccount: number }
}

/** Endpoints and accounts whose slots are all taken. */
export interface FullSlots {
  readonly webhookIds: readonly string[]
  readonly accountIds: readonly string[]
  /** Accounts without a slot left for endpoints that are not known to be prompt; null if no account has one. */
  readonly unprovenAccountIds: readonly string[] | null
}

/**
 * Counts the free slots of endpoints and accounts.
 * @param underWay the endpoints of the attempts of all processes, once for each attempt
 * @param unprovenHere how many attempts of this process are to endpoints that are not known to answer promptly
 */
export function createRoom(caps: DeliveryCaps, underWay: readonly Endpoint[], unprovenHere: number) {
  const webhooks = new Map<string, number>()
  const accounts = new Map<string, number>()
  const unproven = { webhooks: new Map<string, number>(), accounts: new Map<string, number>(), inAll: 0 }
  const count = (taken: Map<string, number>, id: string): void => void taken.set(id, (taken.get(id) ?? 0) + 1)
  function take({ webhookId, accountId, proven }: Endpoint): void {
    count(webhooks, webhookId)
    count(accounts, accountId)
    if (proven) return
    count(unproven.webhooks, webhookId)
    count(unproven.accounts, accountId)
    unproven.inAll += 1
  }
  for (const endpoint of underWay) take(endpoint)
  unproven.inAll = unprovenHere
  const fullOf = (taken: ReadonlyMap<string, number>, cap: number): string[] =>
    [...taken].filter(([, slots]) => slots >= cap).map(([id]) => id)
  return {
    take,
    of({ webhookId, accountId, proven }: Endpoint): number {
      const slots = Math.min(
        caps.perWebhook - (webhooks.get(webhookId) ?? 0),
        caps.perAccount - (accounts.get(accountId) ?? 0),
      )
      if (proven) return slots
      return Math.min(
        slots,
        caps.unproven.inAll - unproven.inAll,
        caps.unproven.perWebhook - (webhooks.get(webhookId) ?? 0),
        caps.unproven.perAccount - (unproven.accounts.get(accountId) ?? 0),
      )
    },
    full: (): FullSlots => ({
      webhookIds: [...fullOf(webhooks, caps.perWebhook), ...fullOf(unproven.webhooks, caps.unproven.perWebhook)],
      accountIds: fullOf(accounts, caps.perAccount),
      unprovenAccountIds:
        unproven.inAll >= caps.unproven.inAll ? null : fullOf(unproven.accounts, caps.unproven.perAccount),
    }),
  }
}

/** Which deliveries a sender wants. */
export interface DeliveryClaim extends DeliveryCaps {
  /** Maximum number in total. */
  readonly limit: number
  /** How many attempts of this process are under way to endpoints that are not known to answer promptly. */
  readonly unprovenHere: number
  /** Duration of the claim; then another sender may try. */
  readonly leaseMs: number
}

/** What becomes of a delivery after an attempt. */
export type DeliveryNext =
  | { readonly status: 'delivered' }
  | { readonly status: 'pending'; readonly waitMs: number }
  | { readonly status: 'failed' }

/** The report on a claimed delivery. */
export interface DeliveryReport {
  readonly deliveryId: string
  readonly token: number
  /** Null if the attempt was aborted and does not count. */
  readonly attempt: AttemptResult | null
  readonly next: DeliveryNext
  /** Whether the attempt ended promptly, whatever its result; ignored without an attempt. */
  readonly prompt: boolean
  /** The endpoint answered 410 Gone: it is disabled, and its pending deliveries are given up. */
  readonly gone: boolean
}

/** Null for all. */
export interface DeliveryFilter extends PageRequest {
  readonly accountId: string | null
  readonly webhookId: string | null
  readonly jobId: string | null
  readonly status: DeliveryStatus | null
}

export type CreateWebhookOutcome =
  | { readonly outcome: 'created'; readonly webhook: Webhook }
  | { readonly outcome: 'too_many' }
  | { readonly outcome: 'no_account' }

export type RedeliverOutcome =
  | { readonly outcome: 'done'; readonly delivery: Delivery }
  | { readonly outcome: 'no_delivery' }
  | { readonly outcome: 'no_webhook' }

/** The part of the store that keeps endpoints and deliveries. A job that becomes terminal leaves a delivery for each endpoint, in the same transaction. */
export interface WebhookStore {
  /** @param limit maximum number of endpoints of the account */
  createWebhook(draft: WebhookDraft, limit: number): Promise<CreateWebhookOutcome>
  getWebhook(accountId: string, webhookId: string): Promise<Webhook | null>
  /** The endpoint of starts; null if the account has none yet. */
  findStartWebhook(accountId: string): Promise<Webhook | null>
  /**
   * The endpoint of starts, which is made with this secret if the account has none. It does not count toward the limit of endpoints.
   * @throws Error if there is no such account
   */
  openStartWebhook(accountId: string, secret: Uint8Array): Promise<Webhook>
  /** What a message to an endpoint needs; null if the account has no such endpoint. */
  getSigningEndpoint(accountId: string, webhookId: string): Promise<SigningEndpoint | null>
  /** The newest first; of all accounts when `accountId` is null. */
  listWebhooks(accountId: string | null, page: PageRequest): Promise<Page<Webhook>>
  /** Gives an endpoint another secret; the one before it signs for a while longer. Null if the account has no such endpoint. */
  rotateWebhookSecret(accountId: string, webhookId: string, secret: Uint8Array): Promise<SecretRotation | null>
  /** Erases the secrets and gives up pending deliveries. False if the account has no such endpoint. */
  deleteWebhook(accountId: string, webhookId: string): Promise<boolean>

  /** The newest first. */
  listDeliveries(filter: DeliveryFilter): Promise<Page<Delivery>>
  /**
   * Makes a delivery due now, with the full number of attempts.
   * @param owner only a delivery to this endpoint of this account; any by default
   */
  redeliver(deliveryId: string, by?: Actor, owner?: DeliveryOwner): Promise<RedeliverOutcome>
  /** Whether a delivery is due to an endpoint with a free slot. Cheap enough to poll. */
  hasDueDelivery(claim: DeliveryClaim): Promise<boolean>
  /** Claims due deliveries for a sender; endpoints take turns. Claims of all senders count toward the slots of endpoints and accounts. */
  claimDeliveries(claim: DeliveryClaim): Promise<readonly ClaimedDelivery[]>
  /** Records the outcome of an attempt. False if the token is stale: nothing changed. */
  reportDelivery(report: DeliveryReport): Promise<boolean>
}

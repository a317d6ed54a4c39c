// The operator's commands about webhooks: endpoints, deliveries, and sending a delivery again.
import { type Command, InvalidArgumentError } from 'commander'
import { type Delivery, DeliveryStatus, type Webhook } from '../../gen/mediagen/v1/webhooks_pb.ts'
import { type DeliveryStatus as DeliveryStatusName, deliveryStatuses } from '../core/webhook.ts'
import { pageBounds } from '../core/page.ts'
import { parsePageLimit, readAll, toTime, withAdmin } from './admin.ts'
import { type Printed, printList, printRecord } from './print.ts'

const codes = {
  pending: DeliveryStatus.PENDING,
  delivered: DeliveryStatus.DELIVERED,
  failed: DeliveryStatus.FAILED,
} as const satisfies Record<DeliveryStatusName, DeliveryStatus>
const names = new Map<DeliveryStatus, string>(Object.entries(codes).map(([name, code]) => [code, name]))

interface DeliveryOptions {
  readonly account: string
  readonly job: string
  readonly status?: DeliveryStatus
  readonly limit: number
  readonly json?: boolean
}

/** Adds the commands. */
export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhooks').description('Webhook endpoints of accounts and their deliveries')
  webhooks
    .command('list')
    .description('List webhook endpoints, without their secrets')
    .option('--account <id>', 'only endpoints of this account', '')
    .option('--json', 'print JSON')
    .action(({ account, json }: { account: string; json?: boolean }) =>
      withAdmin(async (admin) => {
        const all = await readAll(async (offset) => {
          const page = await admin.findWebhooks({ accountId: account, limit: pageBounds.largestLimit, offset })
          return { items: page.webhooks, total: page.total }
        })
        printList(all.map(toPrintedWebhook), json === true)
      }),
    )
  webhooks
    .command('deliveries')
    .description('List deliveries with their outcome and their next attempt, newest first')
    .option('--account <id>', 'only deliveries of this account', '')
    .option('--job <id>', 'only deliveries about this job', '')
    .option('--status <status>', `only deliveries in this state: ${deliveryStatuses.join(', ')}`, parseStatus)
    .option('--limit <count>', `number of deliveries, at most ${pageBounds.largestLimit}`, parsePageLimit, 100)
    .option('--json', 'print JSON, with every attempt')
    .action(({ account, job, status = DeliveryStatus.UNSPECIFIED, limit, json }: DeliveryOptions) =>
      withAdmin(async (admin) => {
        const { deliveries } = await admin.findDeliveries({ accountId: account, jobId: job, status, limit })
        printList(deliveries.map(json ? toPrintedDelivery : toDeliveryRow), json === true)
      }),
    )
  webhooks
    .command('redeliver <delivery_id>')
    .description('Send a delivery again at once, with the full number of attempts; a running server sends it')
    .option('--json', 'print JSON')
    .action((deliveryId: string, { json }: { json?: boolean }) =>
      withAdmin(async (admin) => {
        const { delivery } = await admin.redeliver({ deliveryId })
        if (delivery) printRecord(json ? toPrintedDelivery(delivery) : toDeliveryRow(delivery), json === true)
      }),
    )
}

function toPrintedWebhook(webhook: Webhook): Printed {
  return {
    webhook_id: webhook.webhookId,
    account_id: webhook.accountId,
    url: webhook.url,
    description: webhook.description ?? null,
    created_at: toTime(webhook.createdAt),
    disabled_at: toTime(webhook.disabledAt),
  }
}

function toPrintedDelivery(delivery: Delivery): Printed {
  return {
    ...toDeliveryRow(delivery),
    attempts: delivery.attempts.map((attempt) => ({
      attempted_at: toTime(attempt.attemptedAt),
      response_status: attempt.responseStatus ?? null,
      error: attempt.error ?? null,
      duration_seconds: attempt.durationSeconds,
    })),
  }
}

/** A flat record for a table, with the number of attempts. */
function toDeliveryRow(delivery: Delivery): Printed {
  return {
    delivery_id: delivery.deliveryId,
    webhook_id: delivery.webhookId,
    account_id: delivery.accountId,
    job_id: delivery.jobId,
    type: delivery.type,
    url: delivery.url,
    status: names.get(delivery.status) ?? null,
    attempts: delivery.attempts.length,
    error: delivery.error ?? null,
    next_attempt_at: toTime(delivery.nextAttemptAt),
    created_at: toTime(delivery.createdAt),
    finished_at: toTime(delivery.finishedAt),
  }
}

function parseStatus(written: string): DeliveryStatus {
  if (!Object.hasOwn(codes, written)) throw new InvalidArgumentError(`The states are ${deliveryStatuses.join(', ')}.`)
  return codes[written as DeliveryStatusName]
}

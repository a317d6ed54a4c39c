// The operator's commands about webhooks: endpoints, deliveries, and sending a delivery again.
import { type Command, Option } from 'commander'
import { type Delivery, DeliverySchema, WebhookSchema } from '../../gen/mediagen/v1/webhooks_pb.ts'
import { pageBounds } from '../core/page.ts'
import { deliveryStatusCodes, toRecord } from '../gateway/records.ts'
import { readAll, withAdmin } from './admin.ts'
import { parsePageLimit } from './user/counts.ts'
import type { Printed } from './user/print.ts'
import { withServer } from './user/server.ts'

interface DeliveryOptions {
  readonly account: string
  readonly job: string
  readonly status?: string
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
    .action(
      withAdmin(async (admin, { account: accountId }: { account: string }) =>
        (await readAll('webhooks', (page) => admin.findWebhooks({ accountId, ...page }))).map((webhook) =>
          toRecord(WebhookSchema, webhook),
        ),
      ),
    )
  webhooks
    .command('deliveries')
    .description('List deliveries with their outcome and their next attempt, newest first')
    .option('--account <id>', 'only deliveries of this account', '')
    .option('--job <id>', 'only deliveries about this job', '')
    .addOption(
      new Option('--status <status>', 'only deliveries in this state').choices([...deliveryStatusCodes.keys()]),
    )
    .option('--limit <count>', `number of deliveries, at most ${pageBounds.largestLimit}`, parsePageLimit, 100)
    .option('--json', 'print JSON, with every attempt')
    .action(
      withAdmin(async (admin, { account, job, status = '', limit, json }: DeliveryOptions) => {
        const filter = { accountId: account, jobId: job, status: deliveryStatusCodes.get(status) ?? 0 }
        const { deliveries } = await admin.findDeliveries({ ...filter, limit })
        return deliveries.map((delivery) => toPrinted(delivery, json))
      }),
    )
  webhooks
    .command('redeliver <delivery_id>')
    .description('Send a delivery again at once, with the full number of attempts; a running server sends it')
    .action(
      withAdmin(async (admin, deliveryId: string, { json }: { json?: boolean }) => {
        const { delivery } = await admin.redeliver({ deliveryId })
        return delivery && toPrinted(delivery, json)
      }),
    )
  webhooks
    .command('rotate-secret <webhook_id>')
    .description('Give a webhook endpoint of yours on a server another secret; the one before it signs for a day more')
    .action(
      withServer(async ({ client }, webhookId: string, _options: object, _command: Command) => {
        const { webhook_id, secret, previous_secret_until } = await client.rotateWebhookSecret(webhookId)
        return { webhook_id, secret, previous_secret_until }
      }),
    )
}

/** A table shows the number of attempts, JSON all of them. */
function toPrinted(delivery: Delivery, json = false): Printed {
  const record = toRecord(DeliverySchema, delivery)
  return json ? record : { ...record, attempts: delivery.attempts.length }
}

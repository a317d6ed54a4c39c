// The operator's commands about webhooks: endpoints, deliveries, and sending a delivery again.
import { type Command, Option } from 'commander'
import { type Delivery, DeliverySchema, WebhookSchema } from '../../../gen/mediagen/v1/webhooks_pb.ts'
import { pageBounds } from '../../core/page.ts'
import { deliveryStatusCodes, toRecord } from '../../gateway/records.ts'
import { parsePageLimit } from '../user/counts.ts'
import type { Printed } from '../user/print.ts'
import { addWideOption, changing, looking, readAll } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccountFilter, readAccountNames, withAccounts } from './common/find-account.ts'

const columns = ['webhook_id', 'account', 'url', 'disabled_at']
const deliveryColumns = ['delivery_id', 'status', 'type', 'attempts', 'next_attempt_at', 'error']

interface DeliveryOptions {
  readonly account?: string
  readonly job: string
  readonly status?: string
  readonly limit: number
}

/** Adds the commands. */
export function addWebhookCommands(parent: Command): void {
  const webhooks = parent.command('webhooks').description('Webhook endpoints of all accounts, and their deliveries')
  addWideOption(
    withExample(webhooks.command('list'), '--account "Press office"')
      .description('List webhook endpoints, without their secrets')
      .option('--account <account>', 'only endpoints of this account, by id or name'),
  ).action(
    looking(async ({ admin }, { account }: { account?: string }, _command: Command) => {
      const accountId = await findAccountFilter(admin, account)
      const all = await readAll('webhooks', (page) => admin.findWebhooks({ accountId, ...page }))
      const json = all.map((webhook) => toRecord(WebhookSchema, webhook))
      return { json, rows: withAccounts(json, await readAccountNames(admin)), columns }
    }),
  )
  addWideOption(
    withExample(webhooks.command('deliveries'), '--status failed')
      .description('List deliveries with their outcome and their next attempt, newest first')
      .option('--account <account>', 'only deliveries of this account, by id or name')
      .option('--job <id>', 'only deliveries about this job', '')
      .addOption(
        new Option('--status <status>', 'only deliveries in this state').choices([...deliveryStatusCodes.keys()]),
      )
      .option('--limit <count>', `number of deliveries, at most ${pageBounds.largestLimit}`, parsePageLimit, 100)
      .option('--json', 'print JSON, with every attempt'),
  ).action(
    looking(async ({ admin }, { account, job: jobId, status = '', limit }: DeliveryOptions, _command: Command) => {
      const accountId = await findAccountFilter(admin, account)
      const filter = { accountId, jobId, status: deliveryStatusCodes.get(status) ?? 0 }
      const { deliveries } = await admin.findDeliveries({ ...filter, limit })
      return {
        json: deliveries.map((delivery) => toRecord(DeliverySchema, delivery)),
        rows: deliveries.map(toRow),
        columns: deliveryColumns,
      }
    }),
  )
  withExample(webhooks.command('redeliver <delivery_id>'), 'dlv_01m81n4sg6e009ehdb3x9q6c7r')
    .description('Send a delivery again at once, with the full number of attempts; a running server sends it')
    .action(
      changing(async ({ admin }, deliveryId: string, _options: object, _command: Command) => {
        const { delivery } = await admin.redeliver({ deliveryId })
        return {
          json: toRecord(DeliverySchema, delivery),
          words: `A running server sends ${deliveryId} again now, about ${delivery?.jobId}.\n`,
        }
      }),
    )
}

/** A table shows the number of attempts. */
function toRow(delivery: Delivery): Printed {
  return { ...toRecord(DeliverySchema, delivery), attempts: delivery.attempts.length }
}

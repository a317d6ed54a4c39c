// Places of endpoints and accounts hold for an installation: two senders on one data directory make no more attempts than one.
import { expect, test } from 'vitest'
import { openReceiver } from '../../packages/net/test/receiver.ts'
import { startWebhookApp } from './webhook-app.ts'

test.for([
  ['MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT', '1', 1, 1],
  ['MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT', '2', 1, 2],
  ['MEDIAGEN_WEBHOOK_PLACES_PER_ACCOUNT', '3', 3, 3],
] as const)('%s=%s holds for two senders together', async ([setting, value, endpoints, places]) => {
  const settings = { [setting]: value }
  await using first = await startWebhookApp(settings)
  await using second = await startWebhookApp({ ...settings, MEDIAGEN_DATA_DIR: first.app.config.dataDir })
  await using receiver = await openReceiver()
  const { account } = first.app
  for (let i = 0; i < endpoints; i++) await first.register(receiver.url)
  // Endpoints have all their places once they have answered.
  await first.runJob()
  for (let i = 0; i < endpoints; i++) await receiver.next()
  await expect
    .poll(async () => (await first.app.admin.findDeliveries({})).deliveries.map(({ finishedAt }) => finishedAt))
    .not.toContain(undefined)
  receiver.answer = () => {}
  // Jobs end in both processes, and each looks for deliveries then.
  for (let i = 0; i < 4; i++) await Promise.all([first.runJob(), second.runJob(undefined, account)])
  for (let i = 0; i < places; i++) await receiver.next()

  // Both have looked again when each has delivered for another account.
  for (const hooks of [first, second]) {
    await using quick = await openReceiver()
    const other = await hooks.app.createAccount(10)
    await hooks.register(quick.url, other)
    await hooks.runJob(undefined, other)
    await quick.next()
  }
  expect(receiver.received).toHaveLength(endpoints + places)
})

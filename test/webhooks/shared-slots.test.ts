// Slots of endpoints and accounts hold for an installation: two senders on one data directory make no more attempts than one.
import { afterAll, expect, test } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import { startWebhookApp } from './webhook-app.ts'

/** Two senders on one data directory. */
async function startPair(settings: Readonly<Record<string, string>>) {
  const first = await startWebhookApp(settings)
  const second = await startWebhookApp({ ...settings, MEDIAGEN_DATA_DIR: first.app.config.dataDir })
  return [second, first] as const
}

const single = await startPair({ MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT: '1' })
// An endpoint may have fewer than its account, and the three of an account more.
const several = await startPair({ MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT: '2', MEDIAGEN_WEBHOOK_PLACES_PER_ACCOUNT: '3' })
afterAll(async () => {
  for (const hooks of [...single, ...several]) await hooks[Symbol.asyncDispose]()
})

test.for([
  ['MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT', 1, single, 1],
  ['MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT', 2, several, 1],
  ['MEDIAGEN_WEBHOOK_PLACES_PER_ACCOUNT', 3, several, 3],
] as const)('%s=%i holds for two senders together', async ([, slots, senders, endpoints]) => {
  await using receiver = await openReceiver()
  const [{ app, register, runJob, delivered }] = senders
  const account = await app.createAccount(100)
  for (let i = 0; i < endpoints; i++) await register(receiver.url, account)
  // Endpoints have all their slots once they have answered.
  await runJob(undefined, account)
  for (let i = 0; i < endpoints; i++) await receiver.next()
  await delivered(account)
  receiver.answer = () => {}
  // Jobs end in both processes, and each looks for deliveries then.
  for (let i = 0; i < 4; i++) await Promise.all(senders.map((hooks) => hooks.runJob(undefined, account)))
  for (let i = 0; i < slots; i++) await receiver.next()

  // Both have looked again when each has delivered for another account.
  for (const hooks of senders) {
    await using quick = await openReceiver()
    const other = await hooks.app.createAccount(10)
    await hooks.register(quick.url, other)
    await hooks.runJob(undefined, other)
    await quick.next()
  }
  expect(receiver.received).toHaveLength(endpoints + slots)
})

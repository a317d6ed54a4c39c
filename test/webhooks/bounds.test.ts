// What bounds webhooks: each setting, with one step past it. docs/limits.md, "Webhooks".
import { afterAll, expect, test } from 'vitest'
import { createTestClock } from '../gateway/test-clock.ts'
import { openReceiver, type Receiver } from '../outgoing/receiver.ts'
import { startWebhookApp, type WebhookApp } from './webhook-app.ts'

const clock = createTestClock()
const narrow = await startWebhookApp(
  {
    MEDIAGEN_WEBHOOK_ENDPOINTS: '2',
    MEDIAGEN_WEBHOOK_SECONDS: '1',
    MEDIAGEN_WEBHOOK_ANSWER_BYTES: '1024',
    MEDIAGEN_WEBHOOK_ATTEMPTS: '2',
  },
  { clock },
)
// An endpoint may have fewer than its account, and the three of an account more.
const crowded = await startWebhookApp({
  MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT: '2',
  MEDIAGEN_WEBHOOK_PLACES_PER_ACCOUNT: '3',
  MEDIAGEN_WEBHOOK_UNPROVEN_PLACES: '2',
})
afterAll(() => Promise.all([narrow, crowded].map((hooks) => hooks[Symbol.asyncDispose]())))

/** Endpoints that answered once, so that they are proven, and are silent from then on. */
async function registerProven(hooks: WebhookApp, receiver: Receiver, accounts: number, endpoints: number) {
  const made = []
  for (let i = 0; i < accounts; i++) {
    const account = await hooks.app.createAccount(100)
    for (let j = 0; j < endpoints; j++) await hooks.register(receiver.url, account)
    await hooks.runJob(undefined, account)
    made.push(account)
  }
  for (let i = 0; i < accounts * endpoints; i++) await receiver.next()
  for (const account of made) await hooks.delivered(account)
  receiver.answer = () => {}
  return made
}

/** Whatever is due is claimed after each end of a job: another account's delivery tells that this has been done. */
async function tellElse(hooks: WebhookApp): Promise<void> {
  await using quick = await openReceiver()
  const other = await hooks.app.createAccount(10)
  await hooks.register(quick.url, other)
  await hooks.runJob(undefined, other)
  await quick.next()
}

test('MEDIAGEN_WEBHOOK_ENDPOINTS: an account may not register more, until it deletes one', async () => {
  const { app } = narrow
  const account = await app.createAccount(0)
  const { webhook_id } = await narrow.register('https://example.com/1', account)
  await narrow.register('https://example.com/2', account)
  const { key } = account
  const { status, body } = await app.send('/v1/webhooks', { key, body: { url: 'https://example.com/3' } })
  expect([status, body.code]).toEqual([409, 'too_many_webhooks'])
  expect(body.detail).toContain('has 2 webhook endpoints')
  await app.send(`/v1/webhooks/${webhook_id}`, { method: 'DELETE', key })
  await narrow.register('https://example.com/3', account)
})

test('MEDIAGEN_WEBHOOK_PLACES: further deliveries wait for a place', async () => {
  await using hooks = await startWebhookApp({ MEDIAGEN_WEBHOOK_PLACES: '3', MEDIAGEN_WEBHOOK_SECONDS: '1' })
  await using receiver = await openReceiver()
  const accounts = await registerProven(hooks, receiver, 4, 1)
  let mostAtOnce = 0
  let atOnce = 0
  receiver.answer = (response) => {
    mostAtOnce = Math.max(mostAtOnce, (atOnce += 1))
    response.on('close', () => (atOnce -= 1))
  }
  for (const account of accounts) await hooks.runJob(undefined, account)
  for (let i = 0; i < 4; i++) await receiver.next()
  expect(mostAtOnce).toBeLessThanOrEqual(3)
})

test('MEDIAGEN_WEBHOOK_PLACES_PER_ACCOUNT: limits the concurrent deliveries to all endpoints of an account', async () => {
  await using receiver = await openReceiver()
  const [account] = await registerProven(crowded, receiver, 1, 3)
  for (let i = 0; i < 3; i++) await crowded.runJob(undefined, account)
  for (let i = 0; i < 3; i++) await receiver.next()
  await tellElse(crowded)
  expect(receiver.received).toHaveLength(3 + 3)
})

test('MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT: limits the concurrent deliveries to one endpoint', async () => {
  await using receiver = await openReceiver()
  const [account] = await registerProven(crowded, receiver, 1, 1)
  for (let i = 0; i < 3; i++) await crowded.runJob(undefined, account)
  for (let i = 0; i < 2; i++) await receiver.next()
  await tellElse(crowded)
  expect(receiver.received).toHaveLength(1 + 2)
})

test('MEDIAGEN_WEBHOOK_UNPROVEN_PLACES: unproven endpoints wait only for each other', async () => {
  await using receiver = await openReceiver()
  const [proven] = await registerProven(crowded, receiver, 1, 1)
  await using deaf = await openReceiver()
  deaf.answer = () => {}
  for (let i = 0; i < 3; i++) {
    const account = await crowded.app.createAccount(10)
    await crowded.register(deaf.url, account)
    await crowded.runJob(undefined, account)
  }
  for (let i = 0; i < 2; i++) await deaf.next()
  receiver.answer = 200
  for (let i = 0; i < 3; i++) {
    await crowded.runJob(undefined, proven)
    await receiver.next()
  }
  expect(deaf.received).toHaveLength(2)
})

/** An endpoint of an account of its own that is told of a job; `read` reads the delivery. */
async function tellOne(url: string) {
  const account = await narrow.app.createAccount(10)
  const { webhook_id } = await narrow.register(url, account)
  await narrow.runJob(undefined, account)
  return async () => (await narrow.deliveries(webhook_id, account))[0]
}

test('MEDIAGEN_WEBHOOK_SECONDS: an endpoint that takes longer has failed', async () => {
  await using receiver = await openReceiver()
  receiver.answer = () => {}
  const read = await tellOne(receiver.url)
  await receiver.next()
  await expect
    .poll(read)
    .toMatchObject({ status: 'pending', error: 'The endpoint did not answer within 1 s.', attempts: [{}] })
})

test('MEDIAGEN_WEBHOOK_ANSWER_BYTES: what an endpoint answers beyond is not read, and its status counts', async () => {
  await using receiver = await openReceiver()
  const closed = Promise.withResolvers<void>()
  receiver.answer = (response) => {
    response.on('close', () => closed.resolve())
    response.writeHead(200).write('x'.repeat(4096))
    // And no end.
  }
  const read = await tellOne(receiver.url)
  await closed.promise
  await expect.poll(read).toMatchObject({ status: 'delivered', attempts: [{ response_status: 200 }] })
})

test('MEDIAGEN_WEBHOOK_ATTEMPTS: a delivery that failed so often is given up', async () => {
  await using receiver = await openReceiver()
  receiver.answer = 500
  const read = await tellOne(receiver.url)
  await expect.poll(async () => (await read()).attempts.length).toBe(1)
  clock.ms = Date.parse((await read()).next_attempt_at)
  await expect.poll(read).toMatchObject({ status: 'failed', attempts: [{}, {}], next_attempt_at: null })
})

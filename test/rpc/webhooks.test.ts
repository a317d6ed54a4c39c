// Webhooks over gRPC, and the operator's view of them.
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReceiver, type Receiver } from '../outgoing/receiver.ts'
import { startWebhookApp, type WebhookApp } from '../webhooks/webhook-app.ts'
import { type ForeignClient, openForeignClient } from './foreign-client.ts'

let hooks: WebhookApp
let receiver: Receiver
let client: ForeignClient

beforeAll(async () => {
  hooks = await startWebhookApp()
  receiver = await openReceiver()
  client = await openForeignClient(hooks.app.app.grpcUrl, hooks.app.account.key)
})
afterAll(async () => {
  client[Symbol.dispose]()
  await hooks[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

test('an endpoint is registered, told, listed and deleted', async () => {
  const { accountId } = hooks.app.account
  const { webhook, secret } = await client.call('WebhooksService/CreateWebhook', { url: receiver.url })
  expect(webhook).toMatchObject({ webhook_id: expect.stringMatching(/^wh_/), account_id: accountId, url: receiver.url })
  const { webhook_id } = webhook
  expect(await client.call('WebhooksService/GetWebhook', { webhook_id })).toEqual({ webhook })
  expect(await client.call('WebhooksService/ListWebhooks', {})).toEqual({ webhooks: [webhook], total: 1 })

  const { job_id } = await hooks.runJob()
  const { body, headers } = await receiver.next()
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({ data: { job_id } })
  const list = async (status: string) =>
    (await client.call('WebhooksService/ListDeliveries', { webhook_id, status })).deliveries
  await expect.poll(async () => (await list('DELIVERY_STATUS_DELIVERED')).length).toBe(1)
  const [delivery] = await list('DELIVERY_STATUS_DELIVERED')
  expect(delivery).toMatchObject({
    delivery_id: headers['webhook-id'],
    webhook_id,
    account_id: accountId,
    url: receiver.url,
    job_id,
    type: 'job.succeeded',
    attempts: [{ response_status: 200 }],
  })
  expect(delivery).not.toHaveProperty('error')

  const admin = { key: await hooks.app.createKey(accountId, ['admin']) }
  expect(await client.call('AdminService/FindWebhooks', { account_id: accountId }, admin)).toMatchObject({ total: 1 })
  for (const filter of [{}, { job_id }, { account_id: accountId }, { status: 'DELIVERY_STATUS_DELIVERED' }])
    expect(await client.call('AdminService/FindDeliveries', filter, admin)).toEqual({
      deliveries: [delivery],
      total: 1,
    })
  for (const filter of [{ job_id: 'job_x' }, { account_id: 'acct_x' }, { status: 'DELIVERY_STATUS_FAILED' }])
    expect(await client.call('AdminService/FindDeliveries', filter, admin)).toEqual({ deliveries: [], total: 0 })
  await client.call('AdminService/Redeliver', { delivery_id: delivery.delivery_id }, admin)
  expect((await receiver.next()).headers['webhook-id']).toBe(delivery.delivery_id)

  await client.call('WebhooksService/DeleteWebhook', { webhook_id })
  expect(await client.call('WebhooksService/ListWebhooks', {})).toEqual({ webhooks: [], total: 0 })
  const refused = await client.refusal('AdminService/Redeliver', { delivery_id: delivery.delivery_id }, admin)
  expect(refused.detail.code).toBe('webhook_not_found')
})

test('P216 P217 a secret is replaced through both doors, and for a day messages verify with either', async () => {
  const made = await hooks.register(receiver.url)
  const path = 'WebhooksService/RotateWebhookSecret'
  const { webhook, secret } = await client.call(path, { webhook_id: made.webhook_id })
  expect(webhook.webhook_id).toBe(made.webhook_id)
  const { secret: _, ...record } = made
  const rotated = await hooks.app.send(`/v1/webhooks/${made.webhook_id}/rotate-secret`, { method: 'POST' })
  expect([rotated.status, rotated.body]).toEqual([
    200,
    { ...record, secret: expect.stringMatching(/^whsec_/), previous_secret_until: expect.stringMatching(/Z$/) },
  ])
  expect(Date.parse(rotated.body.previous_secret_until)).toBeGreaterThan(Date.now() + 86_000_000)
  const secrets = [made.secret, secret, rotated.body.secret]
  expect(new Set(secrets).size).toBe(3)
  await hooks.runJob()
  const { body, headers } = await receiver.next()
  for (const each of secrets) expect(new Webhook(each).verify(body, headers as Record<string, string>)).toBeDefined()
  expect((await hooks.app.send(`/v1/webhooks/${made.webhook_id}`)).body).toEqual(record)

  const { key } = await hooks.app.createAccount(0)
  const refused = { status: 404, code: 'webhook_not_found' }
  const elsewhere = await hooks.app.send(`/v1/webhooks/${made.webhook_id}/rotate-secret`, { method: 'POST', key })
  expect(elsewhere.body).toMatchObject(refused)
  const reader = await hooks.app.createKey(hooks.app.account.accountId, ['jobs:read'])
  expect(await client.refusal(path, { webhook_id: made.webhook_id }, { key: reader })).toMatchObject({
    detail: { code: 'missing_permission' },
  })
  await hooks.app.send(`/v1/webhooks/${made.webhook_id}`, { method: 'DELETE' })
})

test('P330 an endpoint is tested through both doors: signed as deliveries are, once, with the answer', async () => {
  const made = await hooks.register(receiver.url)
  const path = `/v1/webhooks/${made.webhook_id}/test`
  const { status, body } = await hooks.app.send(path, { method: 'POST' })
  const over = await client.call('WebhooksService/TestWebhook', { webhook_id: made.webhook_id })
  for (const id of [body.message_id, over.message_id]) {
    const { headers, body: message } = await receiver.next()
    expect(headers['webhook-id']).toBe(id)
    expect(new Webhook(made.secret).verify(message, headers as Record<string, string>)).toEqual({
      type: 'webhook.test',
      timestamp: expect.stringMatching(/Z$/),
      data: { webhook_id: made.webhook_id },
    })
  }
  expect([status, body.attempt]).toMatchObject([200, { response_status: 200, error: null }])
  expect(over.attempt).toMatchObject({ response_status: 200 })

  // A refusal is an answer; it neither disables the endpoint nor leaves a delivery.
  receiver.answer = 410
  expect((await hooks.app.send(path, { method: 'POST' })).body.attempt).toMatchObject({
    response_status: 410,
    error: 'The endpoint answered 410.',
  })
  receiver.answer = 200
  await receiver.next()
  expect((await hooks.app.send(`/v1/webhooks/${made.webhook_id}`)).body.disabled_at).toBeNull()
  expect(await hooks.deliveries(made.webhook_id)).toEqual([])

  const { key } = await hooks.app.createAccount(0)
  expect((await hooks.app.send(path, { method: 'POST', key })).body).toMatchObject({
    status: 404,
    code: 'webhook_not_found',
  })
  await hooks.app.send(`/v1/webhooks/${made.webhook_id}`, { method: 'DELETE' })
  expect((await hooks.app.send(path, { method: 'POST' })).body.code).toBe('webhook_not_found')
})

test('P331 no more tests of an account are under way than deliveries to one endpoint', async () => {
  const made = await hooks.register(receiver.url)
  const held: (() => void)[] = []
  receiver.answer = (response) => void held.push(() => response.writeHead(204).end())
  const send = () => hooks.app.send(`/v1/webhooks/${made.webhook_id}/test`, { method: 'POST' })
  const waiting = [send(), send()]
  await Promise.all([receiver.next(), receiver.next()])
  const refused = await send()
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '2'])
  for (const answer of held) answer()
  expect((await Promise.all(waiting)).map(({ body }) => body.attempt.response_status)).toEqual([204, 204])
  receiver.answer = 200
  expect((await send()).status).toBe(200)
  await receiver.next()
  await hooks.app.send(`/v1/webhooks/${made.webhook_id}`, { method: 'DELETE' })
})

test('P332 the owner of an endpoint has a delivery sent again through both doors; nobody else has', async () => {
  const made = await hooks.register(receiver.url)
  const beside = await hooks.register(receiver.url)
  const { job_id } = await hooks.runJob()
  await Promise.all([receiver.next(), receiver.next()])
  await hooks.delivered()
  const [{ delivery_id }] = await hooks.deliveries(made.webhook_id)
  const path = (webhookId: string, id = delivery_id) => `/v1/webhooks/${webhookId}/deliveries/${id}/redeliver`

  const { key } = await hooks.app.createAccount(0)
  const reader = await hooks.app.createKey(hooks.app.account.accountId, ['jobs:read'])
  for (const [code, target, by] of [
    ['webhook_not_found', path(made.webhook_id), key],
    ['missing_permission', path(made.webhook_id), reader],
    ['delivery_not_found', path(beside.webhook_id), undefined],
    ['delivery_not_found', path(made.webhook_id, 'dlv_none'), undefined],
  ] as const)
    expect((await hooks.app.send(target, { method: 'POST', ...(by && { key: by }) })).body).toMatchObject({ code })

  const renewed = await hooks.app.send(path(made.webhook_id), { method: 'POST' })
  expect([renewed.status, renewed.body]).toMatchObject([200, { delivery_id, job_id, status: 'pending' }])
  expect((await receiver.next()).headers['webhook-id']).toBe(delivery_id)
  await hooks.delivered()
  await client.call('WebhooksService/RedeliverOwnDelivery', { webhook_id: made.webhook_id, delivery_id })
  expect((await receiver.next()).headers['webhook-id']).toBe(delivery_id)
  await hooks.delivered()
  expect((await hooks.deliveries(made.webhook_id))[0].attempts).toHaveLength(3)
  for (const { webhook_id } of [made, beside]) await hooks.app.send(`/v1/webhooks/${webhook_id}`, { method: 'DELETE' })
})

test("what is wrong is refused by name, and another account's endpoint is not found", async () => {
  const refusal = async (rpc: string, request: object, key = hooks.app.account.key) =>
    (await client.refusal(rpc, request, { key })).detail
  for (const url of ['', 'no url', 'gopher://example.com', 'http://a:b@example.com'])
    expect(await refusal('WebhooksService/CreateWebhook', { url })).toMatchObject({
      code: 'invalid_request',
      violations: [{ pointer: '/url' }],
    })
  const { webhook } = await client.call('WebhooksService/CreateWebhook', { url: receiver.url })
  const { key } = await hooks.app.createAccount(0)
  for (const rpc of ['GetWebhook', 'DeleteWebhook', 'ListDeliveries'])
    expect(await refusal(`WebhooksService/${rpc}`, { webhook_id: webhook.webhook_id }, key)).toMatchObject({
      code: 'webhook_not_found',
    })
  const { webhook_id } = webhook
  expect(await refusal('WebhooksService/ListDeliveries', { webhook_id, status: 99 })).toMatchObject({
    violations: [{ pointer: '/status' }],
  })
  expect(await refusal('WebhooksService/ListDeliveries', { webhook_id, limit: 501 })).toMatchObject({
    violations: [{ pointer: '/limit' }],
  })
})

// How the end of a job reaches an endpoint: signed, once or again, whatever stands in between. docs/webhooks.md.
// P27, P54, P55, P56.
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { createTestClock } from '../gateway/test-clock.ts'
import { openReceiver } from '../outgoing/receiver.ts'
import { startWebhookApp } from './webhook-app.ts'

const hourMs = 3_600_000

test('a job that ended is told, and the published library verifies who told it', async () => {
  await using hooks = await startWebhookApp()
  await using receiver = await openReceiver()
  const { webhook_id, secret } = await hooks.register(receiver.url)
  const job = await hooks.runJob('test/instant/text-to-image')
  const { headers, body, path } = await receiver.next()
  expect(path).toBe('/hooks')
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': expect.stringMatching(/^dlv_/) })
  const event = new Webhook(secret).verify(body, headers as Record<string, string>) as any
  expect(() => new Webhook(secret).verify(`${body} `, headers as Record<string, string>)).toThrow('signature')
  const { outputs, ...record } = job
  const [{ url, expires_at: _, ...output }] = outputs
  expect(event).toEqual({
    type: 'job.succeeded',
    timestamp: job.finished_at,
    data: {
      ...record,
      // Not asked for.
      input: null,
      outputs: [{ ...output, url: expect.stringContaining(url.split('?')[0]), expires_at: expect.any(String) }],
    },
  })
  expect((await fetch(event.data.outputs[0].url)).status).toBe(200)

  await expect.poll(async () => (await hooks.deliveries(webhook_id))[0].status).toBe('delivered')
  const [delivery] = await hooks.deliveries(webhook_id)
  expect(delivery).toEqual({
    delivery_id: headers['webhook-id'],
    webhook_id,
    url: expect.stringMatching(/^http/),
    job_id: job.job_id,
    type: 'job.succeeded',
    status: 'delivered',
    attempts: [
      {
        attempted_at: expect.any(String),
        response_status: 200,
        error: null,
        duration_seconds: expect.any(Number),
      },
    ],
    error: null,
    next_attempt_at: null,
    created_at: job.finished_at,
    finished_at: expect.any(String),
  })
})

test('an endpoint that asks for it is told the input, without its large values', async () => {
  await using hooks = await startWebhookApp()
  await using receiver = await openReceiver()
  const body = { url: receiver.url, include_input: true }
  expect((await hooks.app.send('/v1/webhooks', { body })).body).toMatchObject({ include_input: true })
  await hooks.app.generate('test/instant/text-to-image', { prompt: 'x'.repeat(1500), width: 512 })
  expect(JSON.parse((await receiver.next()).body).data.input).toEqual({ width: 512 })
})

test('every end is told by its own name, to every endpoint of the account and to no other', async () => {
  await using hooks = await startWebhookApp()
  const { app } = hooks
  await using one = await openReceiver()
  await using two = await openReceiver()
  await using stranger = await openReceiver()
  const other = await app.createAccount(10)
  await hooks.register(one.url)
  await hooks.register(two.url)
  await hooks.register(stranger.url, other)
  await hooks.runJob('test/failing/text-to-image')
  expect((await one.next()).event).toMatchObject({
    type: 'job.failed',
    data: { status: 'failed', error: { message: 'the paint ran out' }, credits: 0 },
  })
  expect((await two.next()).event.type).toBe('job.failed')
  const { job_id } = (await app.generate('test/gate/text-to-image', app.gate().input, { wait: false })).body
  await app.send(`/v1/jobs/${job_id}/cancel`, { method: 'POST' })
  expect((await one.next()).event).toMatchObject({ type: 'job.canceled', data: { job_id, status: 'canceled' } })
  await two.next()
  await hooks.runJob('test/instant/text-to-image', other)
  expect((await stranger.next()).event.type).toBe('job.succeeded')
  expect([one.received.length, two.received.length, stranger.received.length]).toEqual([2, 2, 1])
})

test('endpoints that never answer do not delay others, however many they are', async () => {
  await using hooks = await startWebhookApp()
  const { app } = hooks
  await using deaf = await openReceiver()
  deaf.answer = () => {}
  for (let i = 0; i < 6; i++) await hooks.register(deaf.url)
  await using quick = await openReceiver()
  const other = await app.createAccount(10)
  await hooks.register(quick.url, other)
  await hooks.runJob()
  await hooks.runJob()
  for (let i = 0; i < 2; i++) await deaf.next()
  const { job_id } = await hooks.runJob('test/instant/text-to-image', other)
  expect((await quick.next()).event.data.job_id).toBe(job_id)
  // They have two places among them until one answers.
  expect(deaf.received).toHaveLength(2)
})

test('what fails is tried again, later each time, under the same id, until it is given up', async () => {
  const clock = createTestClock()
  await using hooks = await startWebhookApp({}, { clock })
  await using receiver = await openReceiver()
  receiver.answer = 503
  const { webhook_id } = await hooks.register(receiver.url)
  await hooks.runJob()
  const waits: number[] = []
  const ids = new Set<unknown>()
  const stamps = new Set<unknown>()
  for (let attempt = 1; attempt <= 12; attempt++) {
    const { headers } = await receiver.next()
    ids.add(headers['webhook-id'])
    stamps.add(headers['webhook-timestamp'])
    await expect.poll(async () => (await hooks.deliveries(webhook_id))[0].attempts.length).toBe(attempt)
    const [{ next_attempt_at, status, error }] = await hooks.deliveries(webhook_id)
    expect(error).toBe('The endpoint answered 503.')
    if (attempt === 12) {
      expect([status, next_attempt_at]).toEqual(['failed', null])
      break
    }
    const due = Date.parse(next_attempt_at)
    waits.push(due - clock.ms)
    clock.ms = due
  }
  expect([ids.size, stamps.size]).toEqual([1, 12])
  expect(waits[0]).toBeGreaterThanOrEqual(5000)
  expect(waits[0]).toBeLessThanOrEqual(6000)
  expect(waits.at(-1)).toBeGreaterThanOrEqual(4 * hourMs)
  const total = waits.reduce((sum, wait) => sum + wait)
  expect(total).toBeGreaterThan(20 * hourMs)
  expect(total).toBeLessThan(28 * hourMs)
  clock.ms += 100 * hourMs
  receiver.answer = 200
  await hooks.runJob()
  expect((await receiver.next()).headers['webhook-id']).not.toBe([...ids][0])
  expect(receiver.received).toHaveLength(13)
})

test('an endpoint that comes back is told what it missed', async () => {
  const clock = createTestClock()
  await using hooks = await startWebhookApp({}, { clock })
  let port = 0
  {
    await using gone = await openReceiver()
    port = gone.port
  }
  const { webhook_id } = await hooks.register(`http://127.0.0.1:${port}/later`)
  const { job_id } = await hooks.runJob()
  await expect.poll(async () => (await hooks.deliveries(webhook_id))[0]?.error).toBe('The connection was refused.')
  await using receiver = await openReceiver(port)
  clock.ms += 6000
  expect(await receiver.next()).toMatchObject({ path: '/later', event: { data: { job_id } } })
})

test('a redirect is a failure and is not followed', async () => {
  await using hooks = await startWebhookApp()
  await using target = await openReceiver()
  await using receiver = await openReceiver()
  receiver.answer = (response) => response.writeHead(307, { location: target.url }).end()
  const { webhook_id } = await hooks.register(receiver.url)
  await hooks.runJob()
  await expect
    .poll(async () => (await hooks.deliveries(webhook_id))[0]?.attempts)
    .toMatchObject([{ response_status: 307, error: 'The endpoint answered 307; redirects are not followed.' }])
  expect(target.received).toEqual([])
})

test('an answer without end is read in part and counts by its status', async () => {
  await using hooks = await startWebhookApp()
  await using receiver = await openReceiver()
  let written = 0
  receiver.answer = (response) => {
    response.writeHead(200)
    const chunk = Buffer.alloc(65_536)
    const pour = (): void => {
      if (response.destroyed) return
      written += chunk.length
      if (response.write(chunk)) setImmediate(pour)
      else response.once('drain', pour)
    }
    pour()
  }
  const { webhook_id } = await hooks.register(receiver.url)
  await hooks.runJob()
  await expect.poll(async () => (await hooks.deliveries(webhook_id))[0]?.status).toBe('delivered')
  // What the sockets on both sides buffer, and no more.
  expect(written).toBeLessThan(50_000_000)
})

test('an endpoint that never answers delays neither jobs nor other endpoints', async () => {
  await using hooks = await startWebhookApp()
  await using slow = await openReceiver()
  await using quick = await openReceiver()
  slow.answer = () => undefined
  const { webhook_id } = await hooks.register(slow.url)
  await hooks.register(quick.url)
  const ended: string[] = []
  for (let i = 0; i < 12; i++) {
    const job = await hooks.runJob()
    expect(job.status).toBe('succeeded')
    ended.push(job.job_id)
  }
  const told: string[] = []
  for (let i = 0; i < 12; i++) told.push((await quick.next()).event.data.job_id)
  expect(told.toSorted()).toEqual(ended.toSorted())
  expect(slow.received).toHaveLength(1)
  expect((await hooks.deliveries(webhook_id)).map(({ status }) => status)).toEqual(Array(12).fill('pending'))
})

test('410 Gone disables the endpoint, and what waited for it is given up', async () => {
  await using hooks = await startWebhookApp()
  const { app } = hooks
  await using receiver = await openReceiver()
  receiver.answer = 410
  const { webhook_id } = await hooks.register(receiver.url)
  expect((await app.send(`/v1/webhooks/${webhook_id}`)).body.disabled_at).toBeNull()
  await hooks.runJob()
  const readDisabled = async () => (await app.send(`/v1/webhooks/${webhook_id}`)).body.disabled_at
  await expect.poll(readDisabled).toMatch(/Z$/)
  expect(await hooks.deliveries(webhook_id)).toMatchObject([
    { status: 'failed', error: 'The endpoint answered 410.', attempts: [{ response_status: 410 }] },
  ])
  await hooks.runJob()
  expect(await hooks.deliveries(webhook_id)).toHaveLength(1)

  // The operator has it delivered again; an endpoint that takes it is enabled again.
  receiver.answer = 204
  const [{ delivery_id }] = await hooks.deliveries(webhook_id)
  await app.admin.redeliver({ deliveryId: delivery_id })
  await receiver.next()
  expect((await receiver.next()).headers['webhook-id']).toBe(delivery_id)
  await expect.poll(readDisabled).toBeNull()
  expect(await hooks.deliveries(webhook_id)).toMatchObject([{ status: 'delivered', error: null, attempts: [{}, {}] }])
})

test('deleting an endpoint drops what was waiting for it', async () => {
  const clock = createTestClock()
  await using hooks = await startWebhookApp({}, { clock })
  const { app } = hooks
  await using receiver = await openReceiver()
  receiver.answer = 500
  const { webhook_id } = await hooks.register(receiver.url)
  await hooks.runJob()
  await expect.poll(async () => (await hooks.deliveries(webhook_id))[0]?.attempts.length).toBe(1)
  const [{ delivery_id }] = await hooks.deliveries(webhook_id)
  expect((await app.send(`/v1/webhooks/${webhook_id}`, { method: 'DELETE' })).status).toBe(204)
  clock.ms += hourMs

  await using marker = await openReceiver()
  await hooks.register(marker.url)
  await hooks.runJob()
  await marker.next()
  expect(receiver.received).toHaveLength(1)
  const { deliveries } = await app.admin.findDeliveries({ jobId: '' })
  expect(deliveries.find(({ deliveryId }) => deliveryId === delivery_id)?.error).toBe('The endpoint was deleted.')
  await expect(app.admin.redeliver({ deliveryId: delivery_id })).rejects.toThrow('was deleted')
})

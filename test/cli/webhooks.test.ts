// The commands about webhooks: what there is, what was sent, sending it again, and events for a program on this machine.
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import { startWebhookApp } from '../webhooks/webhook-app.ts'
import { openCommandLine, watchEnd } from './command-line.ts'

test('the operator sees endpoints and deliveries while the server runs, and has one delivered again', async () => {
  await using cli = openCommandLine()
  // Stands still, so that the second attempt is the one that the operator asks for.
  const clock = { ms: Date.now(), nowMs: () => clock.ms }
  await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: cli.dataDir }, { clock })
  await using receiver = await openReceiver()
  receiver.answer = 500
  const { webhook_id } = await hooks.register(receiver.url)
  const { job_id } = await hooks.runJob()
  const delivery_id = (await receiver.next()).headers['webhook-id'] as string
  await expect.poll(async () => (await hooks.deliveries(webhook_id))[0]?.attempts.length).toBe(1)

  const { accountId: account_id } = hooks.app.account
  const read = ['admin', 'webhooks', 'deliveries']
  const [endpoints, found, none, table, nobody, lost] = await Promise.all([
    cli.json(['admin', 'webhooks', 'list']),
    cli.json([...read, '--job', job_id, '--account', account_id, '--status', 'pending']),
    cli.json([...read, '--status', 'delivered']),
    cli.run(read),
    cli.run(['admin', 'webhooks', 'redeliver', 'dlv_x']),
    cli.run([...read, '--status', 'lost']),
  ])
  expect(endpoints).toMatchObject([{ webhook_id, account_id, url: receiver.url, disabled_at: null }])
  expect(JSON.stringify(endpoints)).not.toContain('whsec_')
  expect(found).toMatchObject([
    {
      delivery_id,
      webhook_id,
      job_id,
      type: 'job.succeeded',
      status: 'pending',
      error: 'The endpoint answered 500.',
      attempts: [{ response_status: 500 }],
      next_attempt_at: expect.any(String),
    },
  ])
  expect(none).toEqual([])
  expect(table.stdout).toContain('The endpoint answered 500.')
  expect([nobody.status, nobody.stderr]).toEqual([
    1,
    expect.stringContaining('\nmediagen: There is no delivery "dlv_x".\n'),
  ])
  expect([lost.status, lost.stderr]).toEqual([1, expect.stringContaining('pending, delivered, failed')])

  receiver.answer = 200
  clock.ms = Date.now() + 60_000
  expect(await cli.json(['admin', 'webhooks', 'redeliver', delivery_id])).toMatchObject({
    delivery_id,
    status: 'pending',
  })
  expect((await receiver.next()).headers['webhook-id']).toBe(delivery_id)
  await expect.poll(async () => (await hooks.deliveries(webhook_id))[0]?.status).toBe('delivered')
})

test('the owner of an endpoint replaces its secret', async () => {
  await using hooks = await startWebhookApp({ MEDIAGEN_ROLES: 'api' })
  await using cli = openCommandLine({ MEDIAGEN_URL: hooks.app.url, MEDIAGEN_KEY: hooks.app.account.key })
  const { webhook_id, secret } = await hooks.register('http://127.0.0.1:9000/hook')
  const { status, stdout } = await cli.run(['webhooks', 'rotate-secret', webhook_id, '--json'])
  expect([status, JSON.parse(stdout)]).toEqual([
    0,
    { webhook_id, secret: expect.stringMatching(/^whsec_/), previous_secret_until: expect.any(String) },
  ])
  expect(JSON.parse(stdout).secret).not.toBe(secret)
  const nobody = await cli.run(['webhooks', 'rotate-secret', 'wh_none'])
  expect([nobody.status, nobody.stderr]).toEqual([1, expect.stringContaining('There is no webhook')])
})

test('an owner adds an endpoint, and wrong ones are refused in words', async () => {
  await using hooks = await startWebhookApp({ MEDIAGEN_ROLES: 'api' })
  await using cli = openCommandLine({ MEDIAGEN_URL: hooks.app.url, MEDIAGEN_KEY: hooks.app.account.key })
  const url = 'http://127.0.0.1:9000/hook'
  expect(await cli.json(['webhooks', 'create', url, '--description', 'shop', '--include-input'])).toMatchObject({
    webhook_id: expect.stringMatching(/^wh_/),
    url,
    description: 'shop',
    include_input: true,
    secret: expect.stringMatching(/^whsec_/),
  })
  expect((await cli.run(['webhooks', 'create', 'example.com'])).stderr).toContain('must be an absolute URL')
  for (const [args, words] of [
    [['listen', '/hooks'], '“/hooks” must be a port of this machine or an address'],
    [['listen', '9000', '--secret', 'mine'], '--secret must be whsec_ and the base64 of at least 24 bytes'],
  ] as const) {
    const { status, stderr } = await cli.run(['webhooks', ...args])
    expect([status, stderr]).toEqual([1, expect.stringContaining(words)])
  }
})

test('P372 webhooks listen sends what ends from now on to a local program, once each, signed as deliveries are', async () => {
  // The server itself could not reach it.
  await using hooks = await startWebhookApp({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'false' })
  await using cli = openCommandLine({ MEDIAGEN_URL: hooks.app.url, MEDIAGEN_KEY: hooks.app.account.key })
  await using receiver = await openReceiver()
  const gate = hooks.app.gate()
  const begun = await hooks.app.generate('test/gate/text-to-image', gate.input, { wait: false })
  await hooks.runJob()
  const child = await cli.start(['webhooks', 'listen', receiver.url, '--json'])
  const ended = watchEnd(child)
  const lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]()
  const nextLine = async () => JSON.parse((await lines.next()).value ?? 'null')
  const { secret } = await nextLine()
  const made = await hooks.runJob()
  const first = await receiver.next()
  // Anything else would be refused.
  const event = new Webhook(secret).verify(first.body, first.headers as Record<string, string>)
  const { input: _, ...facts } = made
  expect(event).toMatchObject({ type: 'job.succeeded', timestamp: made.finished_at, data: { ...facts, input: null } })
  // One that began before, and an endpoint that does not take it.
  receiver.answer = 500
  await hooks.app.send(`/v1/jobs/${begun.body.job_id}/cancel`, { method: 'POST' })
  expect((await receiver.next()).event).toMatchObject({ type: 'job.canceled', data: { job_id: begun.body.job_id } })
  expect([await nextLine(), await nextLine()]).toEqual([
    { type: 'job.succeeded', job_id: made.job_id, answer: 200 },
    { type: 'job.canceled', job_id: begun.body.job_id, answer: 500 },
  ])
  receiver.answer = (response) => response.destroy()
  const last = await hooks.runJob()
  expect(await nextLine()).toEqual({ type: 'job.succeeded', job_id: last.job_id, answer: expect.any(String) })
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ status: 0, stderr: '' })
  expect(receiver.received).toHaveLength(3)
})

test('P372 webhooks listen sends the end of each job of a long queue, and keeps a secret that it was given', async () => {
  const settings = { MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'false', MEDIAGEN_RATE_LIMIT: '0', MEDIAGEN_BYTE_RATE: '0' }
  await using hooks = await startWebhookApp(settings)
  await using cli = openCommandLine({ MEDIAGEN_URL: hooks.app.url, MEDIAGEN_KEY: hooks.app.account.key })
  await using receiver = await openReceiver()
  const gate = hooks.app.gate()
  const start = async () =>
    (await hooks.app.generate('test/gate/text-to-image', gate.input, { wait: false })).body.job_id
  // More than a page, and others that came after the oldest.
  const ids = [await start()]
  for (let batch = 0; batch < 11; batch++) ids.push(...(await Promise.all(Array.from({ length: 50 }, start))))
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
  const child = await cli.start(['webhooks', 'listen', receiver.url, '--json', '--secret', secret])
  const ended = watchEnd(child)
  const lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]()
  expect(JSON.parse((await lines.next()).value ?? 'null')).toEqual({ url: receiver.url })
  for (const id of ids.slice(0, 3)) await hooks.app.send(`/v1/jobs/${id}/cancel`, { method: 'POST' })
  const told = new Set<string>()
  for (let count = 0; count < 3; count++) told.add(JSON.parse((await lines.next()).value ?? 'null').job_id)
  expect(told).toEqual(new Set(ids.slice(0, 3)))
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ status: 0, stderr: '' })
})

// The operator's commands about webhooks: what there is, what was sent, and sending it again.
import { expect, test } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import { startWebhookApp } from '../webhooks/webhook-app.ts'
import { openCommandLine } from './command-line.ts'

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

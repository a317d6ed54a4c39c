// Webhooks go to ports of the web: others are refused when an endpoint is registered, and when a connection is made.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startWebhookApp } from './webhook-app.ts'

test('an endpoint at the port of another service is refused in words, unless MEDIAGEN_ALLOW_PORTS names it', async () => {
  await using hooks = await startWebhookApp({ MEDIAGEN_ALLOW_PORTS: '25' })
  for (const port of [22, 587, 6667]) {
    const { body } = await hooks.app.send('/v1/webhooks', { body: { url: `https://example.com:${port}/` } })
    expect(body).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ pointer: '/url', detail: expect.stringContaining(`the port ${port} is refused`) }],
    })
  }
  await hooks.register('https://example.com:25/')
  await hooks.register('https://example.com:8443/')
})

test('one that was registered before is not connected to, and is told why', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-hooks-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  let account
  let webhookId
  {
    await using before = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder, MEDIAGEN_ALLOW_PORTS: '22' })
    account = await before.app.createAccount(10)
    webhookId = (await before.register('http://127.0.0.1:22/', account)).webhook_id
  }
  await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder })
  await hooks.runJob(undefined, account)
  const read = async () => (await hooks.deliveries(webhookId, account))[0]
  await expect.poll(async () => (await read()).attempts.length).toBeGreaterThan(0)
  expect(await read()).toMatchObject({
    status: 'pending',
    error: expect.stringMatching(/^The address was refused: the port 22 is refused; .+\.$/),
    attempts: [{ response_status: null }],
  })
})

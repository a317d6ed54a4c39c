// Nothing that ended is forgotten: a server that stopped or died between the end of a job and its delivery delivers afterwards.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCommandLine } from '../cli/command-line.ts'
import { openReceiver } from '../outgoing/receiver.ts'
import { startWebhookApp } from './webhook-app.ts'

test('an end without a running sender is delivered after the restart, as the job was then', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-hooks-'))
  await using receiver = await openReceiver()
  let canceled
  {
    await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder, MEDIAGEN_ROLES: 'api' })
    await hooks.register(receiver.url)
    const { job_id } = (await hooks.app.generate('test/nothing/text-to-image', { prompt: 'x' }, { wait: false })).body
    canceled = (await hooks.app.send(`/v1/jobs/${job_id}/cancel`, { method: 'POST' })).body
  }
  expect(receiver.received).toEqual([])
  {
    await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder })
    expect((await receiver.next()).event).toEqual({
      type: 'job.canceled',
      timestamp: canceled.finished_at,
      data: { ...canceled, input: null },
    })
    await expect.poll(async () => (await hooks.app.admin.findDeliveries({})).deliveries[0]?.finishedAt).toBeDefined()
  }
  rmSync(folder, { recursive: true })
})

test('a server that is killed while it delivers delivers again, under the same id', async () => {
  await using cli = openCommandLine({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true' })
  await using receiver = await openReceiver()
  receiver.answer = () => undefined
  const { account_id } = await cli.json(['admin', 'accounts', 'create', '--name', 'a', '--credits', '10'])
  const { key } = await cli.json([
    'admin',
    'keys',
    'create',
    '--account',
    account_id,
    '--permissions',
    'generate,webhooks',
  ])
  const server = await cli.serve()
  const send = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'one' }
    const response = await fetch(server.httpUrl + path, { method: 'POST', headers, body: JSON.stringify(body) })
    // Tests look into answers at will.
    const answer: any = await response.json()
    return answer
  }
  await send('/v1/webhooks', { url: receiver.url })
  const model = 'test/nothing/text-to-image'
  const input = { prompt: 'x' }
  const { quote_id } = await send('/v1/quotes', { model, input })
  const { job_id } = await send('/v1/generate?wait=true', { model, input, quote_id })
  const first = await receiver.next()
  await server.stop('SIGKILL')

  // The claim of the dead server holds for half a minute.
  const clock = { nowMs: () => Date.now() + 31_000 }
  receiver.answer = 200
  await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: cli.dataDir }, { clock })
  const second = await receiver.next()
  expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
  expect(second.event).toMatchObject({ type: 'job.succeeded', data: { job_id } })
  const find = async () => (await hooks.app.admin.findDeliveries({ jobId: job_id })).deliveries
  await expect.poll(async () => (await find())[0]?.finishedAt).toBeDefined()
  expect(await find()).toMatchObject([{ attempts: [{ responseStatus: 200 }] }])
})

test('a server that stops breaks deliveries off and makes them again, without counting them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-hooks-'))
  await using receiver = await openReceiver()
  receiver.answer = () => undefined
  {
    await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder })
    await hooks.register(receiver.url)
    await hooks.runJob()
    await receiver.next()
  }
  receiver.answer = 200
  {
    await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder })
    await receiver.next()
    await expect.poll(async () => (await hooks.app.admin.findDeliveries({})).deliveries[0]?.finishedAt).toBeDefined()
    expect((await hooks.app.admin.findDeliveries({})).deliveries).toMatchObject([{ attempts: [{}] }])
  }
  rmSync(folder, { recursive: true })
})

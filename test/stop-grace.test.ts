// A server that stops with work in hand everywhere has one grace for all of it: orchestrators kill after 30 seconds.
import { once } from 'node:events'
import { connect } from 'node:net'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { FilesService } from '../gen/mediagen/v1/files_pb.ts'
import { createGrace } from '../src/app/doors/grace.ts'
import { openReceiver } from './outgoing/receiver.ts'
import { startWebhookApp } from './webhooks/webhook-app.ts'

test('MEDIAGEN_STOP_GRACE_SECONDS ends jobs, webhooks and calls over gRPC and HTTP, and nothing is lost', async () => {
  await using silent = await openReceiver()
  silent.answer = () => {}
  await using hooks = await startWebhookApp({
    MEDIAGEN_STOP_GRACE_SECONDS: '1',
    MEDIAGEN_TEST_GATEWAY: '',
  })
  const { app } = hooks
  await hooks.register(silent.url)
  await hooks.runJob()
  await silent.next()
  const gate = app.gate()
  const { body } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  await gate.begun()

  const reading = Promise.withResolvers<void>()
  const uploading = createClient(FilesService, createGrpcTransport({ baseUrl: app.app.grpcUrl ?? '' }))
    .uploadFile(
      (async function* () {
        yield { piece: { case: 'header' as const, value: {} } }
        reading.resolve()
        await new Promise(() => {})
      })(),
      { headers: { authorization: `Bearer ${app.account.key}` } },
    )
    .catch((error: unknown) => error)
  await reading.promise
  const { hostname, port } = new URL(app.app.httpUrl)
  const slow = connect(Number(port), hostname).on('error', () => {})
  slow.write(
    `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.account.key}\r\nContent-Type: image/png\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`,
  )
  await once(slow, 'data')

  await app.app[Symbol.asyncDispose]()
  expect(await uploading).toBeInstanceOf(Error)
  slow.destroy()

  // Nothing is lost: the next server runs the job and sends the webhook again.
  await using next = await startWebhookApp({ MEDIAGEN_DATA_DIR: app.config.dataDir })
  silent.answer = 200
  gate.open()
  await expect
    .poll(async () => (await next.app.send(`/v1/jobs/${body.job_id}`, { key: app.account.key })).body.status)
    .toBe('succeeded')
  await expect.poll(() => silent.received.length).toBeGreaterThan(1)
})

test('the grace begins when somebody first asks, and does not begin anew', () => {
  let nowMs = 5000
  const grace = createGrace(10, () => nowMs)
  nowMs = 60_000
  expect(grace()).toBe(10_000)
  nowMs += 4000
  expect(grace()).toBe(6000)
  nowMs += 40_000
  expect(grace()).toBe(0)
})

// grpc.health.v1: Check and Watch, before and while the server stops (P186).
import { once } from 'node:events'
import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { foreignOptions, openReflection, readSchema } from './reflection-client.ts'

/** A health client whose schema comes from reflection. */
async function openHealth(grpcUrl: string | null): Promise<any> {
  const address = new URL(grpcUrl ?? '').host
  using reflection = openReflection(address)
  const schema = await readSchema(reflection, ['grpc.health.v1.Health'])
  const { Health } = (grpc.loadPackageDefinition(schema) as any).grpc.health.v1
  return new Health(address, grpc.credentials.createInsecure(), foreignOptions)
}

const services = [
  '',
  'mediagen.v1.AccountService',
  'mediagen.v1.AdminService',
  'mediagen.v1.CatalogService',
  'mediagen.v1.GenerationService',
  'mediagen.v1.QuotesService',
  'mediagen.v1.WalletService',
]
let app: TestApp
let health: any

// The last test stops the server.
beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_STOP_GRACE_SECONDS: '20' })
  health = await openHealth(app.app.grpcUrl)
})

afterAll(async () => {
  health.close()
  await app[Symbol.asyncDispose]()
})

test('Check answers SERVING for the server and each service, without a key, and NOT_FOUND for others', async () => {
  const check = (service: string) =>
    new Promise<any>((resolve) =>
      health.Check({ service }, (error: grpc.ServiceError | null, answer: unknown) => resolve(error ?? answer)),
    )
  for (const service of services) expect(await check(service)).toEqual({ status: 'SERVING' })
  expect(await check('mediagen.v1.NoService')).toMatchObject({ code: grpc.status.NOT_FOUND })
})

test('Watch tells NOT_SERVING as soon as the server stops, while running jobs may still end', async () => {
  const gate = app.gate()
  await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  await expect.poll(async () => (await app.send('/v1/jobs?status=running')).body.total).toBe(1)
  const watch = health.Watch({ service: 'mediagen.v1.GenerationService' })
  watch.on('error', () => {})
  expect((await once(watch, 'data'))[0]).toEqual({ status: 'SERVING' })
  const notifications = once(watch, 'data')
  const stopped = app[Symbol.asyncDispose]()
  expect((await notifications)[0]).toEqual({ status: 'NOT_SERVING' })
  watch.cancel()
  gate.open()
  await stopped
})

// Server reflection: a client without a schema learns all of it (P186).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { openForeignClient } from './foreign-client.ts'
import { openReflection, type ReflectionVersion } from './reflection-client.ts'

const services = [
  'AccountService',
  'AdminService',
  'CatalogService',
  'FilesService',
  'GenerationService',
  'QuotesService',
  'WalletService',
  'WebhooksService',
]
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
})

afterAll(() => app[Symbol.asyncDispose]())

test.for<ReflectionVersion>(['v1', 'v1alpha'])(
  'reflection %s lists every service and its own file',
  async (version) => {
    using reflection = openReflection(new URL(app.app.grpcUrl ?? '').host, version)
    expect((await reflection.listServices()).toSorted()).toEqual(
      expect.arrayContaining(['grpc.health.v1.Health', ...services.map((name) => `mediagen.v1.${name}`)]),
    )
    for (const name of services) expect((await reflection.filesOf(`mediagen.v1.${name}`)).length).toBeGreaterThan(0)
    await expect(reflection.filesOf('mediagen.v1.Nothing')).rejects.toThrow('Nothing')
  },
)

test('the schema that reflection tells is whole: every import resolves, and error details are in it', async () => {
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  expect(new Set(client.rpcs.map(({ name }) => name.split('/')[0]))).toEqual(new Set(services))
  expect(client.schema).toHaveProperty(['mediagen.v1.ErrorDetail'])
  expect(client.schema).toHaveProperty(['google.protobuf.Struct'])
})

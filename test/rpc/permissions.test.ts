// Who may call what: every rpc against keys that lack its permission (P87, P148, P180, P181, P184).
import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AccountService } from '../../gen/mediagen/v1/account_pb.ts'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import { FilesService } from '../../gen/mediagen/v1/files_pb.ts'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { Permission as PermissionCode, permission } from '../../gen/mediagen/v1/options_pb.ts'
import { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { WebhooksService } from '../../gen/mediagen/v1/webhooks_pb.ts'
import { permissions } from '../../src/core/accounts/key.ts'
import { toPermissionName } from '../../src/services/messages/convert.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, openForeignClient } from './foreign-client.ts'

const rpcs = [
  QuotesService,
  GenerationService,
  CatalogService,
  WalletService,
  AccountService,
  WebhooksService,
  FilesService,
  AdminService,
]
  .flatMap(({ methods }): DescMethod[] => methods)
  .map((method) => ({
    rpc: `${method.parent.name}/${method.name}`,
    needed: toPermissionName(getOption(method, permission)),
  }))

// A watch of all jobs has no end of its own.
const streamMs = 2000

let app: TestApp
let client: ForeignClient

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_FAILED_KEYS_PER_MINUTE: '0' })
  client = await openForeignClient(app.app.grpcUrl, null)
})

afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

/** The error code of a call, or `ok`. */
async function callWith(rpc: string, key: string | null): Promise<string> {
  const { streams, uploads } = client.rpcs.find(({ name }) => name === rpc) ?? {}
  const outcome = streams
    ? client.readAll(rpc, {}, { key, deadlineMs: streamMs })
    : uploads
      ? client.upload(rpc, [{}], { key })
      : client.call(rpc, {}, { key })
  return outcome.then(
    () => 'ok',
    (error) => error.detail?.code ?? error.status,
  )
}

test('the table below names every rpc that the server declares', () => {
  expect(rpcs.map(({ rpc }) => rpc).toSorted()).toEqual(client.rpcs.map(({ name }) => name).toSorted())
})

test('the permissions are those of the interface and the contract', () => {
  expect(Object.fromEntries(rpcs.map(({ rpc, needed }) => [rpc, needed]))).toMatchObject({
    'QuotesService/CreateQuote': 'generate',
    'GenerationService/StartGeneration': 'generate',
    'GenerationService/Run': 'generate',
    'GenerationService/CancelJob': 'generate',
    'CatalogService/ListModels': 'models:read',
    'CatalogService/ListProducts': 'models:read',
    'CatalogService/GetModel': 'models:read',
    'CatalogService/ListCategories': '',
    'CatalogService/ResolveModel': 'generate',
    'GenerationService/GetJob': 'jobs:read',
    'GenerationService/ListJobs': 'jobs:read',
    'GenerationService/WatchJob': 'jobs:read',
    'WalletService/GetWallet': 'wallet:read',
    'WalletService/ListEntries': 'wallet:read',
    'WalletService/GetUsage': 'wallet:read',
    'WalletService/GetAccess': '',
    'AccountService/GetAccount': '',
    'AccountService/ListOwnKeys': 'wallet:read',
    'WebhooksService/CreateWebhook': 'webhooks',
    'WebhooksService/GetWebhook': 'webhooks',
    'WebhooksService/ListWebhooks': 'webhooks',
    'WebhooksService/RotateWebhookSecret': 'webhooks',
    'WebhooksService/DeleteWebhook': 'webhooks',
    'WebhooksService/ListDeliveries': 'webhooks',
    'FilesService/UploadFile': 'generate',
    'FilesService/GetFile': 'generate',
    'FilesService/ListFiles': 'generate',
    'FilesService/DeleteFile': 'generate',
  })
  for (const method of AdminService.methods) expect(getOption(method, permission)).toBe(PermissionCode.ADMIN)
})

describe.for(rpcs)('$rpc', ({ rpc, needed }) => {
  test('is refused without a key and with an unknown one', async () => {
    expect(await callWith(rpc, null)).toBe('authentication_required')
    expect(await callWith(rpc, `mgk_${'0'.repeat(43)}`)).toBe('invalid_api_key')
  })

  if (needed === '') {
    test.for(permissions)('is open to a key that carries %s only', async (only) => {
      expect(await callWith(rpc, await app.createKey(app.account.accountId, [only]))).toBe('ok')
    })
    return
  }

  test(`is refused to a key that carries everything but ${needed}, and the error names it`, async () => {
    const key = await app.createKey(
      app.account.accountId,
      permissions.filter((name) => name !== needed),
    )
    const refused = await client.refusal(rpc, {}, { key })
    expect(refused).toMatchObject({
      status: 'PERMISSION_DENIED',
      detail: { code: 'missing_permission', permission: needed },
    })
  })

  test(`is open to a key that carries ${needed} only`, async () => {
    const key = await app.createKey(
      app.account.accountId,
      permissions.filter((name) => name === needed),
    )
    expect(await callWith(rpc, key)).not.toBe('missing_permission')
  })
})

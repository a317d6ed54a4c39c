// What the pipeline refuses to start, and what it says of each call in the log and the metrics. Architecture, "Three doors, one pipeline".
// P188.
import { create, createFileRegistry, type DescService, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import {
  file_google_protobuf_descriptor,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_timestamp,
} from '@bufbuild/protobuf/wkt'
import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { file_mediagen_v1_options } from '../../gen/mediagen/v1/options_pb.ts'
import { file_mediagen_v1_wallet, WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { createOperatorTransport } from '../../src/app/operator/operator.ts'
import { readConfig } from '../../src/config.ts'
import { systemClock } from '../../src/core/clock.ts'
import { guardService, type PipelineDeps } from '../../src/rpc/pipeline.ts'
import { StorageError } from '../../src/storage/storage-error.ts'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'
import { openTestStore } from '../test-store.ts'
import { openForeignClient } from './foreign-client.ts'
import { readMetrics } from './metrics.ts'

// A service is refused before any part is used, except to prepare its counters.
const noDeps = { metrics: { countCalls: () => () => {} } } as unknown as PipelineDeps
const walletImpl = { getWallet: () => ({}), listEntries: () => ({}), getUsage: () => ({}), getAccess: () => ({}) }

/** WalletService, its file changed by `change`. */
function alterWallet(
  change: (file: Message & { service: { method: { options?: unknown }[] }[] }) => void,
): DescService {
  const file = fromBinary(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, file_mediagen_v1_wallet.proto))
  change(file)
  const imports = [file_google_protobuf_descriptor, file_google_protobuf_timestamp, file_mediagen_v1_options]
  const set = create(FileDescriptorSetSchema, { file: [...imports.map(({ proto }) => proto), file] })
  const service = createFileRegistry(set).getService('mediagen.v1.WalletService')
  if (!service) throw new Error('the altered file has no WalletService')
  return service
}

test('an rpc that names no permission does not start', () => {
  const altered = alterWallet((file) => {
    delete file.service[0]?.method[1]?.options
  })
  expect(() => guardService(altered, walletImpl as never, noDeps)).toThrow(
    'mediagen.v1.WalletService.ListEntries names no permission',
  )
})

test('an rpc whose permission no key can carry does not start', () => {
  const altered = alterWallet((file) => {
    const options = file.service[0]?.method[0]?.options as { $unknown?: { no: number; data: Uint8Array }[] }
    for (const field of options.$unknown ?? []) field.data = new Uint8Array([99])
  })
  expect(() => guardService(altered, walletImpl as never, noDeps)).toThrow('names no permission that a key can carry')
})

test('a service with an unimplemented rpc does not start', () => {
  const { getWallet: _, ...partial } = walletImpl
  expect(() => guardService(WalletService, partial as never, noDeps)).toThrow(
    'mediagen.v1.WalletService.GetWallet is not implemented',
  )
})

test('an operator on this machine reads the cause of trouble, and what to do before a change is repeated', async () => {
  await using store = await openTestStore(systemClock)
  const refuse = async (thrown: Error) => {
    const admin = createClient(
      AdminService,
      createOperatorTransport({ ...store, grantCredits: () => Promise.reject(thrown) }, readConfig({})),
    )
    return admin.grantCredits({ accountId: 'acct_1', credits: 1n }).catch((error: unknown) => String(error))
  }
  const doubt = await refuse(new StorageError('the connection was cut', 'DATABASE_DOUBT'))
  expect(doubt).toMatch(/look at what became of any other change before you repeat it.*the connection was cut/)
  expect(await refuse(new StorageError('the disk is full', '53100'))).toContain('the disk is full')
  const bug = await refuse(new TypeError('x is not a function'))
  expect(bug).toContain('x is not a function')
  expect(bug).not.toContain('log')
})

test('the service as it is does start', () => {
  expect(guardService(WalletService, walletImpl as never, noDeps).singles.size).toBe(4)
})

/** A server whose log lines are kept. */
async function startLogged(settings: Record<string, string> = {}, overrides = {}) {
  const { log, lines } = keepLog('debug')
  return { app: await startTestApp(settings, { log, ...overrides }), lines }
}

test('each call is logged with its rpc, request id, key and account, and counted; no key is ever written', async () => {
  const { app: owned, lines } = await startLogged()
  await using app = owned
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  await client.call('WalletService/GetWallet', {}, { metadata: { 'x-request-id': 'good' } })
  await client.refusal('GenerationService/GetJob', { job_id: 'none' }, { metadata: { 'x-request-id': 'bad' } })
  await client.refusal(
    'WalletService/GetWallet',
    {},
    { key: `mgk_${'z'.repeat(43)}`, metadata: { 'x-request-id': 'who' } },
  )
  const lineOf = (id: string) => lines.find(({ request_id }) => request_id === id)
  const whose = { account_id: app.account.accountId, key_id: expect.stringMatching(/^key_/) }
  await expect
    .poll(() => lineOf('good'))
    .toMatchObject({ rpc: 'WalletService.GetWallet', ms: expect.any(Number), ...whose })
  expect(lineOf('bad')).toMatchObject({ rpc: 'GenerationService.GetJob', code: 'job_not_found', ...whose })
  expect(lineOf('who')).toMatchObject({ code: 'invalid_api_key' })
  expect(JSON.stringify(lines)).not.toContain('mgk_')
  const metrics = await readMetrics(app)
  expect(metrics).toContain('mediagen_rpc_total{rpc="WalletService.GetWallet",code="ok"} 1')
  expect(metrics).toContain('mediagen_rpc_total{rpc="GenerationService.GetJob",code="job_not_found"} 1')
})

test('a bug is logged with its cause under the request id', async () => {
  let broken = false
  const clock = {
    nowMs() {
      if (broken) throw new Error('the secret cause')
      return Date.now()
    },
  }
  const { app: owned, lines } = await startLogged({ MEDIAGEN_ROLES: 'api' }, { clock })
  await using app = owned
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  broken = true
  await client.refusal('WalletService/GetWallet', {}, { metadata: { 'x-request-id': 'bug' } })
  broken = false
  const line = lines.find(({ request_id }) => request_id === 'bug')
  expect(line).toMatchObject({ code: 'internal', err: { message: 'the secret cause' } })
})

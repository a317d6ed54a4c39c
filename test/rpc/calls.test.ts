// Every rpc of every service, called by a client that knows only what reflection told it.
// P176, P177, P179, P180, P181, P182, P183, P184, P187.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { permissions } from '../../src/core/accounts/key.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, openForeignClient, toStruct } from './foreign-client.ts'

let app: TestApp
let client: ForeignClient
let adminKey: string
const called = new Set<string>()
const model = 'test/instant/text-to-image'
const input = toStruct({ prompt: 'x', width: 640, nested: { list: [1, null, true, 'y'] } })

beforeAll(async () => {
  app = await startTestApp()
  const plain = await openForeignClient(app.app.grpcUrl, app.account.key)
  adminKey = await app.createKey(app.account.accountId, permissions)
  client = {
    ...plain,
    call(rpc, request, options) {
      called.add(rpc)
      return plain.call(rpc, request, options)
    },
    readAll(rpc, request, options) {
      called.add(rpc)
      return plain.readAll(rpc, request, options)
    },
  }
})

afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

const asAdmin = (rpc: string, request: object) => client.call(`AdminService/${rpc}`, request, { key: adminKey })

test('a run is a quote and its start in one call', async () => {
  const run = { model, input, max_credits: '2', idempotency_key: 'run', wait: true }
  const { job, replayed } = await client.call('GenerationService/Run', run)
  expect([job.status, job.credits, replayed]).toEqual(['JOB_STATUS_SUCCEEDED', '2', false])
})

test('a quote is made, can be opened, starts a generation, and the job can be read, listed and watched', async () => {
  const { quote } = await client.call('QuotesService/CreateQuote', { model, input })
  expect(quote).toMatchObject({ quote_id: expect.stringMatching(/^quote_/), model, credits: '2' })
  const untilExpiry = Number(quote.expires_at.seconds) - Date.now() / 1000
  expect(untilExpiry).toBeGreaterThan(590)
  expect(untilExpiry).toBeLessThanOrEqual(600)
  expect((await client.call('QuotesService/GetQuote', { quote_id: quote.quote_id })).quote).toEqual(quote)

  const { job, replayed } = await client.call('GenerationService/StartGeneration', {
    model,
    input,
    quote_id: quote.quote_id,
    idempotency_key: 'calls',
    wait: true,
  })
  expect(replayed).toBe(false)
  expect(job).toMatchObject({
    job_id: expect.stringMatching(/^job_/),
    status: 'JOB_STATUS_SUCCEEDED',
    model,
    quote_id: quote.quote_id,
    progress: 1,
    credits: '2',
    billing: { quoted: '2', held: '2', charged: '2', released: '0' },
    outputs: [
      {
        content_type: 'image/png',
        url: expect.stringContaining('/assets/'),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ],
    attempts: 1,
  })
  expect(job).not.toHaveProperty('error')
  expect((await fetch(job.outputs[0].url)).status).toBe(200)

  const { job: read } = await client.call('GenerationService/GetJob', { job_id: job.job_id })
  const { reproduction, _reproduction: _, ...others } = read
  expect([reproduction.engine, others]).toEqual(['null', job])
  const files = await client.readAll('GenerationService/ReadJobFiles', { job_id: job.job_id })
  expect(files[0].file.path).toBe('outputs/1.png')
  expect(
    await client.call('GenerationService/ListJobs', {
      status: 'JOB_STATUS_SUCCEEDED',
      model,
      idempotency_key: 'calls',
      limit: 1,
    }),
  ).toEqual({ jobs: [job], total: 1 })
  expect(await client.readAll('GenerationService/WatchJob', { job_id: job.job_id })).toEqual([
    { job, sequence: expect.stringMatching(/^[1-9]\d*$/) },
  ])
})

test('a job is deleted, and its record stays', async () => {
  const { job_id } = (await app.generate(model, { prompt: 'x' })).body
  expect(await client.call('GenerationService/DeleteJob', { job_id })).toEqual({})
  const { job } = await client.call('GenerationService/GetJob', { job_id })
  expect(job).toMatchObject({ job_id, outputs: [], deleted_at: expect.anything() })
  expect(job.input).toBeUndefined()
})

test('a job is canceled, and its credits come back', async () => {
  const { job_id } = (await app.generate('test/gate/text-to-image', app.gate().input, { wait: false })).body
  const { job } = await client.call('GenerationService/CancelJob', { job_id })
  expect(['JOB_STATUS_QUEUED', 'JOB_STATUS_RUNNING', 'JOB_STATUS_CANCELED']).toContain(job.status)
  const watched = await client.readAll('GenerationService/WatchJob', { job_id })
  expect(watched.at(-1).job).toMatchObject({
    status: 'JOB_STATUS_CANCELED',
    credits: '0',
    billing: { held: '10', charged: '0', released: '10' },
  })
})

test('the catalog lists models in catalog order, products, categories, and one model with its schema', async () => {
  const { models, total } = await client.call('CatalogService/ListModels', {
    category: 'text-to-image',
    search: 'INSTANT',
    limit: 500,
  })
  expect(total).toBe(1)
  expect(models[0]).toMatchObject({
    id: model,
    name: 'Instant',
    modality: 'MODALITY_IMAGE',
    pricing: { billing: 'BILLED_FIXED' },
    owned_by: 'tests',
  })
  const { products } = await client.call('CatalogService/ListProducts', { search: 'test/instant' })
  expect(products).toMatchObject([
    {
      id: 'test/instant',
      modes: [{ model }, { mode: 'edit', model: 'test/instant/edit', category: 'image-to-image' }],
    },
  ])
  const { categories } = await client.call('CatalogService/ListCategories', {})
  expect(categories).toContainEqual({
    id: 'image-to-image',
    name: 'Image to image',
    modality: 'MODALITY_IMAGE',
    count: expect.any(Number),
  })
  const one = await client.call('CatalogService/GetModel', { model: 'test/unready/video-to-video' })
  expect(one.model).toMatchObject({ id: 'test/unready/video-to-video' })
  expect(one.openapi.fields).toContainEqual({
    key: 'openapi',
    value: expect.objectContaining({ string_value: expect.stringMatching(/^3\.1/) }),
  })
})

test('a name is resolved to the model whose id or alias it is, with what the catalog says of it (P249, P274)', async () => {
  const openai_fields = { fields: [expect.objectContaining({ key: 'quality' })] }
  const instant = { model, modality: 'MODALITY_IMAGE', input_schema: expect.anything(), openai_fields }
  for (const name of ['gpt-image-1', model])
    expect(await client.call('CatalogService/ResolveModel', { name })).toMatchObject(instant)
  await expect(client.call('CatalogService/ResolveModel', { name: 'gpt-image-0' })).rejects.toThrow('model_not_found')
  // Only where OpenAI's interface is spoken.
  await expect(client.call('CatalogService/GetModel', { model: 'gpt-image-1' })).rejects.toThrow('model_not_found')
})

test('the wallet tells the balance, its entries newest first, and who the key is', async () => {
  const { accountId, key } = await app.createAccount(50)
  expect(await client.call('WalletService/GetWallet', {}, { key })).toEqual({ available: '50', held: '0' })
  const { entries, total } = await client.call('WalletService/ListEntries', {}, { key })
  expect(total).toBe(1)
  expect(entries).toMatchObject([{ kind: 'ENTRY_KIND_GRANT', credits: '50', available_after: '50', held_after: '0' }])
  const access = await client.call('WalletService/GetAccess', {}, { key })
  expect(access).toMatchObject({ account_id: accountId })
  expect(access.permissions).toContain('PERMISSION_GENERATE')
  expect(access.permissions).not.toContain('PERMISSION_ADMIN')
})

test('the usage tells what jobs were charged, by day, model, key and label (P295)', async () => {
  const labels = [{ key: 'team', value: 'ads' }]
  await client.call('GenerationService/Run', {
    model,
    input,
    max_credits: '2',
    idempotency_key: 'usage',
    wait: true,
    labels,
  })
  const { rows, sum, from, to } = await client.call('WalletService/GetUsage', {
    group_by: ['day', 'model', 'key', 'label:team'],
  })
  const charged = { jobs: '1', succeeded: '1', charged: '2' }
  expect(rows).toContainEqual(
    expect.objectContaining({ day: to, model, key_id: expect.stringMatching(/^key_/), labels, ...charged }),
  )
  expect(rows.reduce((total: number, row: { charged: string }) => total + Number(row.charged), 0)).toBe(
    Number(sum.charged),
  )
  expect(from).toBe(`${to.slice(0, 7)}-01`)
  expect((await client.call('WalletService/GetUsage', { to: '2026-01-31' })).rows).toEqual([])
})

test('the account tells its name, its keys and its limits', async () => {
  const { accountId, key } = await app.createAccount(0)
  expect(await client.call('AccountService/GetAccount', {}, { key })).toMatchObject({
    account_id: accountId,
    name: 'test',
    key: { prefix: key.slice(0, 8) },
    limits: { queued_jobs: '1000', webhooks: 10 },
  })
  expect(await client.call('AccountService/ListOwnKeys', {}, { key })).toMatchObject({
    keys: [{ account_id: accountId, prefix: key.slice(0, 8) }],
    total: 1,
  })
  expect(await client.call('AccountService/GetOwnKey', {}, { key })).toMatchObject({ left: [], time_zone: 'UTC' })
})

test('a key makes a key of its account, limits it and revokes it', async () => {
  const own = { permissions: ['PERMISSION_GENERATE'], limits: { daily: 9 } }
  const { key } = await client.call('AccountService/CreateOwnKey', own)
  const change = { key_id: key.key_id, limits: { daily: 5 }, update_mask: { paths: ['daily'] } }
  const { key: limited } = await client.call('AccountService/ChangeOwnKeyLimits', change)
  expect(limited.limits).toMatchObject({ daily: '5' })
  const { key: revoked } = await client.call('AccountService/RevokeOwnKey', { key_id: key.key_id })
  expect(revoked.revoked_at).not.toBeNull()
})

test('the operator makes accounts and keys, moves credits, rotates the quote key and verifies the ledger', async () => {
  const { account } = await asAdmin('CreateAccount', { name: 'made over gRPC', credits: 20 })
  expect(account).toMatchObject({ name: 'made over gRPC', available: '20', held: '0' })
  expect((await asAdmin('ListAccounts', { limit: 1 })).accounts).toEqual([account])
  const { key, secret } = await asAdmin('CreateKey', {
    account_id: account.account_id,
    permissions: ['PERMISSION_WALLET_READ'],
  })
  expect(secret).toMatch(/^mgk_[0-9A-Za-z]{43}$/)
  expect((await asAdmin('ListKeys', { account_id: account.account_id })).keys).toEqual([key])
  expect((await asAdmin('GrantCredits', { account_id: account.account_id, credits: 5 })).account.available).toBe('25')
  expect(
    (await asAdmin('AdjustCredits', { account_id: account.account_id, credits: -24, note: 'a test' })).account
      .available,
  ).toBe('1')
  expect(await client.call('WalletService/GetWallet', {}, { key: secret })).toEqual({ available: '1', held: '0' })
  const mask = { limits: { total: 7 }, update_mask: { paths: ['total'] } }
  const limitedKey = await asAdmin('ChangeKeyLimits', { key_id: key.key_id, ...mask })
  expect(limitedKey.key.limits).toMatchObject({ total: '7' })
  const limited = await asAdmin('ChangeAccountLimits', { account_id: account.account_id, ...mask })
  expect(limited.account.limits).toMatchObject({ total: '7' })
  const revoked = (await asAdmin('RevokeKey', { key_id: key.key_id })).key
  expect(revoked.revoked_at).not.toBeNull()
  expect((await client.refusal('WalletService/GetWallet', {}, { key: secret })).detail.code).toBe('invalid_api_key')
  expect((await asAdmin('VerifyLedger', {})).problems).toEqual([])
})

test('an operator lists sessions, of which there are none, and none is revoked, ended or readmitted', async () => {
  expect(await asAdmin('ListSessions', { account_id: app.account.accountId })).toEqual({ sessions: [], total: 0 })
  for (const [rpc, request, code] of [
    ['RevokeSession', { session_id: 'sess_none' }, 'session_not_found'],
    ['ReadmitPerson', { key_id: 'key_none' }, 'key_not_found'],
    ['EndSessions', { key_id: 'key_none' }, 'key_not_found'],
  ] as const) {
    called.add(`AdminService/${rpc}`)
    expect((await client.refusal(`AdminService/${rpc}`, request, { key: adminKey })).detail.code).toBe(code)
  }
})

test('a rotated quote key leaves quotes valid that were made before', async () => {
  const { quote } = await client.call('QuotesService/CreateQuote', { model, input })
  const { key_number } = await asAdmin('RotateQuoteKey', {})
  expect(key_number).toBeGreaterThan(1)
  expect((await client.call('QuotesService/GetQuote', { quote_id: quote.quote_id })).quote).toEqual(quote)
})

test('a rotated key of URLs leaves those working that were made before, unless it revokes them', async () => {
  const { outputs } = (await app.generate(model, { prompt: 'x' })).body
  const { key_number } = await asAdmin('RotateAssetKey', {})
  expect(key_number).toBeGreaterThan(1)
  expect((await fetch(outputs[0].url)).status).toBe(200)
  expect((await asAdmin('RotateAssetKey', { revoke: true })).key_number).toBe(key_number + 1)
  await expect.poll(async () => (await fetch(outputs[0].url)).status).toBe(404)
})

test('a job that is not under review is not resolved', async () => {
  called.add('AdminService/ResolveJob')
  const { job_id } = (await app.generate(model, { prompt: 'x' })).body
  const refused = await client.refusal('AdminService/ResolveJob', { job_id, charge: 1 }, { key: adminKey })
  expect(refused).toMatchObject({ status: 'FAILED_PRECONDITION', detail: { code: 'job_not_in_review' } })
})

test('a webhook endpoint is registered, and what was sent to it is listed and sent again', async () => {
  const { webhook, secret } = await client.call('WebhooksService/CreateWebhook', {
    url: 'http://hooks.invalid:1024/hooks',
  })
  const { webhook_id } = webhook
  expect(secret).toMatch(/^whsec_/)
  expect((await client.call('WebhooksService/RotateWebhookSecret', { webhook_id })).secret).not.toBe(secret)
  expect(await client.call('WebhooksService/GetWebhook', { webhook_id })).toEqual({ webhook })
  expect(await client.call('WebhooksService/ListWebhooks', {})).toEqual({ webhooks: [webhook], total: 1 })
  const { job_id } = (await app.generate(model, { prompt: 'x' })).body
  const { deliveries } = await client.call('WebhooksService/ListDeliveries', { webhook_id })
  expect(deliveries).toMatchObject([{ webhook_id, job_id, type: 'job.succeeded' }])
  expect(await asAdmin('FindWebhooks', {})).toEqual({ webhooks: [webhook], total: 1 })
  expect((await asAdmin('FindDeliveries', { job_id })).deliveries).toMatchObject([{ job_id }])
  const { delivery_id } = deliveries[0]
  expect((await asAdmin('Redeliver', { delivery_id })).delivery).toMatchObject({ status: 'DELIVERY_STATUS_PENDING' })
  const renewed = await client.call('WebhooksService/RedeliverOwnDelivery', { webhook_id, delivery_id })
  expect(renewed.delivery).toMatchObject({ delivery_id, status: 'DELIVERY_STATUS_PENDING' })
  const { message_id, attempt } = await client.call('WebhooksService/TestWebhook', { webhook_id })
  expect([message_id, attempt.error]).toEqual([expect.stringMatching(/^test_/), 'The name of the host is unknown.'])
  expect(await client.call('WebhooksService/DeleteWebhook', { webhook_id })).toEqual({})
})

test('a file is uploaded in pieces, read, listed and deleted', async () => {
  called.add('FilesService/UploadFile')
  const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))
  const pieces = [
    { header: { bytes: picture.length } },
    { chunk: picture.subarray(0, 9) },
    { chunk: picture.subarray(9) },
  ]
  const { file } = await client.upload('FilesService/UploadFile', pieces)
  expect(file).toMatchObject({ content_type: 'image/png', bytes: String(picture.length) })
  const { file_id } = file
  expect(await client.call('FilesService/GetFile', { file_id })).toEqual({ file })
  expect(await client.call('FilesService/ListFiles', {})).toEqual({ files: [file], total: 1 })
  expect(await client.call('FilesService/DeleteFile', { file_id })).toEqual({})
  expect(await client.call('FilesService/ListFiles', {})).toEqual({ files: [], total: 0 })
})

test('an operator lists and reads jobs of all accounts', async () => {
  const { job_id } = (await app.generate(model, { prompt: 'x' })).body
  called.add('AdminService/ListAllJobs').add('AdminService/InspectJob')
  const { jobs, total } = await client.call('AdminService/ListAllJobs', { limit: 1 }, { key: adminKey })
  expect(jobs).toMatchObject([{ job_id, account_id: app.account.accountId, status: 'JOB_STATUS_SUCCEEDED' }])
  expect(total).toBeGreaterThan(0)
  const seen = await client.call('AdminService/InspectJob', { job_id }, { key: adminKey })
  expect(seen.job).toMatchObject({ job_id, outputs: 1, attempts: 1 })
})

test('an operator freezes, renames and closes an account, and cancels its job', async () => {
  const { accountId: account_id } = await app.createAccount(20)
  const account = { accountId: account_id, key: await app.createKey(account_id, permissions) }
  const { job_id } = (await app.generate('test/gate/text-to-image', app.gate().input, { account, wait: false })).body
  expect((await asAdmin('FreezeAccount', { account_id, reason: 'unpaid' })).account).toMatchObject({
    status: 'ACCOUNT_STATUS_FROZEN',
    status_reason: 'unpaid',
    status_changed_at: { seconds: expect.any(String) },
  })
  expect((await asAdmin('UnfreezeAccount', { account_id })).account).toMatchObject({ status: 'ACCOUNT_STATUS_ACTIVE' })
  const { account: renamed } = await asAdmin('RenameAccount', { account_id, name: 'renamed over gRPC' })
  expect((await asAdmin('InspectAccount', { name: 'renamed over gRPC' })).account).toEqual(renamed)
  expect((await asAdmin('CancelAnyJob', { job_id })).job).toMatchObject({ job_id })
  await client.readAll('GenerationService/WatchJob', { job_id }, { key: account.key })
  const closed = await asAdmin('CloseAccount', { account_id, reason: 'gone' })
  expect(closed).toMatchObject({ account: { status: 'ACCOUNT_STATUS_CLOSED', available: '20' }, revoked_keys: 2 })
})

test('an operator reads what waits, what models and providers say, what was used, and what is kept', async () => {
  expect(await asAdmin('MeasureBacklog', {})).toMatchObject({ queues: [], reviews: '0', oldest_review_seconds: 0 })
  const { models, total, ready } = await asAdmin('ListAllModels', { limit: 1 })
  expect(models).toMatchObject([{ model, kind: 'null', providers: [] }])
  expect(total).toBeGreaterThan(ready)
  expect(await asAdmin('ListProviders', {})).toEqual({ providers: [] })
  expect(await asAdmin('CheckProviders', {})).toEqual({ providers: [] })
  const { rows, sum } = await asAdmin('FindUsage', {})
  const own = rows.find((row: any) => row.account_id === app.account.accountId)
  expect(own).toMatchObject({ account_name: 'test', usage: { labels: [] } })
  expect(Number(own.usage.charged)).toBeLessThanOrEqual(Number(sum.charged))
  expect(await asAdmin('GetRetention', {})).toMatchObject({ files_in: 'disk', file_seconds: '604800' })
})

test('an operator watches all jobs', async () => {
  called.add('AdminService/WatchAllJobs')
  const stream = client.stream('AdminService/WatchAllJobs', {}, { key: adminKey })
  const ids: string[] = []
  const { promise: opened, resolve } = Promise.withResolvers<void>()
  stream.on('data', ({ jobs }: any) => {
    resolve()
    ids.push(...jobs.map((job: any) => job.job_id))
  })
  stream.on('error', () => {})
  await opened
  const { job_id } = (await app.generate(model, { prompt: 'x' })).body
  await expect.poll(() => ids).toContain(job_id)
  stream.cancel()
})

test('an operator measures and sweeps the files of all accounts', async () => {
  await app.generate(model, { prompt: 'x' })
  const { usage } = await asAdmin('MeasureFiles', {})
  expect(usage).toMatchObject([{ account_id: app.account.accountId, kind: 'outputs' }])
  expect(Number(usage[0].bytes)).toBeGreaterThan(0)
  expect(await asAdmin('SweepFiles', {})).toEqual({
    expired_files: '0',
    expired_bytes: '0',
    orphaned_files: '0',
    orphaned_bytes: '0',
    not_removed: [],
  })
})

test('an operator reads the audit', async () => {
  const { entries, total } = await asAdmin('ListAuditEntries', { limit: 1 })
  expect(entries).toHaveLength(1)
  expect(total).toBeGreaterThan(0)
})

test('no rpc that the server declares was left out above', () => {
  expect([...called].toSorted()).toEqual(client.rpcs.map(({ name }) => name).toSorted())
})

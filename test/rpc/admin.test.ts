// AdminService over gRPC, the door to money: what each method does, what it refuses, and what it leaves on record (P184).
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { permissions } from '../../src/core/accounts/key.ts'
import type { Store } from '../../src/core/store.ts'
import { keepLog } from '../kept-log.ts'
import { claimPaid, startJob } from '../storage/fixture.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { openStoreOf } from '../test-store.ts'
import { type ForeignClient, openForeignClient } from './foreign-client.ts'

const hourMs = 3_600_000
const { log, lines } = keepLog()
let app: TestApp
let client: ForeignClient
/** Another process on the same data. */
let store: Store
/** Who calls. */
let actor: { key_id: string; account_id: string; os_user: string }

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { log })
  const { accountId } = app.account
  const key = await app.createKey(accountId, ['admin'])
  client = await openForeignClient(app.app.grpcUrl, key)
  store = await openStoreOf(app.config.dataDir)
  const [{ key_id } = { key_id: '' }] = (await call('ListKeys', {})).keys
  actor = { key_id, account_id: accountId, os_user: '' }
})
afterAll(async () => {
  client[Symbol.dispose]()
  await store.close()
  await app[Symbol.asyncDispose]()
})

const call = (method: string, request: object): Promise<any> => client.call(`AdminService/${method}`, request)

async function refusal(method: string, request: object): Promise<any> {
  const { status, detail, message } = await client.refusal(`AdminService/${method}`, request)
  return {
    status,
    code: detail?.code,
    pointers: detail?.violations?.map((violation: any) => violation.pointer),
    message,
  }
}

/** What the newest entry says, as plain JSON, once the log has it, too. */
async function lastAct(): Promise<any> {
  const { entries } = await call('ListAuditEntries', { limit: 1 })
  const { entry_id, created_at, act, subject, account_id, before, after } = entries[0]
  expect(entry_id).toMatch(/^audit_/)
  expect(Number(created_at.seconds)).toBeGreaterThan(1_700_000_000)
  const line = lines.find(({ audit_id }) => audit_id === entry_id)
  expect(line).toMatchObject({ level: 30, msg: 'administrative act', act, key_id: actor.key_id })
  const told = {
    act,
    actor: entries[0].actor,
    subject,
    account_id,
    before: fromStruct(before),
    after: fromStruct(after),
  }
  expect({ before: line.before, after: line.after }).toEqual({ before: told.before, after: told.after })
  return told
}

const countActs = async (): Promise<number> => (await call('ListAuditEntries', { limit: 1 })).total

/** A google.protobuf.Struct as a foreign client has it. */
function fromStruct(struct: any): any {
  if (!struct?.fields) return null
  return Object.fromEntries(struct.fields.map(({ key, value }: any) => [key, fromValue(value)]))
}

function fromValue(value: any): any {
  if ('null_value' in value) return null
  if (value.list_value) return value.list_value.values.map(fromValue)
  if (value.struct_value) return fromStruct(value.struct_value)
  return value.number_value ?? value.string_value ?? value.bool_value
}

test('every method needs the permission admin, and refused calls are not recorded', async () => {
  const before = await countActs()
  const everyday = await app.createKey(
    app.account.accountId,
    permissions.filter((name) => name !== 'admin'),
  )
  for (const { name } of AdminService.methods) {
    const refused = await client.refusal(`AdminService/${name}`, {}, { key: everyday })
    expect(refused, name).toMatchObject({ status: 'PERMISSION_DENIED', detail: { code: 'missing_permission' } })
    const stranger = await client.refusal(`AdminService/${name}`, {}, { key: null })
    expect(stranger, name).toMatchObject({ detail: { code: 'authentication_required' } })
  }
  // The key that was made here, by the test's own way in.
  expect(await countActs()).toBe(before + 1)
})

test('CreateAccount and ListAccounts', async () => {
  const { account } = await call('CreateAccount', { name: 'Ada', credits: 12 })
  expect(account).toMatchObject({ name: 'Ada', available: '12', held: '0' })
  expect(await lastAct()).toEqual({
    act: 'account.created',
    actor,
    subject: account.account_id,
    account_id: account.account_id,
    before: null,
    after: { name: 'Ada', available: 12 },
  })
  const { accounts, total } = await call('ListAccounts', { limit: 1 })
  expect([accounts, total]).toEqual([[account], 2])
  expect(await call('ListAccounts', { offset: 2 })).toEqual({ accounts: [], total: 2 })

  const fox = '\u{1F98A}'
  expect((await call('CreateAccount', { name: fox.repeat(200) })).account).toMatchObject({ name: fox.repeat(200) })
  const acts = await countActs()
  for (const [request, pointers] of [
    [{ name: '' }, ['/name']],
    [{ name: fox.repeat(201) }, ['/name']],
    [{ name: 'x'.repeat(201) }, ['/name']],
    [{ name: 'a', credits: -1 }, ['/credits']],
    [{ name: '', credits: '9007199254740992' }, ['/name', '/credits']],
  ] as const)
    expect(await refusal('CreateAccount', request)).toMatchObject({ code: 'invalid_request', pointers })
  for (const [request, pointers] of [
    [{ limit: 0 }, ['/limit']],
    [{ limit: 501, offset: -1 }, ['/limit', '/offset']],
  ] as const)
    expect(await refusal('ListAccounts', request)).toMatchObject({ code: 'invalid_request', pointers })
  expect(await countActs()).toBe(acts)
})

test('CreateKey, ListKeys and RevokeKey', async () => {
  const { accountId } = app.account
  const seconds = Math.floor(Date.now() / 1000) + 3600
  const asked = ['PERMISSION_WALLET_READ', 'PERMISSION_ADMIN', 'PERMISSION_WALLET_READ']
  const { key, secret } = await call('CreateKey', {
    account_id: accountId,
    permissions: asked,
    expires_at: { seconds },
  })
  expect(secret).toMatch(/^mgk_[0-9A-Za-z]{43}$/)
  expect(key).toMatchObject({ account_id: accountId, permissions: asked.slice(0, 2) })
  const made = await lastAct()
  expect(made).toMatchObject({
    act: 'key.created',
    actor,
    subject: key.key_id,
    account_id: accountId,
    before: null,
    after: { permissions: ['wallet:read', 'admin'], expires_at: new Date(seconds * 1000).toISOString() },
  })
  expect(JSON.stringify(made)).not.toContain(secret)
  expect((await call('ListKeys', { account_id: accountId, limit: 1 })).keys).toEqual([key])
  expect(await call('ListKeys', { account_id: 'acct_none' })).toEqual({ keys: [], total: 0 })
  expect(await client.call('WalletService/GetWallet', {}, { key: secret })).toMatchObject({ available: '1000' })

  const { key: revoked } = await call('RevokeKey', { key_id: key.key_id })
  expect(Number(revoked.revoked_at.seconds)).toBeGreaterThan(1_700_000_000)
  expect(await client.refusal('WalletService/GetWallet', {}, { key: secret })).toMatchObject({
    detail: { code: 'invalid_api_key' },
  })
  const act = await lastAct()
  expect(act).toMatchObject({ act: 'key.revoked', actor, subject: key.key_id, before: { revoked_at: null } })
  expect(Date.parse(act.after.revoked_at)).toBe(
    Number(revoked.revoked_at.seconds) * 1000 + revoked.revoked_at.nanos / 1e6,
  )
  // Again: the first time stays, and that it was asked for is on record.
  expect((await call('RevokeKey', { key_id: key.key_id })).key).toEqual(revoked)
  expect((await lastAct()).before).toEqual(act.after)

  const acts = await countActs()
  for (const [request, pointers] of [
    [{ account_id: '' }, ['/account_id', '/permissions']],
    [{ account_id: accountId }, ['/permissions']],
    [{ account_id: accountId, permissions: [99] }, ['/permissions']],
    [{ account_id: accountId, permissions: ['PERMISSION_ANY'] }, ['/permissions']],
    [{ account_id: accountId, permissions: asked, expires_at: { seconds: 1 } }, ['/expires_at']],
  ] as const)
    expect(await refusal('CreateKey', request)).toMatchObject({ code: 'invalid_request', pointers })
  expect(await refusal('CreateKey', { account_id: 'acct_none', permissions: asked })).toMatchObject({
    status: 'NOT_FOUND',
    code: 'account_not_found',
  })
  expect(await refusal('RevokeKey', { key_id: 'key_none' })).toMatchObject({ code: 'key_not_found' })
  expect(await countActs()).toBe(acts)
})

test('P288, P289: GrantCredits with a reference grants once, and says so', async () => {
  const { accountId: account_id } = await app.createAccount(10)
  const reference = 'shop ~ 4711/a'
  const first = await call('GrantCredits', { account_id, credits: 5, note: 'paid', reference })
  expect(first).toMatchObject({
    replayed: false,
    account: { available: '15' },
    entry: { kind: 'ENTRY_KIND_GRANT', credits: '5', note: 'paid', reference },
  })
  expect((await lastAct()).after).toEqual({ available: 15, held: 0, credits: 5, note: 'paid', reference })
  await call('AdjustCredits', { account_id, credits: -1, note: 'x' })
  const again = await call('GrantCredits', { account_id, credits: 5, reference })
  expect(again).toMatchObject({ replayed: true, account: { available: '14' } })
  expect(again.entry).toEqual(first.entry)
  const { accountId: other } = await app.createAccount(0)
  for (const changed of [{ credits: 6 }, { account_id: other }]) {
    const { status, code, message } = await refusal('GrantCredits', { account_id, credits: 5, reference, ...changed })
    expect([status, code]).toEqual(['ALREADY_EXISTS', 'reference_reused'])
    expect(message).toContain(`The reference "${reference}" belongs to a grant of 5 credits to ${account_id}`)
  }
  for (const wrong of ['x'.repeat(129), ' x', 'x ', ' ', 'ü', 'x\n', 'a\tb'])
    expect(await refusal('GrantCredits', { account_id: other, credits: 5, reference: wrong })).toMatchObject({
      code: 'invalid_request',
      pointers: ['/reference'],
    })
  const edges = await call('GrantCredits', { account_id: other, credits: 1, reference: '~'.repeat(128) })
  expect(edges).toMatchObject({ replayed: false, account: { available: '1' } })
  const actsOf = async (id: string) => {
    const { entries } = await call('ListAuditEntries', { account_id: id })
    return entries.map(({ act }: { act: string }) => act).filter((act: string) => act.startsWith('credits'))
  }
  expect(await actsOf(account_id)).toEqual(['credits.adjusted', 'credits.granted'])
  expect(await actsOf(other)).toEqual(['credits.granted'])
})

test('GrantCredits and AdjustCredits', async () => {
  const { accountId: account_id } = await app.createAccount(10)
  const granted = await call('GrantCredits', { account_id, credits: 5, note: 'paid' })
  expect(granted.account).toMatchObject({ available: '15', held: '0' })
  const of = { actor, subject: account_id, account_id }
  expect(await lastAct()).toEqual({
    ...of,
    act: 'credits.granted',
    before: { available: 10, held: 0 },
    after: { available: 15, held: 0, credits: 5, note: 'paid' },
  })
  const adjusted = await call('AdjustCredits', { account_id, credits: -14, note: 'mistake' })
  expect(adjusted.account).toMatchObject({ available: '1' })
  expect(await lastAct()).toEqual({
    ...of,
    act: 'credits.adjusted',
    before: { available: 15, held: 0 },
    after: { available: 1, held: 0, credits: -14, note: 'mistake' },
  })

  const acts = await countActs()
  for (const credits of [0, -1, '9007199254740992'])
    expect(await refusal('GrantCredits', { account_id, credits })).toMatchObject({ pointers: ['/credits'] })
  for (const [request, pointers] of [
    [{ credits: 0, note: 'x' }, ['/credits']],
    [{ credits: 1 }, ['/note']],
    [{ credits: 1, note: 'x'.repeat(1001) }, ['/note']],
    [{ credits: 1, note: '\u{1F98A}'.repeat(1001) }, ['/note']],
  ] as const)
    expect(await refusal('AdjustCredits', { account_id, ...request })).toMatchObject({ pointers })
  expect(await refusal('AdjustCredits', { account_id, credits: -2, note: 'x' })).toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('available now: 1'),
  })
  expect(await refusal('GrantCredits', { account_id, credits: Number.MAX_SAFE_INTEGER })).toMatchObject({
    code: 'invalid_request',
  })
  for (const method of ['GrantCredits', 'AdjustCredits'])
    expect(await refusal(method, { account_id: 'acct_none', credits: 1, note: 'x' })).toMatchObject({
      code: 'account_not_found',
    })
  expect(await countActs()).toBe(acts)
  expect((await call('VerifyLedger', {})).problems).toEqual([])
})

/** A job under review: its engine may have cost elsewhere, and its worker gave it up. */
async function makeReview(): Promise<{ jobId: string; accountId: string }> {
  const { accountId } = await app.createAccount(100)
  const { jobId } = await startJob(store, accountId)
  const { token } = await claimPaid(store)
  await store.finishJob(jobId, token, { status: 'queued' })
  return { jobId, accountId }
}

test('ResolveJob, ListAllJobs and InspectJob', async () => {
  const { jobId: job_id, accountId: account_id } = await makeReview()
  const { jobs } = await call('ListAllJobs', { status: 'JOB_STATUS_NEEDS_REVIEW' })
  expect(jobs).toMatchObject([{ job_id, account_id, billing: { held: '10' } }])
  expect(await call('InspectJob', { job_id })).toMatchObject({ job: jobs[0], resumable: false })
  const acts = await countActs()
  expect(await refusal('ResolveJob', { job_id, charge: 11 })).toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('at most 10'),
  })
  expect(await refusal('ResolveJob', { job_id, charge: -1 })).toMatchObject({ pointers: ['/charge'] })
  expect(await refusal('ResolveJob', { job_id: 'job_none' })).toMatchObject({ code: 'job_not_found' })
  expect(await refusal('InspectJob', { job_id: 'job_none' })).toMatchObject({ code: 'job_not_found' })
  expect(await countActs()).toBe(acts)

  expect(await call('ResolveJob', { job_id, charge: 4 })).toEqual({ charged: '4', released: '6' })
  expect(await lastAct()).toEqual({
    act: 'job.resolved',
    actor,
    subject: job_id,
    account_id,
    before: { status: 'needs_review', held: 10 },
    after: { status: 'succeeded', charged: 4, released: 6 },
  })
  expect(await refusal('ResolveJob', { job_id, charge: 4 })).toMatchObject({ code: 'job_not_in_review' })
  const other = await makeReview()
  expect(await call('ResolveJob', { job_id: other.jobId })).toEqual({ charged: '0', released: '10' })
  expect((await lastAct()).after).toEqual({ status: 'failed', charged: 0, released: 10 })
  expect((await call('ListAllJobs', { account_id })).total).toBe(1)
  expect((await call('ListAllJobs', { model: 'none' })).total).toBe(0)
})

test('RotateQuoteKey: quotes made before stay good', async () => {
  const before = await app.quote('test/instant/text-to-image', { prompt: 'x' })
  const { key_number } = await call('RotateQuoteKey', {})
  expect(await lastAct()).toEqual({
    act: 'signing_key.rotated',
    actor,
    subject: 'quote',
    account_id: '',
    before: { number: key_number - 1 },
    after: { number: key_number },
  })
  const { quote } = await client.call('QuotesService/GetQuote', { quote_id: before.quote_id }, { key: app.account.key })
  expect(quote.quote_id).toBe(before.quote_id)
})

test('FindWebhooks, FindDeliveries and Redeliver', async () => {
  const { accountId: account_id, key } = await app.createAccount(10)
  const { webhook } = await client.call('WebhooksService/CreateWebhook', { url: 'https://example.com/' }, { key })
  const { jobId } = await startJob(store, account_id, { credits: 0 })
  await store.requestCancel(account_id, jobId)
  expect(await call('FindWebhooks', { account_id })).toEqual({ webhooks: [webhook], total: 1 })
  const { deliveries } = await call('FindDeliveries', { job_id: jobId })
  const [{ delivery_id }] = deliveries
  const { delivery } = await call('Redeliver', { delivery_id })
  expect(delivery).toMatchObject({ delivery_id, status: 'DELIVERY_STATUS_PENDING' })
  expect(await lastAct()).toEqual({
    act: 'delivery.renewed',
    actor,
    subject: delivery_id,
    account_id,
    before: { status: 'pending' },
    after: { status: 'pending' },
  })
  const acts = await countActs()
  expect(await refusal('Redeliver', { delivery_id: 'dlv_none' })).toMatchObject({ code: 'delivery_not_found' })
  await client.call('WebhooksService/DeleteWebhook', { webhook_id: webhook.webhook_id }, { key })
  expect(await refusal('Redeliver', { delivery_id })).toMatchObject({ code: 'webhook_not_found' })
  expect(await countActs()).toBe(acts)
})

test('MeasureFiles and SweepFiles', async () => {
  const orphan = join(app.config.dataDir, 'assets', 'job_01m7yz8n25e00b5kcj94e2afcx')
  mkdirSync(orphan, { recursive: true })
  writeFileSync(join(orphan, '0.png'), 'left by a crash')
  const old = new Date(Date.now() - 2 * hourMs)
  for (const path of [join(orphan, '0.png'), orphan]) utimesSync(path, old, old)
  const { usage } = await call('MeasureFiles', {})
  expect(usage).toContainEqual({ account_id: '', kind: 'orphans', files: '1', bytes: '15' })
  const acts = await countActs()
  expect(await call('SweepFiles', { dry_run: true })).toMatchObject({ orphaned_files: '1', orphaned_bytes: '15' })
  expect([existsSync(orphan), await countActs()]).toEqual([true, acts])
  expect(await call('SweepFiles', {})).toMatchObject({ orphaned_files: '1', orphaned_bytes: '15' })
  expect(existsSync(orphan)).toBe(false)
  const found = { expired_files: 0, expired_bytes: 0, orphaned_files: 1, orphaned_bytes: 15 }
  const of = { actor, subject: 'files', account_id: '', before: found }
  expect(await lastAct()).toEqual({ ...of, act: 'files.swept', after: { ...found, folders_not_removed: 0 } })
  const { entries } = await call('ListAuditEntries', { limit: 1, offset: 1 })
  expect(entries[0]).toMatchObject({ act: 'files.sweep_begun', actor })
})

test('VerifyLedger says what it checked', async () => {
  const report = await call('VerifyLedger', {})
  expect(Number(report.accounts)).toBeGreaterThan(1)
  expect(report.problems).toEqual([])
})

test('ListAuditEntries: newest first, in pages, of one account, and reading them is not recorded', async () => {
  const { account } = await call('CreateAccount', { name: 'last', credits: 0 })
  const { account_id } = account
  await call('GrantCredits', { account_id, credits: 1 })
  const acts = await countActs()
  const list = async (request: object) =>
    (await call('ListAuditEntries', request)).entries.map((entry: any) => entry.act)
  expect(await list({ account_id })).toEqual(['credits.granted', 'account.created'])
  expect(await list({ account_id, limit: 1, offset: 1 })).toEqual(['account.created'])
  expect(await list({ account_id: 'acct_none' })).toEqual([])
  expect(await refusal('ListAuditEntries', { limit: 501 })).toMatchObject({ pointers: ['/limit'] })
  expect(await refusal('ListAuditEntries', { offset: -1 })).toMatchObject({ pointers: ['/offset'] })
  expect(await countActs()).toBe(acts)
})

test('P215 names and notes are one line, without characters that act on a terminal', async () => {
  const { accountId } = app.account
  const text = 'a\u001B[2J\nb\u202E'
  for (const [method, request, pointer] of [
    ['CreateAccount', { name: text }, '/name'],
    ['CreateKey', { account_id: accountId, permissions: ['PERMISSION_GENERATE'], name: text }, '/name'],
    ['GrantCredits', { account_id: accountId, credits: 1, note: text }, '/note'],
    ['AdjustCredits', { account_id: accountId, credits: 1, note: text }, '/note'],
  ] as const)
    expect(await refusal(method, request), method).toMatchObject({ code: 'invalid_request', pointers: [pointer] })
})

// What the operator's console asks, in the JSON of Connect: accounts, jobs, models, providers, usage, the audit
// (P312, P313, P314, P315, P317, P318, P319, P320, P321, P322, P323, P324).
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Store } from '../../src/core/store.ts'
import { claimPaid, startJob, testAsset } from '../storage/fixture.ts'
import { startTestApp, type TestApp, testCatalog } from '../test-app.ts'
import { openStoreOf } from '../test-store.ts'
import { openForeignClient } from './foreign-client.ts'

const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }
let app: TestApp
/** Another process on the same data. */
let store: Store
let key = ''
let keyId = ''
/** Answers as Replicate does to whoever has its key. */
const provider = createServer((request, response) => {
  const known = request.headers.authorization === 'Bearer right'
  response.writeHead(known ? 200 : 401, { 'content-type': 'application/json' }).end('{}')
})

beforeAll(async () => {
  await new Promise<void>((resolve) => void provider.listen(0, '127.0.0.1', resolve))
  const catalog = join(import.meta.dirname, '../../node_modules/.cache/mediagen', `providers-${process.pid}.json`)
  const { port } = provider.address() as AddressInfo
  const entry = (id: string, engine: object) => ({
    id,
    name: id,
    description: 'Made elsewhere.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'tests',
    created: '2026-11-01',
    price: { credits: 1 },
    engine,
    input: { type: 'object', properties: { prompt: { type: 'string' } } },
  })
  const replicate = { kind: 'replicate', base_url: `http://127.0.0.1:${port}` }
  writeFileSync(
    catalog,
    JSON.stringify({
      providers: {
        keyless: { ...replicate, token_env: 'MEDIAGEN_TEST_NO_SUCH_KEY' },
        spare: { ...replicate, token_env: 'MEDIAGEN_TEST_NO_SUCH_KEY' },
        unused: { kind: 'comfyui', base_url: 'http://127.0.0.1:9' },
      },
      models: [
        entry('elsewhere/one', { kind: 'replicate', provider: 'keyless', model: 'acme/one' }),
        entry('elsewhere/two', {
          kind: 'replicate',
          provider: 'keyless',
          model: 'acme/two',
          fallback: [{ kind: 'replicate', provider: 'spare', model: 'acme/two' }],
        }),
      ],
    }),
  )
  app = await startTestApp({ MEDIAGEN_CATALOG: `${testCatalog}:${catalog}`, MEDIAGEN_KEEP_JOBS_DAYS: '30' })
  store = await openStoreOf(app.config.dataDir)
  key = await app.createKey(app.account.accountId, ['admin'])
  keyId = (await call('ListKeys', { limit: 1 })).keys[0].keyId
})
afterAll(async () => {
  await store.close()
  await app[Symbol.asyncDispose]()
  provider.close()
})

async function post(method: string, request: object, as = key) {
  return fetch(`${app.app.httpUrl}/mediagen.v1.AdminService/${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  })
}

async function call(method: string, request: object = {}): Promise<any> {
  const response = await post(method, request)
  const body: any = await response.json()
  if (response.status !== 200) throw new Error(body.message)
  return body
}

/** The words of a refusal, which begin with its code. */
async function refusal(method: string, request: object): Promise<string> {
  return call(method, request).then(
    () => 'nothing was refused',
    (error: Error) => error.message,
  )
}

const lastAct = async () => (await call('ListAuditEntries', { limit: 1 })).entries[0]
const countActs = async () => (await call('ListAuditEntries', { limit: 1 })).total

describe('accounts', () => {
  test('are found by id or by name; a name of several is refused with their ids', async () => {
    const { account } = await call('CreateAccount', { name: 'Press office', credits: '3' })
    const { accountId } = account
    expect(account).toMatchObject({ status: 'ACCOUNT_STATUS_ACTIVE' })
    expect(await call('InspectAccount', { accountId })).toEqual({ account })
    expect(await call('InspectAccount', { name: 'Press office' })).toEqual({ account })
    const { account: twin } = await call('CreateAccount', { name: 'Press office' })
    const refused = await refusal('InspectAccount', { name: 'Press office' })
    expect(refused).toBe(`invalid_request: /name is the name of ${accountId}, ${twin.accountId}; use an id.`)
    expect(await refusal('InspectAccount', { name: 'press office' })).toMatch(/^account_not_found: .*"press office"/)
    expect(await refusal('InspectAccount', { accountId: 'acct_none' })).toMatch(/^account_not_found/)
    for (const wrong of [{}, { accountId, name: 'Press office' }])
      expect(await refusal('InspectAccount', wrong)).toMatch(/^invalid_request: \/account_id or \/name/)
    expect((await call('RenameAccount', { accountId, name: 'Press' })).account).toEqual({ ...account, name: 'Press' })
    expect(await lastAct()).toMatchObject({
      act: 'account.renamed',
      actor: { keyId },
      subject: accountId,
      before: { name: 'Press office' },
      after: { name: 'Press' },
    })
    expect((await call('InspectAccount', { name: 'Press office' })).account).toEqual(twin)
  })

  test('are frozen, unfrozen and closed, each on record with its reason; what is so already is not', async () => {
    const { accountId } = await app.createAccount(5)
    const { account } = await call('FreezeAccount', { accountId, reason: 'unpaid' })
    expect(account).toMatchObject({
      status: 'ACCOUNT_STATUS_FROZEN',
      statusReason: 'unpaid',
      statusChangedAt: expect.stringMatching(/^20/),
    })
    const acts = await countActs()
    expect((await call('FreezeAccount', { accountId, reason: 'unpaid' })).account).toEqual(account)
    expect(await countActs()).toBe(acts)
    expect(await lastAct()).toMatchObject({ act: 'account.frozen', before: { status: 'active', reason: null } })
    expect((await call('UnfreezeAccount', { accountId, reason: 'paid' })).account).toMatchObject({
      status: 'ACCOUNT_STATUS_ACTIVE',
      statusReason: 'paid',
    })
    expect(await lastAct()).toMatchObject({ act: 'account.unfrozen', after: { status: 'active', reason: 'paid' } })

    const { jobId } = await startJob(store, accountId, { credits: 0, model: 'test/none' })
    expect(await refusal('CloseAccount', { accountId, reason: 'x' })).toMatch(
      /^job_not_ended: .* has 1 job that has not/,
    )
    await call('CancelAnyJob', { jobId })
    const closed = await call('CloseAccount', { accountId, reason: 'contract ended' })
    expect(closed).toMatchObject({
      account: { status: 'ACCOUNT_STATUS_CLOSED', statusReason: 'contract ended', available: '5' },
      revokedKeys: 1,
    })
    expect(await lastAct()).toMatchObject({ act: 'account.closed', after: { status: 'closed', available: 5 } })
    for (const [method, request] of [
      ['UnfreezeAccount', {}],
      ['FreezeAccount', { reason: 'x' }],
      ['RenameAccount', { name: 'x' }],
      ['GrantCredits', { credits: '1' }],
    ] as const)
      expect(await refusal(method, { accountId, ...request }), method).toMatch(/^account_closed: /)
    expect(await refusal('CreateKey', { accountId, permissions: ['PERMISSION_ANY', 'PERMISSION_GENERATE'] })).toMatch(
      /^invalid_request/,
    )
    expect(await refusal('CreateKey', { accountId, permissions: ['PERMISSION_GENERATE'] })).toMatch(
      /^account_frozen: The account is closed by the operator of this server: contract ended\./,
    )
    expect(
      (await call('AdjustCredits', { accountId, credits: '-5', note: 'paid back' })).account.available ?? '0',
    ).toBe('0')
    expect((await call('VerifyLedger')).problems ?? []).toEqual([])
  })

  test('need reasons and names of one line', async () => {
    const { accountId } = await app.createAccount(0)
    const acts = await countActs()
    for (const [method, field, values] of [
      ['RenameAccount', 'name', ['', 'x'.repeat(201), 'a\nb']],
      ['FreezeAccount', 'reason', ['', 'x'.repeat(1001), 'a\u202Eb']],
      ['UnfreezeAccount', 'reason', ['x'.repeat(1001), 'a\u001Bb']],
      ['CloseAccount', 'reason', ['', 'x'.repeat(1001), 'a\nb']],
    ] as const)
      for (const value of values)
        expect(await refusal(method, { accountId, [field]: value })).toMatch(`invalid_request: /${field}`)
    for (const method of ['FreezeAccount', 'CloseAccount'])
      expect(await refusal(method, { accountId: 'acct_none', reason: 'x' })).toMatch(/^account_not_found/)
    expect(await countActs()).toBe(acts)
  })
})

describe('jobs', () => {
  test('of any account are canceled, on record', async () => {
    const { accountId } = await app.createAccount(50)
    const { jobId } = await startJob(store, accountId, { model: 'test/none' })
    const { job } = await call('CancelAnyJob', { jobId, reason: 'it blocks the queue' })
    expect(job).toMatchObject({ status: 'JOB_STATUS_CANCELED', billing: { released: '10' } })
    expect(await lastAct()).toMatchObject({
      act: 'job.canceled',
      actor: { keyId, accountId: app.account.accountId },
      subject: jobId,
      accountId,
      after: { status: 'canceled', reason: 'it blocks the queue' },
    })
    const acts = await countActs()
    expect((await call('CancelAnyJob', { jobId })).job).toMatchObject({ status: 'JOB_STATUS_CANCELED' })
    expect(await refusal('CancelAnyJob', { jobId: 'job_none' })).toMatch(/^job_not_found/)
    expect(await refusal('CancelAnyJob', { jobId, reason: 'a\nb' })).toMatch('/reason')
    expect(await countActs()).toBe(acts)
  })

  test('under review show their outputs; of two operators who resolve one, the second reads who was first', async () => {
    const { accountId } = await app.createAccount(50)
    const made = (await app.generate(model, input)).body
    const [, folder, name] = /\/assets\/([^/]+)\/([^?]+)/.exec(made.outputs[0].url) ?? []
    const { jobId } = await startJob(store, accountId, { model: 'test/none' })
    const { token } = await claimPaid(store, 'test/none')
    // The file of another job: what matters is that the URL leads to a file.
    const outputs = [{ ...testAsset, key: `${folder}/${name}`, previewKey: null }]
    await store.finishJob(jobId, token, { status: 'needs_review', outputs })
    const seen = await call('InspectJob', { jobId })
    expect(seen.job).toMatchObject({ status: 'JOB_STATUS_NEEDS_REVIEW', outputs: 1, error: { code: 'usage_unknown' } })
    expect(seen.outputs).toMatchObject([{ contentType: 'image/png', url: expect.stringContaining('/assets/') }])
    const picture = await fetch(seen.outputs[0].url)
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png'])

    const both = await Promise.all([4, 0].map((charge) => post('ResolveJob', { jobId, charge: String(charge) })))
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
    const second: any = await both.find(({ status }) => status !== 200)?.json()
    expect(second.message).toMatch(
      new RegExp(
        `^job_not_in_review: The job "${jobId}" is (succeeded|failed), not under review: ${keyId} resolved it at `,
      ),
    )
    // Others see neither.
    expect((await call('InspectJob', { jobId })).outputs).toBeUndefined()
    expect((await call('InspectJob', { jobId: made.job_id })).outputs).toBeUndefined()
  })

  test('that wait are counted by model', async () => {
    const { accountId } = await app.createAccount(50)
    const ids = []
    for (const name of ['test/none', 'test/none', 'test/none/else'])
      ids.push((await startJob(store, accountId, { model: name })).jobId)
    const backlog = await call('MeasureBacklog')
    expect(backlog.queues).toMatchObject([
      { model: 'test/none', queued: '2', oldestSeconds: expect.any(Number) },
      { model: 'test/none/else', queued: '1' },
    ])
    expect(backlog.reviews ?? '0').toBe('0')
    for (const jobId of ids) await call('CancelAnyJob', { jobId })
    expect((await call('MeasureBacklog')).queues ?? []).toEqual([])
  })

  test('of all accounts are watched; a watcher that leaves is forgotten', async () => {
    using client = await openForeignClient(app.app.grpcUrl, key)
    const stream = client.stream('AdminService/WatchAllJobs', {})
    const seen: any[] = []
    const { promise: opened, resolve } = Promise.withResolvers<void>()
    stream.on('data', (message: any) => {
      resolve()
      seen.push(...message.jobs)
    })
    stream.on('error', () => {})
    await opened
    const { job_id } = (await app.generate(model, input)).body
    const { accountId } = await app.createAccount(10)
    const { jobId } = await startJob(store, accountId, { model: 'test/none' })
    await call('CancelAnyJob', { jobId })
    const statusOf = (id: string) => seen.findLast((job) => job.job_id === id)?.status
    await expect.poll(() => statusOf(job_id)).toBe('JOB_STATUS_SUCCEEDED')
    await expect.poll(() => statusOf(jobId)).toBe('JOB_STATUS_CANCELED')
    expect(JSON.stringify(seen)).not.toContain('/assets/')
    const open = async () =>
      /^mediagen_watches_open (\d+)$/m.exec(await (await fetch(`${app.app.httpUrl}/metrics`)).text())
    expect((await open())?.[1]).toBe('1')
    stream.cancel()
    await expect.poll(async () => (await open())?.[1]).toBe('0')
  })
})

describe('models and providers', () => {
  test('every model says whether it can run, and what it waits for', async () => {
    const all = await call('ListAllModels', { limit: 500 })
    const find = (id: string) => all.models.find((one: any) => one.model === id)
    expect(find(model)).toEqual({
      model,
      name: 'Instant',
      category: 'text-to-image',
      kind: 'null',
      priceSummary: expect.any(String),
    })
    expect(find('test/unready/video-to-video').unreadyReason).toEqual(expect.any(String))
    expect(find('elsewhere/one')).toMatchObject({
      kind: 'replicate',
      providers: ['keyless'],
      unreadyReason: expect.stringContaining('MEDIAGEN_TEST_NO_SUCH_KEY'),
    })
    const unready = all.models.filter((one: any) => one.unreadyReason !== undefined)
    expect([all.total, all.ready]).toEqual([all.models.length, all.models.length - unready.length])
    const spare = await call('ListAllModels', { provider: 'spare', limit: 1 })
    expect([spare.total, spare.ready ?? 0, spare.models[0].model]).toEqual([1, 0, 'elsewhere/two'])
    expect((await call('ListAllModels', { offset: 1, limit: 1 })).models[0].model).toBe(all.models[1].model)
    expect(await refusal('ListAllModels', { limit: 0 })).toMatch('/limit')
  })

  test('providers are listed without asking them, and checked when the operator says so', async () => {
    let asked = 0
    provider.on('request', () => (asked += 1))
    const { providers } = await call('ListProviders')
    expect(providers).toMatchObject([
      { provider: 'keyless', kind: 'replicate', key: 'missing', reason: expect.stringContaining('NO_SUCH_KEY') },
      { provider: 'spare', models: [{ model: 'elsewhere/two' }] },
      { provider: 'unused', kind: 'comfyui', key: 'none' },
    ])
    for (const one of providers) expect(one.answers).toBeUndefined()
    expect(providers[0].models).toMatchObject([
      { model: 'elsewhere/one', waitsFor: expect.stringContaining('NO_SUCH_KEY') },
      { model: 'elsewhere/two', waitsFor: expect.stringContaining('NO_SUCH_KEY') },
    ])
    expect(asked).toBe(0)
    const checked = (await call('CheckProviders', { timeoutSeconds: 5 })).providers
    expect(asked).toBeGreaterThan(0)
    expect(checked).toMatchObject([
      { provider: 'keyless', answers: true, key: 'missing' },
      { provider: 'spare', answers: true },
      { provider: 'unused', answers: false, reason: expect.any(String) },
    ])
    for (const timeoutSeconds of [0, -1, 61])
      expect(await refusal('CheckProviders', { timeoutSeconds })).toMatch('/timeout_seconds')
  })
})

test('usage is that of all accounts, or of one, by account too', async () => {
  const [one, two] = [await app.createAccount(50), await app.createAccount(50)]
  for (const account of [one, one, two]) await app.generate(model, input, { account })
  const { rows, sum, total, timeZone } = await call('FindUsage', { groupBy: ['account', 'model'], limit: 10_000 })
  const of = (id: string) => rows.find((row: any) => row.accountId === id)
  expect(of(one.accountId)).toMatchObject({
    accountName: 'test',
    usage: { model, jobs: '2', succeeded: '2', charged: '6' },
  })
  expect(of(two.accountId).usage).toMatchObject({ jobs: '1', charged: '3' })
  expect([total, timeZone]).toEqual([rows.length, 'UTC'])
  expect(rows.reduce((all: number, row: any) => all + Number(row.usage.charged ?? 0), 0)).toBe(Number(sum.charged))
  // What the owner reads of itself.
  const own = await call('FindUsage', { accountId: one.accountId, groupBy: ['day', 'key'] })
  const { body } = await app.send('/v1/usage?group_by=day,key', { key: one.key })
  expect(own.rows).toHaveLength(1)
  expect(own.rows[0].accountId).toBeUndefined()
  expect(own.rows[0].usage).toMatchObject({ keyId: body.data[0].key_id, charged: String(body.data[0].charged) })
  expect((await call('FindUsage')).rows[0].accountId).toEqual(expect.any(String))
  expect((await call('FindUsage', { groupBy: ['account'], limit: 1, offset: 1 })).rows).toHaveLength(1)
  expect(await refusal('FindUsage', { groupBy: ['owner'] })).toMatch(/account, day, model, key, or label:/)
  expect((await app.send('/v1/usage?group_by=account', { key: one.key })).status).toBe(400)
})

test('the audit is listed by actor, act, object and time', async () => {
  const { accountId } = await app.createAccount(0)
  const since = new Date(Date.now() - 60_000).toISOString()
  await call('FreezeAccount', { accountId, reason: 'x' })
  const list = async (request: object) =>
    ((await call('ListAuditEntries', { accountId, ...request })).entries ?? []).map(({ act }: any) => act)
  expect(await list({ actor: keyId })).toEqual(['account.frozen'])
  expect(await list({ act: 'key' })).toEqual(['key.created'])
  expect(await list({ act: 'account.created' })).toEqual(['account.created'])
  expect(await list({ subject: accountId })).toEqual(['account.frozen', 'account.created'])
  expect(await list({ since, until: new Date(Date.now() + 60_000).toISOString() })).toHaveLength(3)
  expect(await list({ until: since })).toEqual([])
  expect(await list({ actor: 'server' })).toEqual([])
  for (const act of ['%', 'key.', 'Key', 'key.created.x'])
    expect(await refusal('ListAuditEntries', { act })).toMatch(/^invalid_request: \/act/)
})

test('the retention is that of the settings', async () => {
  expect(await call('GetRetention')).toEqual({
    fileSeconds: '604800',
    jobSeconds: '2592000',
    reviewSeconds: '259200',
    filesIn: 'disk',
    uploadBytesPerAccount: String(app.config.maxStoredUploadBytes),
  })
})

test('what only a running server knows is refused on the command line', async () => {
  for (const ask of [app.admin.listAllModels({}), app.admin.listProviders({}), app.admin.checkProviders({})])
    await expect(ask).rejects.toThrow('Only a running server knows this')
  await expect(app.admin.watchAllJobs({})[Symbol.asyncIterator]().next()).rejects.toThrow('Only a running server')
})

test('a key without the permission admin asks none of these', async () => {
  for (const method of ['InspectAccount', 'FreezeAccount', 'CancelAnyJob', 'FindUsage', 'CheckProviders'])
    expect((await post(method, {}, app.account.key)).status, method).toBe(403)
})

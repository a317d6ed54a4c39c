// P210: a data directory that the first version left (ecea12d), opened by this program: what is owned is there, and work goes on.
// `first-version` has what its server left, as text; every later migration passes here.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { hasPostgres, type PostgresServer, runSql, startPostgres } from './postgres-server.ts'
import { openRaw } from './sqlite-fixture.ts'

const left = join(import.meta.dirname, 'first-version')
const model = 'test/instant/text-to-image'

/** A data directory with the files, and the keys of both accounts. */
function restoreFiles(store: string): { dataDir: string; keys: { first: string; second: string } } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-first-'))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  cpSync(join(left, store, 'assets'), join(dataDir, 'assets'), { recursive: true })
  return {
    dataDir,
    keys: JSON.parse(readFileSync(join(left, store, 'keys.json'), 'utf8')),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

const readDump = (store: string): string => readFileSync(join(left, store, 'database.sql'), 'utf8')

/** Opens the server on what was restored, and looks at all of it. */
async function expectAll(store: string, restore: (dataDir: string) => Promise<Record<string, string>>): Promise<void> {
  using restored = restoreFiles(store)
  const { dataDir, keys } = restored
  await using app = await startTestApp({ MEDIAGEN_DATA_DIR: dataDir, ...(await restore(dataDir)) })
  const read = async (path: string, key = keys.first) => (await app.send(path, { key })).body
  const verify = async () => (await app.admin.verifyLedger({})).problems

  expect(await verify()).toEqual([])
  expect(await read('/v1/wallet', keys.second)).toMatchObject({ available: 71, held: 0 })
  const jobs = (await read('/v1/jobs')).data as any[]
  const statusOf = (prompt: string) => jobs.find(({ input }) => input?.prompt === prompt)?.status
  expect(jobs).toHaveLength(6)
  expect(statusOf('Un CAFÉ au lait')).toBe('succeeded')
  expect(statusOf('it fails')).toBe('failed')
  expect(statusOf('under review')).toBe('needs_review')
  expect(jobs.map(({ status }) => status)).toContain('canceled')

  for (const job of jobs.filter(({ status }) => status === 'succeeded'))
    for (const { url } of job.outputs)
      expect((await fetch(`${app.url}${url.slice(new URL(url).origin.length)}`)).status).toBe(200)
  const [upload] = (await read('/v1/files')).data
  expect((await fetch(`${app.url}${upload.url.slice(new URL(upload.url).origin.length)}`)).status).toBe(200)
  const [webhook] = (await read('/v1/webhooks')).data
  expect(webhook).toMatchObject({ url: 'http://127.0.0.1:18080/hook', description: 'a note' })
  expect((await read(`/v1/webhooks/${webhook.webhook_id}/deliveries`)).total).toBeGreaterThan(0)

  // What was queued runs, and so does what is new.
  const waiting = jobs.find(({ input }) => input?.prompt === 'still queued')
  await expect.poll(async () => (await read(`/v1/jobs/${waiting.job_id}`)).status).toBe('succeeded')
  const made = await app.generate(model, { prompt: 'new' }, { account: { accountId: '', key: keys.second } })
  expect(made.body).toMatchObject({ status: 'succeeded', credits: 3 })
  expect(await read('/v1/wallet', keys.second)).toMatchObject({ available: 68, held: 0 })
  // Its entries have no hash; the chain begins after them. Grants with a reference follow one without.
  const { account_id: accountId } = await read('/v1/account', keys.second)
  const grant = { accountId, credits: 4n, reference: 'pay_1' }
  expect(await app.admin.grantCredits(grant)).toMatchObject({ replayed: false })
  expect(await app.admin.grantCredits(grant)).toMatchObject({ replayed: true, account: { available: 72n } })
  const entries = (await read('/v1/wallet/entries', keys.second)).data as any[]
  expect(entries.map(({ hash }) => hash !== null)).toEqual([true, true, true, false, false, false, false, false])
  expect(entries.filter(({ kind }) => kind === 'grant').map(({ reference }) => reference)).toEqual([
    'pay_1',
    null,
    null,
  ])
  expect(entries.map(({ previous_hash: previous }) => previous)).toEqual([
    entries[1].hash,
    entries[2].hash,
    ...Array(6).fill(null),
  ])
  const review = jobs.find(({ status }) => status === 'needs_review')
  expect(review.receipt).toBeNull()
  expect(await app.admin.resolveJob({ jobId: review.job_id, charge: 1n })).toMatchObject({ charged: 1n, released: 1n })
  const { receipt } = await read(`/v1/jobs/${review.job_id}`)
  expect(receipt).toMatchObject({ held: 2, charged: 1, released: 1 })
  expect(await verify()).toEqual([])
}

test('P210: SQLite of the first version', async () => {
  await expectAll('sqlite', async (dataDir) => {
    using db = openRaw(join(dataDir, 'mediagen.db'))
    db.pragma('foreign_keys = OFF')
    db.exec(readDump('sqlite'))
    // Empty: this is no setting of a database elsewhere.
    return { MEDIAGEN_DATABASE_URL: '' }
  })
})

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('P210: PostgreSQL of the first version', async () => {
    await expectAll('postgres', async () => {
      const url = await server.createDatabase()
      await runSql(url, readDump('postgres'))
      return { MEDIAGEN_DATABASE_URL: url, MEDIAGEN_MIGRATE: 'true' }
    })
  })
})

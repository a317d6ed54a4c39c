// Copying an installation between databases: everything arrives, is held against the original, and works on; or nothing does.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemActor } from '../../src/core/accounts/audit.ts'
import { createKeySecret, hashKeySecret } from '../../src/core/accounts/key.ts'
import type { Store } from '../../src/core/store.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { createPostgresTables, openPostgresTables } from '../../src/storage/postgres/tables.ts'
import { createSqliteTables, openSqliteTables } from '../../src/storage/sqlite/tables.ts'
import { movedTables, passingTables, type TableTarget } from '../../src/storage/tables.ts'
import { transfer } from '../../src/storage/transfer.ts'
import { balanceOf, claimOne, claimPaid, filterOf, keyOf, startJob, testAsset, testError } from './fixture.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'
import { usageOf } from './usage-sums.ts'

const later = { creditsActual: 4, outputs: [testAsset], status: 'succeeded' } as const

/** Fills a store with something of everything. */
async function fill(store: Store): Promise<{ accountId: string; secret: string }> {
  const { accountId } = await store.createAccount('one — “quoted”', 10_000)
  await store.createAccount('empty', 0)
  await store.adjustCredits(accountId, -7, 'ein Vermerk, 写')
  await store.grantCredits(accountId, 3, null, systemActor, 'pay_1')
  const secret = createKeySecret()
  await store.createKey(keyOf(accountId, hashKeySecret(secret), { name: 'mine', expiresAtMs: Date.now() + 1e9 }))
  await store.signingKeys('quote')
  await store.signingKeys('asset')
  const old = await startJob(store, accountId)
  await store.requestCancel(accountId, old.jobId)
  await startJob(store, accountId, { model: 'test/other', labels: { team: 'Zürich' } })
  expect(await store.forgetJobs({ keepMs: -1000, after: 0, limit: 10 })).toEqual({ jobs: 1, next: null })
  await store.createWebhook(
    { accountId, url: 'https://hooks.example/a', description: null, includeInput: true, secret: Buffer.alloc(32, 7) },
    10,
  )
  for (let count = 0; count < 3; count += 1) await startJob(store, accountId, { input: { prompt: `😀 ${count}` } })
  const ended = await claimOne(store)
  await store.finishJob(ended.job.jobId, ended.token, later)
  const failed = await claimOne(store)
  await store.finishJob(failed.job.jobId, failed.token, { status: 'failed', error: testError })
  const paid = await startJob(store, accountId, { model: 'test/paid' })
  const run = await claimPaid(store, 'test/paid')
  await store.finishJob(paid.jobId, run.token, { status: 'needs_review' })
  await store.createUpload(
    {
      fileId: 'file_01jd0000000000000000000000',
      accountId,
      key: 'file_01jd0000000000000000000000/0.png',
      contentType: 'image/png',
      bytes: 12,
      sha256: 'ab'.repeat(32),
      retainMs: 1e9,
    },
    1e12,
  )
  const { accountId: gone } = await store.createAccount('gone', 50)
  await store.createKey(keyOf(gone, hashKeySecret(createKeySecret())))
  const past = await startJob(store, gone)
  await store.requestCancel(gone, past.jobId)
  const closed = await store.changeAccount(gone, { status: 'closed', statusReason: 'Schluß, 写' })
  expect(closed).toMatchObject({ outcome: 'done', revokedKeys: 1 })
  return { accountId, secret }
}

/** What a store tells of an account. */
async function tell(store: Store, accountId: string) {
  const page = { limit: 100, offset: 0 }
  return {
    account: await store.getAccount(accountId),
    root: await store.readLedgerRoot(),
    accounts: await store.listAccounts(page),
    entries: await store.listEntries(accountId, page),
    keys: await store.listKeys(accountId, page),
    jobs: await store.listJobs(filterOf(accountId)),
    usage: await store.listUsage(usageOf(accountId, ['day', 'model', 'key', 'label:team'])),
    webhooks: await store.listWebhooks(accountId, page),
    uploads: await store.listUploads(accountId, page),
    quoteKeys: await store.signingKeys('quote'),
    audit: await store.listAuditEntries(null, page),
  }
}

/** A store works on: old jobs go on, money adds up, new ids and numbers are free. */
async function workOn(store: Store, accountId: string, secret: string): Promise<void> {
  expect((await store.findKey(secret))?.accountId).toBe(accountId)
  const before = await balanceOf(store, accountId)
  const queued = await claimOne(store)
  await store.finishJob(queued.job.jobId, queued.token, later)
  expect(await store.grantCredits(accountId, 3, null, systemActor, 'pay_1')).toMatchObject({ replayed: true })
  expect(await store.grantCredits(accountId, 4, 'there', systemActor, 'pay_2')).toMatchObject({ replayed: false })
  const started = await startJob(store, accountId)
  const run = await claimOne(store)
  expect(run.job.jobId).toBe(started.jobId)
  await store.finishJob(run.job.jobId, run.token, later)
  expect(await balanceOf(store, accountId)).toEqual([before[0] + 6 + 4 - 4, before[1] - 10])
  expect((await store.verifyLedger()).problems).toEqual([])
}

test('every table is copied, or passes with the servers', () => {
  using folder = createTestFolder()
  void createSqliteTables(folder.path, 0).commit()
  using raw = openRaw(folder.path)
  const tables = raw
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all()
  expect(tables.toSorted()).toEqual([...Object.keys(movedTables), ...passingTables, 'migrations'].toSorted())
  for (const [table, key] of Object.entries(movedTables))
    expect(raw.pragma(`table_info(${table})`), table).toEqual(
      expect.arrayContaining(key.map((name) => expect.objectContaining({ name, pk: expect.any(Number) }))),
    )
})

describe.skipIf(!hasPostgres)('between SQLite and PostgreSQL', () => {
  const postgres = useServer()

  test('an installation goes there, works on, and comes back', async () => {
    using folder = createTestFolder()
    const back = join(folder.folder, 'back.db')
    const url = await postgres.server().createDatabase()
    const original = await openStoreAt(folder.path)
    const { accountId, secret } = await fill(original)
    const before = await tell(original, accountId)
    expect(before.entries.items.map(({ reference }) => reference)).toContain('pay_1')
    await original.close()

    {
      await using from = openSqliteTables(folder.path)
      await using to = await createPostgresTables(url)
      expect(await transfer(from, to)).toMatchObject({
        accounts: 3,
        jobs: 6,
        forgotten_jobs: 1,
        job_inputs: 6,
        api_keys: 2,
        webhooks: 1,
      })
    }
    const moved = await openPostgresStore({ url })
    expect(await tell(moved, accountId)).toEqual(before)
    await workOn(moved, accountId, secret)
    const after = await tell(moved, accountId)
    await moved.close()

    {
      await using from = await openPostgresTables(url)
      await using to = createSqliteTables(back, Date.now())
      await transfer(from, to)
    }
    await using returned = await openStoreAt(back, { migrates: false })
    expect(await tell(returned, accountId)).toEqual(after)
    await workOn2(returned, accountId)
  })

  test('the rules of the database hold again after a copy', async () => {
    using folder = createTestFolder()
    const url = await postgres.server().createDatabase()
    const original = await openStoreAt(folder.path)
    await fill(original)
    await original.close()
    {
      await using from = openSqliteTables(folder.path)
      await using to = await createPostgresTables(url)
      await transfer(from, to)
    }
    await expect(runSql(url, 'UPDATE accounts SET available = available + 1')).rejects.toThrow()
    await expect(runSql(url, "UPDATE ledger_entries SET credits = 1 WHERE kind = 'grant'")).rejects.toThrow()
  })

  test('a copy that ends early leaves nothing, and can be made again', async () => {
    using folder = createTestFolder()
    const url = await postgres.server().createDatabase()
    const original = await openStoreAt(folder.path)
    await fill(original)
    await original.close()
    const attempt = async (disturb: (to: TableTarget) => TableTarget) => {
      await using from = openSqliteTables(folder.path)
      await using to = await createPostgresTables(url)
      return await transfer(from, disturb(to))
    }
    const broken = attempt((to) => ({
      ...to,
      write: async (table, columns, rows) => {
        if (table === 'ledger_entries') throw new Error('the line was cut')
        await to.write(table, columns, rows)
      },
    }))
    await expect(broken).rejects.toThrow('the line was cut')
    expect(await runSql(url, 'SELECT 1 FROM accounts')).toEqual([])

    const altered = attempt((to) => ({
      ...to,
      write: (table, columns, rows) =>
        to.write(
          table,
          columns,
          table === 'accounts' ? rows.map((row) => row.map((cell) => (cell === 'empty' ? 'Empty' : cell))) : rows,
        ),
    }))
    await expect(altered).rejects.toThrow(/A row of accounts is not the same in the copy, so nothing was moved/)
    expect(await runSql(url, 'SELECT 1 FROM accounts')).toEqual([])

    await attempt((to) => to)
    await expect(attempt((to) => to)).rejects.toThrow('move to an empty one')
  })

  test('nobody writes to the original meanwhile', async () => {
    using folder = createTestFolder()
    await (await openStoreAt(folder.path)).close()
    await using _ = openSqliteTables(folder.path)
    using raw = openRaw(folder.path)
    raw.pragma('busy_timeout = 0')
    expect(() => raw.exec("INSERT INTO queues (model) VALUES ('x')")).toThrow('locked')
  })
})

test('a file that was not completed leaves nothing behind', async () => {
  using folder = createTestFolder()
  {
    await using _ = createSqliteTables(folder.path, 0)
  }
  expect([existsSync(folder.path), readdirSync(folder.folder)]).toEqual([false, []])
})

async function workOn2(store: Store, accountId: string): Promise<void> {
  for (const [credits, reference] of [
    [3, 'pay_1'],
    [4, 'pay_2'],
  ] as const)
    expect(await store.grantCredits(accountId, credits, null, systemActor, reference)).toMatchObject({ replayed: true })
  expect((await store.verifyLedger()).problems).toEqual([])
  const started = await startJob(store, accountId)
  const run = await claimOne(store)
  expect(run.job.jobId).toBe(started.jobId)
  await store.finishJob(run.job.jobId, run.token, later)
  expect((await store.verifyLedger()).problems).toEqual([])
}

// The PostgreSQL store while the server is away: nothing answers, packets are lost, or it takes no changes. Each command ends in a
// bounded time, and everything goes on by itself.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isDatabaseAway, isStorageTrouble } from '../../src/core/storage-trouble.ts'
import { type Database, openDatabase } from '../../src/storage/postgres/connection.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { balanceOf, startJob, startOf } from './fixture.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'

const isOurs = process.env['MEDIAGEN_TEST_POSTGRES_URL'] === undefined

/** How a promise ended, and after how many seconds. */
async function timed(work: Promise<unknown>): Promise<{ error: unknown; seconds: number }> {
  const since = performance.now()
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  return { error, seconds: (performance.now() - since) / 1000 }
}

describe.skipIf(!hasPostgres || !isOurs)('with a PostgreSQL of its own', () => {
  const { createDatabase } = useServer()

  test.each([
    { mode: 'refuses', most: 12 },
    { mode: 'silent', most: 20 },
  ] as const)('starts that come together when the way $mode fail together, and not in turn', async ({ mode, most }) => {
    const url = await createDatabase()
    await using proxy = await startCuttingProxy(url)
    await using store = await openPostgresStore({ url: proxy.through(url), listenUrl: url })
    const { accountId } = await store.createAccount('a', 100)
    await startJob(store, accountId)
    await proxy.set(mode)
    const commands = Array.from({ length: 9 }, () => startOf(accountId))
    const ends = await Promise.all(commands.map((command) => timed(store.startGeneration(command))))
    for (const { error, seconds } of ends) {
      expect(isDatabaseAway(error), String(error)).toBe(true)
      expect(seconds).toBeLessThan(most)
    }
    await proxy.set('passes')
    for (const command of commands) await store.startGeneration(command)
    expect(await balanceOf(store, accountId)).toEqual([0, 100])
  })

  test('notifications come again after the way to the server was silent', async () => {
    const url = await createDatabase()
    await using proxy = await startCuttingProxy(url)
    await using store = await openPostgresStore({ url, listenUrl: proxy.through(url) })
    await using other = await openPostgresStore({ url })
    const { accountId } = await other.createAccount('a', 10_000)
    const received = new Set<string>()
    store.onNotification((jobs) => jobs?.forEach(({ jobId }) => received.add(jobId)))
    const isHeard = async (): Promise<boolean> => {
      const { jobId } = await startJob(other, accountId)
      return await expect
        .poll(() => received.has(jobId), { timeout: 500 })
        .toBe(true)
        .then(
          () => true,
          () => false,
        )
    }
    await expect.poll(isHeard).toBe(true)
    await proxy.set('silent')
    expect(await isHeard()).toBe(false)
    await proxy.set('passes')
    await expect.poll(isHeard, { timeout: 30_000 }).toBe(true)
  })

  test('the locks of clients that are lost are free after seconds, however many waited for them', async () => {
    const url = await createDatabase()
    await using proxy = await startCuttingProxy(url)
    await runSql(url, 'CREATE TABLE hot AS SELECT 1 AS n')
    const take = (db: Database) =>
      db.transact(async (tx) => {
        await tx.row('SELECT n FROM hot FOR UPDATE')
        await tx.row('SELECT pg_sleep(0.5)')
      })
    const db = openDatabase(proxy.through(url), 6, () => null)
    const lost = Array.from({ length: 6 }, () => take(db).catch(() => {}))
    const waiting =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    await expect.poll(async () => (await runSql(url, waiting))[0]?.['n']).toBeGreaterThan(2)
    await proxy.set('silent')
    const direct = openDatabase(url, 1, () => null)
    await expect
      .poll(
        () =>
          take(direct).then(
            () => true,
            () => false,
          ),
        { timeout: 60_000 },
      )
      .toBe(true)
    await proxy.set('passes')
    await Promise.all(lost)
    await Promise.all([db.close(), direct.close()])
  })

  test('a process that stood still within a transaction, or waited for a lock, has made no change and knows it', async () => {
    const url = await createDatabase()
    const db = openDatabase(url, 2, () => null)
    await runSql(url, 'CREATE TABLE made (n INTEGER); CREATE TABLE locked (n INTEGER)')
    const locked = runSql(url, 'BEGIN; LOCK TABLE locked; SELECT pg_sleep(12); COMMIT')
    const isLocked = `SELECT 1 FROM pg_locks WHERE relation = 'locked'::regclass AND mode = 'AccessExclusiveLock' AND granted`
    await expect.poll(() => runSql(url, isLocked)).toHaveLength(1)
    const waits = db.transact((tx) => tx.row('SELECT n FROM locked'))
    waits.catch(() => {})
    let tries = 0
    const stalled = db.transact(async (tx) => {
      tries += 1
      await tx.row('INSERT INTO made VALUES (1) RETURNING n')
      await pause(6000)
    })
    await expect(stalled).rejects.toSatisfy(isDatabaseAway)
    await expect(waits).rejects.toSatisfy(isDatabaseAway)
    await locked
    expect(tries).toBe(1)
    expect(await runSql(url, 'SELECT n FROM made')).toEqual([])
    await db.close()
  })

  test('while the server takes no changes, commands wait for it or fail in words; then all goes on', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url })
    const { accountId } = await store.createAccount('a', 100)
    const set = async (value: 'on' | 'off'): Promise<void> => {
      await runSql(url, `ALTER SYSTEM SET default_transaction_read_only = ${value}`)
      await runSql(url, 'SELECT pg_reload_conf()')
    }
    await set('on')
    try {
      await expect
        .poll(() =>
          store.check().then(
            () => 'writes',
            () => 'reads',
          ),
        )
        .toBe('reads')
      await expect(store.startGeneration(startOf(accountId))).rejects.toSatisfy(isStorageTrouble)
      const started = startJob(store, accountId)
      await set('off')
      await started
    } finally {
      await set('off')
    }
    expect(await balanceOf(store, accountId)).toEqual([90, 10])
  })
})

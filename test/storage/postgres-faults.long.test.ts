// The PostgreSQL store when connections are lost, transactions collide, or the server is away: nothing is done twice or forgotten.
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { isStorageTrouble } from '../../src/core/storage-trouble.ts'
import { openDatabase } from '../../src/storage/postgres/connection.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'
import { balanceOf, claimOne, entriesOf, firstPage, startJob, startOf, type TestStore } from './fixture.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'

const isOurs = process.env['MEDIAGEN_TEST_POSTGRES_URL'] === undefined

describe.skipIf(!hasPostgres || !isOurs)('with a PostgreSQL of its own', () => {
  const { createDatabase, server } = useServer()

  async function openThroughProxy(): Promise<{ store: TestStore; proxy: CuttingProxy; url: string } & AsyncDisposable> {
    const url = await createDatabase()
    const proxy = await startCuttingProxy(url)
    // Notifications go around the proxy, so that only commands are cut.
    const store = await openPostgresStore({ url: proxy.through(url), listenUrl: url, connections: 4 })
    return {
      store,
      proxy,
      url,
      async [Symbol.asyncDispose]() {
        await store.close()
        await proxy[Symbol.asyncDispose]()
      },
    }
  }

  test.each(['before', 'after'] as const)(
    'a connection that is cut %s its COMMIT is done does nothing twice',
    async (when) => {
      await using opened = await openThroughProxy()
      const { store, proxy } = opened
      let cuts = proxy.cut('COMMIT', when, 3)
      const { accountId } = await store.createAccount('a', 100)
      expect(await store.grantCredits(accountId, 5, null)).toMatchObject({
        outcome: 'done',
        account: { available: 105 },
      })
      const started = await store.startGeneration(startOf(accountId))
      expect(started).toMatchObject({ outcome: 'created', job: { queuePosition: 1 } })
      expect(cuts()).toBe(3)
      cuts = proxy.cut('COMMIT', when, 2)
      const { job, token } = await claimOne(store)
      const ended = await store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: 4 })
      expect(ended).toMatchObject({ status: 'succeeded', creditsCharged: 4 })
      expect(cuts()).toBe(2)
      expect((await store.listAccounts(firstPage)).total).toBe(1)
      expect(await entriesOf(store, accountId)).toEqual(['grant 100', 'grant 5', 'hold 10', 'charge 4', 'release 6'])
      expect((await store.verifyLedger()).problems).toEqual([])
    },
  )

  test('a COMMIT that comes after its transaction was given up and done again does nothing', async () => {
    await using opened = await openThroughProxy()
    const { store, proxy, url } = opened
    // The first transaction of a slot, and a later one. Neither waits for a lock of the other.
    for (const name of ['a', 'b']) {
      const deliver = proxy.delay('INSERT INTO commits')
      await store.createAccount(name, 5)
      deliver()
      const busy = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE '%transaction%'"
      await expect.poll(() => runSql(url, busy)).toEqual([])
    }
    const { items } = await store.listAccounts(firstPage)
    expect(items.map(({ name }) => name).toSorted(byText)).toEqual(['a', 'b'])
  })

  test('reads and commands are tried again when a connection is lost on the way', async () => {
    await using opened = await openThroughProxy()
    const { store, proxy } = opened
    const { accountId } = await store.createAccount('a', 100)
    const cuts = proxy.cut('FROM accounts', 'after', 3)
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
    expect(await store.grantCredits(accountId, 5, null)).toMatchObject({ outcome: 'done' })
    expect(cuts()).toBe(3)
    expect(await balanceOf(store, accountId)).toEqual([105, 0])
  })

  test('while nothing answers, commands fail in words that tell clients to try again; then all goes on', async () => {
    await using opened = await openThroughProxy()
    const { store, proxy } = opened
    const { accountId } = await store.createAccount('a', 100)
    await proxy.set('refuses')
    await expect(store.check()).rejects.toThrow('nothing was written')
    const error = await store.startGeneration(startOf(accountId)).catch((thrown: unknown) => thrown)
    expect(isStorageTrouble(error)).toBe(true)
    await proxy.set('passes')
    await startJob(store, accountId)
    await store.check()
    expect(await balanceOf(store, accountId)).toEqual([90, 10])
  })

  test('a server that lets nobody in for a moment is waited for, and then refused in words that tell clients to try again', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, connections: 1 })
    const { accountId } = await store.createAccount('a', 100)
    const { database: name } = new Client({ connectionString: url })
    // As when all its connections are taken, or its password is another.
    const letIn = (yes: boolean) => `ALTER DATABASE "${name}" WITH ALLOW_CONNECTIONS ${yes}`
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`
    await runSql(server().url, letIn(false))
    await runSql(server().url, end)
    const waiting = startJob(store, accountId)
    await expect.poll(() => runSql(server().url, end)).toEqual([])
    await runSql(server().url, letIn(true))
    await waiting
    await runSql(server().url, letIn(false))
    await runSql(server().url, end)
    const refusal: unknown = await store.startGeneration(startOf(accountId)).catch((error: unknown) => error)
    expect(isStorageTrouble(refusal), String(refusal)).toBe(true)
    await runSql(server().url, letIn(true))
    await startJob(store, accountId)
    expect(await balanceOf(store, accountId)).toEqual([80, 20])
  })

  test('transactions that wait for each other are repeated', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url })
    const { accountId } = await store.createAccount('a', 100)
    await runSql(url, 'CREATE TABLE dice (n INTEGER); INSERT INTO dice VALUES (0)')
    // Every other statement that moves a balance finds a deadlock.
    await runSql(
      url,
      `CREATE SEQUENCE tries;
       CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF nextval('tries') % 2 = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END IF;
         RETURN NULL;
       END $$;
       CREATE TRIGGER collide AFTER INSERT ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION collide();`,
    )
    for (let i = 0; i < 3; i++) await startJob(store, accountId)
    expect(await balanceOf(store, accountId)).toEqual([70, 30])
    expect((await runSql(url, 'SELECT last_value FROM tries'))[0]).toEqual({ last_value: '6' })
  })

  test('a statement that nobody waits for decides what becomes of its transaction: the later ones only fail with it', async () => {
    const url = await createDatabase()
    await runSql(url, 'CREATE SEQUENCE tries')
    const db = openDatabase(url, 2, () => null)
    const fail = (state: string, times: number) =>
      db.transact(async (tx) => {
        tx.send(
          `DO $$ BEGIN IF nextval('tries') <= ${times} THEN RAISE EXCEPTION 'first' USING ERRCODE = '${state}'; END IF; END $$`,
        )
        return tx.row('SELECT 1 AS one')
      })
    expect(await fail('deadlock_detected', 3)).toEqual({ one: 1 })
    await expect(fail('disk_full', 1000)).rejects.toMatchObject({ code: '53100', message: 'first' })
    await db.close()
  })

  test('what breaks a rule of the database fails alone, whatever was started with it', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url })
    const { accountId } = await store.createAccount('a', 100)
    const wrong = startOf(accountId, { idempotencyKey: 'x'.repeat(256) })
    const starts = [startOf(accountId), wrong, startOf(accountId), startOf('acct_none')]
    const outcomes = await Promise.allSettled(starts.map((command) => store.startGeneration(command)))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect(await balanceOf(store, accountId)).toEqual([80, 20])
  })

  test('a text with the character 0 is kept without it, and finds nothing', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url })
    const { accountId } = await store.createAccount('a\0b', 0)
    expect(await store.getAccount(accountId)).toMatchObject({ name: 'a\uFFFDb' })
    expect(await store.getJob(null, 'job_\0')).toBeNull()
    const { jobId } = await startJob(store, accountId, { credits: 0, input: { prompt: 'a\0b \u{1F600}' } })
    expect(await store.getInput(jobId)).toMatchObject({ input: { prompt: 'a\0b \u{1F600}' } })
    const all = { accountId, status: null, model: null, idempotencyKey: null, withDeleted: true, ...firstPage }
    expect((await store.listJobs({ ...all, search: 'B \u{1F600}' })).total).toBe(1)
    expect((await store.listJobs({ ...all, search: 'c' })).total).toBe(0)
  })

  test('the server is killed under load and comes back, again and again: every start that was acknowledged is there, and none twice', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url })
    const { accountId } = await store.createAccount('a', 1_000_000)
    const acknowledged: string[] = []
    const stop = new AbortController()
    const starting = Array.from({ length: 8 }, async () => {
      while (!stop.signal.aborted) {
        const command = startOf(accountId, { maxQueuedJobs: 1e6 })
        for (;;) {
          const result = await store.startGeneration(command).catch(() => null)
          if (result === null) continue
          if (result.outcome === 'created' || result.outcome === 'replayed') acknowledged.push(result.job.jobId)
          break
        }
      }
    })
    const until = async (count: number) => expect.poll(() => acknowledged.length).toBeGreaterThan(count)
    await until(100)
    for (let crash = 0; crash < 4; crash++) {
      await server().crash()
      await server().restart()
      await until(acknowledged.length + 100)
    }
    stop.abort()
    await Promise.all(starting)
    const rows = await runSql(url, 'SELECT job_id FROM jobs')
    expect(rows.map((row) => row['job_id']).toSorted(byText)).toEqual(acknowledged.toSorted(byText))
    expect((await store.verifyLedger()).problems).toEqual([])
  })
})

function byText(a: string, b: string): number {
  return a < b ? -1 : 1
}

// Two commands at once on PostgreSQL, held in the moment in which they could miss each other.
import { Client } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { isStorageTrouble } from '../../src/core/storage-trouble.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { makeWebhook, wanted } from './contract-webhooks.ts'
import { claimOne, filterOf, firstPage, startJob, startOf } from './fixture.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'

/** Stops statements behind what a trigger is for, until it opens. */
async function closeGate(url: string, after: string) {
  const client = new Client(url)
  await client.connect()
  await client.query(`SELECT pg_advisory_lock(1);
    CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
    CREATE TRIGGER gate AFTER ${after} FOR EACH STATEMENT EXECUTE FUNCTION wait_at_gate()`)
  return {
    /** Waits until so many wait, at the gate or for one who does. */
    reached: (count: number) =>
      vi.waitFor(async () => {
        const { rowCount } = await client.query('SELECT FROM pg_locks WHERE NOT granted')
        expect(rowCount).toBe(count)
      }),
    open: () => client.query('SELECT pg_advisory_unlock(1)'),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase } = useServer()

  test('the end of a job while its endpoint is being deleted leaves no delivery that nobody can make', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false })
    const { accountId } = await store.createAccount('a', 1000)
    const webhookId = await makeWebhook(store, accountId)
    await startJob(store, accountId, { credits: 0 })
    const { job, token } = await claimOne(store)
    await using gate = await closeGate(url, 'UPDATE OF deleted_at ON webhooks')
    const deleting = store.deleteWebhook(accountId, webhookId)
    await gate.reached(1)
    const ending = store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: 0 })
    await gate.reached(2)
    await gate.open()
    expect(await deleting).toBe(true)
    expect(await ending).toMatchObject({ status: 'succeeded' })
    const { items } = await store.listDeliveries({ ...firstPage, accountId, webhookId, jobId: null, status: 'pending' })
    expect(items).toEqual([])
    expect(await store.hasDueDelivery(wanted)).toBe(false)
  })

  test('P212: a store whose tables are locked does not pass its check', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false })
    for (const table of ['jobs', 'ledger_entries', 'queue_shares']) {
      const other = new Client(url)
      await other.connect()
      await other.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`)
      await expect(store.check()).rejects.toThrow('nothing was written')
      await other.end()
      await vi.waitFor(() => store.check())
    }
  })

  test('P214: while the server takes no changes, starts hear of the storage, not of a slow disk', async () => {
    const url = await createDatabase()
    const maxQueueMs = 500
    const patience = { timeout: 20_000 }
    await using store = await openPostgresStore({ url, listens: false, maxQueueMs })
    const { accountId } = await store.createAccount('a', 100)
    const set = async (value: 'on' | 'off'): Promise<void> => {
      await runSql(url, `ALTER SYSTEM SET default_transaction_read_only = ${value}`)
      await runSql(url, 'SELECT pg_reload_conf()')
    }
    await set('on')
    try {
      await vi.waitFor(() => expect(store.check()).rejects.toThrow(), patience)
      // One is always under way: each gives up after about a second.
      await vi.waitFor(() => {
        store.startGeneration(startOf(accountId)).catch(() => {})
        expect(store.writeDelayMs()).toBeGreaterThan(maxQueueMs)
      }, patience)
      // A list goes well meanwhile.
      await store.listJobs(filterOf(accountId))
      await expect(store.startGeneration(startOf(accountId))).rejects.toSatisfy(isStorageTrouble)
    } finally {
      await set('off')
    }
  })

  test('a token is counted although another process forgets the full bucket meanwhile', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false })
    const size = { perSecond: 0.001, burst: 5 }
    await store.takeTokens('one', size, 1)
    await runSql(url, 'UPDATE rate_buckets SET full_at = 0')
    await using gate = await closeGate(url, 'INSERT ON rate_buckets')
    const taking = store.takeTokens('one', size, 1)
    await gate.reached(1)
    await runSql(url, 'DELETE FROM rate_buckets WHERE name IN (SELECT name FROM rate_buckets FOR UPDATE SKIP LOCKED)')
    await gate.open()
    expect(await taking).toBe(1)
    expect(await runSql(url, 'SELECT full_at > 0 AS counted FROM rate_buckets')).toEqual([{ counted: true }])
  })
})

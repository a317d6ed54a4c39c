// How many statements the PostgreSQL store sends: many commands together cost about as many as one.
import { Client, type QueryConfig } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import type { JobFilter, Store } from '../../src/core/store.ts'
import { openDatabase } from '../../src/storage/postgres/connection.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { claimOne, filterOf, firstPage, startOf } from './fixture.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'

const many = 40

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase } = useServer()

  /** The statements that are sent while some work is done. */
  async function countStatements(work: () => Promise<unknown>): Promise<number> {
    const spied = vi.spyOn(Client.prototype, 'query')
    await work()
    const { length } = spied.mock.calls
    spied.mockRestore()
    return length
  }

  /** A page of jobs, and the statement that read it. */
  async function spyOnList(store: Store, filter: JobFilter) {
    const spied = vi.spyOn(Client.prototype, 'query')
    const page = await store.listJobs(filter)
    const sent = spied.mock.calls.map(([query]) => query as unknown as QueryConfig)
    spied.mockRestore()
    return { ...page, query: sent.find(({ text }) => text?.includes('LIMIT')) }
  }

  /** The parts of a statement's plan that read jobs, as they went. */
  async function explainJobs(url: string, query: QueryConfig | undefined) {
    await using client = Object.assign(new Client(url), { [Symbol.asyncDispose]: () => client.end() })
    await client.connect()
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${query?.text}`, query?.values)
    return toNodes(rows[0]['QUERY PLAN'][0].Plan).filter((node) => node['Relation Name'] === 'jobs')
  }

  test('forty starts, a claim of forty and forty ends take as many statements as one each', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false })
    const { accountId } = await store.createAccount('a', 1_000_000)
    const claim = { worker: 'w', room: { 'test/image': many }, limit: many, leaseMs: 60_000 }
    const end = { status: 'succeeded', outputs: [], creditsActual: 10 } as const

    const oneStart = await countStatements(() => store.startGeneration(startOf(accountId)))
    const [one] = await store.claimJobs(claim)
    const oneEnd = await countStatements(() => store.finishJob(one?.job.jobId ?? '', one?.token ?? 0, end))
    await store.startGeneration(startOf(accountId))
    const oneClaim = await countStatements(() => claimOne(store))

    // Notifications of what was done before, and looks at the clock. One statement for each of forty would be far more.
    const others = 5
    const starts = Array.from({ length: many }, () => startOf(accountId))
    expect(await countStatements(() => Promise.all(starts.map(store.startGeneration)))).toBeLessThanOrEqual(
      oneStart + others,
    )
    const claimed: Awaited<ReturnType<typeof store.claimJobs>>[number][] = []
    expect(await countStatements(async () => claimed.push(...(await store.claimJobs(claim))))).toBeLessThanOrEqual(
      oneClaim + others,
    )
    expect(claimed).toHaveLength(many)
    const ends = claimed.map(({ job, token }) => [job.jobId, token, end] as const)
    expect(await countStatements(() => Promise.all(ends.map((one) => store.finishJob(...one))))).toBeLessThanOrEqual(
      oneEnd + others,
    )
    expect(await store.verifyLedger()).toMatchObject({ problems: [] })
  })

  test('a deep page of jobs reads no more rows than it shows, and deleted ones on the way', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false })
    const { accountId } = await store.createAccount('a', 1_000_000)
    await Promise.all(Array.from({ length: 1000 }, () => store.startGeneration(startOf(accountId, { credits: 0 }))))
    await runSql(url, 'ANALYZE')
    const { items, query } = await spyOnList(store, filterOf(accountId, { limit: 10, offset: 900 }))
    expect(items).toHaveLength(10)
    const nodes = await explainJobs(url, query)
    const page = nodes.filter((node) => node['Index Cond']?.includes('ordinal <='))
    expect(page).toMatchObject([{ 'Node Type': 'Index Scan', 'Index Name': 'jobs_by_account' }])
    expect(page[0]?.['Actual Rows']).toBe(10)
  })

  test('a page of queued jobs walks once through what claimed jobs have left in the index of the queue', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false })
    const { accountId } = await store.createAccount('a', 1_000_000)
    const [queued, claimed] = [1000, 900]
    await Promise.all(Array.from({ length: queued }, () => store.startGeneration(startOf(accountId, { credits: 0 }))))
    await store.claimJobs({ worker: 'w', room: { 'test/image': claimed }, limit: claimed, leaseMs: 60_000 })
    await runSql(url, 'ANALYZE')
    const { items, query } = await spyOnList(store, filterOf(accountId, { limit: 50 }))
    expect(items.map(({ queuePosition }) => queuePosition)).toEqual(items.map((_, index) => queued - claimed - index))
    await using client = Object.assign(new Client(url), { [Symbol.asyncDispose]: () => client.end() })
    await client.connect()
    // A connection reads catalogs when it uses something for the first time.
    await client.query(query?.text ?? '', query?.values)
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${query?.text}`, query?.values)
    const { 'Shared Hit Blocks': hit, 'Shared Read Blocks': read } = rows[0]['QUERY PLAN'][0].Plan
    // A walk takes some tens; fifty of them would take hundreds.
    expect(hit + read).toBeLessThan(200)
  })

  test('no job is read for a model that the account never used', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false })
    const { accountId } = await store.createAccount('a', 1000)
    await store.startGeneration(startOf(accountId))
    const { items, total, query } = await spyOnList(store, filterOf(accountId, { model: 'test/unused' }))
    expect([items, total]).toEqual([[], 0])
    const nodes = await explainJobs(url, query)
    expect(nodes.map((node) => node['Actual Loops'])).toEqual(nodes.map(() => 0))
    expect(nodes.length).toBeGreaterThan(0)
  })

  test('lists that wait for the server leave connections to everything else', async () => {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url, listens: false, connections: 2 })
    const { accountId } = await store.createAccount('a', 1000)
    await using client = Object.assign(new Client(url), { [Symbol.asyncDispose]: () => client.end() })
    await client.connect()
    await client.query('BEGIN; LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE')
    const lists = [1, 2, 3].map(() => store.listKeys(accountId, firstPage))
    const waiting = vi.waitFor(async () => {
      expect(await client.query('SELECT FROM pg_locks WHERE NOT granted')).toMatchObject({ rowCount: 1 })
    })
    expect(await store.getAccount(accountId)).toMatchObject({ accountId })
    await waiting
    await client.query('COMMIT')
    expect(await Promise.all(lists)).toEqual(lists.map(() => ({ items: [], total: 0 })))
  })

  test('a list that takes too long ends in the server too, and its connection goes on', async () => {
    const url = await createDatabase()
    const db = openDatabase(url, 1, () => null)
    try {
      await expect(db.rows('SELECT pg_sleep(60)', {}, 50)).rejects.toMatchObject({ code: '57014' })
      const working =
        "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()"
      expect(await runSql(url, working)).toEqual([])
      expect(await db.rows('SELECT 1 AS one')).toEqual([{ one: 1 }])
    } finally {
      await db.close()
    }
  })
})

type PlanNode = { readonly Plans?: readonly PlanNode[] } & Readonly<Record<string, any>>

/** A node of a plan and all below it. */
function toNodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(toNodes)]
}

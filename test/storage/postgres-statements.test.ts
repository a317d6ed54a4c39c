// How many statements the PostgreSQL store sends: many commands together cost about as many as one.
import { openPostgresStore } from '@mediagen/storage/postgres/open.ts'
import { Client, type QueryConfig } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { claimOne, filterOf, startOf } from './fixture.ts'
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

    // News of what was done before, and looks at the clock. One statement for each of forty would be far more.
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
    const spied = vi.spyOn(Client.prototype, 'query')
    const { items } = await store.listJobs(filterOf(accountId, { limit: 10, offset: 900 }))
    const [asked] = spied.mock.calls.map(([query]) => query as unknown as QueryConfig)
    spied.mockRestore()
    expect(items).toHaveLength(10)
    await using client = Object.assign(new Client(url), { [Symbol.asyncDispose]: () => client.end() })
    await client.connect()
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${asked?.text}`, asked?.values)
    const nodes = toNodes(rows[0]['QUERY PLAN'][0].Plan).filter((node) => node['Relation Name'] === 'jobs')
    const page = nodes.filter((node) => node['Index Cond']?.includes('ordinal <='))
    expect(page).toMatchObject([{ 'Node Type': 'Index Scan', 'Index Name': 'jobs_by_account' }])
    expect(page[0]?.['Actual Rows']).toBe(10)
  })
})

type PlanNode = { readonly Plans?: readonly PlanNode[] } & Readonly<Record<string, any>>

/** A node of a plan and all below it. */
function toNodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(toNodes)]
}

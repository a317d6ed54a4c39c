// How the databases count what waits: by indexes of what has not ended, so that ended jobs cost nothing.
import { describe, expect, test } from 'vitest'
import { selectBacklog } from '../../src/storage/backlog.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const indexes = ['jobs_queued', 'jobs_by_retry', 'jobs_by_lease', 'jobs_in_review', 'webhooks_due']

test('SQLite reads only small indexes', async () => {
  using file = createTestFolder()
  await (await openStoreAt(file.path)).close()
  using db = openRaw(file.path)
  const plan = db.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${selectBacklog}`).all()
  const reads = plan.map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH) (?!q$)/.test(detail))
  for (const read of reads) expect(read).toMatch(/ INDEX |INTEGER PRIMARY KEY/)
  for (const index of indexes) expect(reads.join('; ')).toContain(index)
  expect(reads.join('; ')).toMatch(/webhook_deliveries_(due|by_wait|by_status)/)
})

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase } = useServer()

  test('PostgreSQL can read only small indexes', async () => {
    const url = await createDatabase()
    // Tables without rows are read whole; these settings ask what is possible.
    const rows = await runSql(url, `SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN ${selectBacklog}`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).not.toMatch(/Seq Scan/)
    for (const index of indexes) expect(plan).toContain(index)
    expect(plan).toMatch(/webhook_deliveries_(due|by_wait|by_status)/)
  })
})

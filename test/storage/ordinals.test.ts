// The ordinals of an account's jobs, by which a page of them is found: SQLite lets none be left out or given twice, and no page is
// walked to.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createJobReads } from '../../src/storage/sqlite/jobs/jobs.ts'
import { filterOf, makeJobs } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const file = createTestFolder()
beforeAll(async () => {
  await using store = await openStoreAt(file.path)
  await makeJobs(store)
})
afterAll(() => file[Symbol.dispose]())

const insertJob = (ordinal: string): string =>
  `INSERT INTO jobs (job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at, key_id)
   SELECT 'job_x', account_id, ${ordinal}, 'queued', 'm', 'q', 'k', zeroblob(32), 0, 0, 'key' FROM accounts;`

function attempt(sql: string): void {
  using db = openRaw(file.path)
  db.transaction(() => {
    db.exec(sql)
    throw new Error('it is done')
  })()
}

test.each([
  ['the next one', insertJob('job_count + 1'), 'it is done'],
  ['a gap', insertJob('job_count + 2'), 'the next ordinal'],
  ['that of the newest', insertJob('job_count'), 'the next ordinal'],
  ['that of an older one', insertJob('2'), 'the next ordinal'],
  ['another one', 'UPDATE jobs SET ordinal = 9', 'does not change'],
  ['a count that is too high', 'UPDATE accounts SET job_count = 9', 'the next ordinal'],
  ['a count behind the newest', 'UPDATE accounts SET job_count = 3', 'the next ordinal'],
  [
    'the right count after a wrong one',
    'UPDATE accounts SET job_count = 5; UPDATE accounts SET job_count = 4',
    'it is done',
  ],
])('%s', (_, sql, words) => {
  expect(() => attempt(sql)).toThrow(words)
})

test('a page is sought by its first ordinal, whether deleted jobs count or not', () => {
  using db = openRaw(file.path)
  // Statistics of a server that was closed before its first job.
  db.exec(
    "ANALYZE; DELETE FROM sqlite_stat1 WHERE tbl = 'jobs'; DELETE FROM sqlite_stat4 WHERE tbl = 'jobs'; ANALYZE sqlite_schema",
  )
  const { account_id: accountId } = db.prepare('SELECT account_id FROM accounts').get() as { account_id: string }
  for (const withDeleted of [true, false]) {
    const texts: string[] = []
    const watched = { ...watch(db, texts) } as typeof db
    const { items } = createJobReads(watched, Date.now).listJobs(
      filterOf(accountId, { withDeleted, limit: 2, offset: 3 }),
    )
    expect(items).toHaveLength(1)
    const list = texts.find((text) => text.includes('ordinal <= :first'))
    const values = { accountId, first: 1, limit: 2, offset: 0 }
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${list}`).all(values) as { detail: string }[]
    expect(plan.map(({ detail }) => detail)).toContain(
      'SEARCH jobs USING INDEX jobs_by_account (account_id=? AND ordinal<?)',
    )
    for (const text of texts.filter((one) => one.includes('deleted_at IS NOT NULL')))
      expect(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(accountId)).toMatchObject([
        { detail: expect.stringMatching(/^SEARCH jobs USING (COVERING )?INDEX jobs_deleted /) },
      ])
  }
})

test('no job is read for a model that nobody used, and none that succeeded for a list of failed ones', () => {
  using db = openRaw(file.path)
  const texts: string[] = []
  const watched = { ...watch(db, texts) } as typeof db
  const { listJobs } = createJobReads(watched, Date.now)
  const ofAll = { accountId: null, limit: 2, offset: 0 }
  expect(listJobs({ ...filterOf(''), ...ofAll, model: 'test/unused' })).toEqual({ items: [], total: 0 })
  expect(texts.filter((text) => text.includes('LIMIT :limit'))).toEqual([])
  expect(listJobs({ ...filterOf(''), ...ofAll, status: 'failed' })).toMatchObject({ total: 1 })
  const lists = texts.filter((text) => text.includes("status = 'failed'"))
  expect(lists).toHaveLength(2)
  for (const text of lists) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all({ limit: 2, offset: 0 }) as { detail: string }[]
    expect(plan[0]?.detail).toContain('INDEX jobs_by_status')
  }
})

/** The connection, which notes what is prepared. */
function watch(db: ReturnType<typeof openRaw>, texts: string[]) {
  return {
    prepare: (text: string) => {
      texts.push(text)
      return db.prepare(text)
    },
    transaction: db.transaction.bind(db),
  }
}

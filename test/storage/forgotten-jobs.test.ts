// Which jobs SQLite lets go, and what it keeps of them, for any writer. Each rule by raw SQL.
import { beforeAll, afterAll, expect, test } from 'vitest'
import { makeJobs } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const file = createTestFolder()
beforeAll(async () => {
  await using store = await openStoreAt(file.path)
  await makeJobs(store)
})
afterAll(() => file[Symbol.dispose]())

const filesGo = "UPDATE jobs SET outputs_gone = 2 WHERE status = 'failed';"
const forget = `${filesGo} DELETE FROM jobs WHERE status = 'failed';`
const end = (status: string): string =>
  `UPDATE jobs SET status = 'failed', error = '{}', credits_released = 10, finished_at = 9e15, worker = NULL, lease_until = NULL WHERE status = '${status}';`
const failedJob = "FROM jobs WHERE status = 'failed';"

/** Runs the statements in one transaction to its commit, or not at all. */
function attempt(sql: string): void {
  using db = openRaw(file.path)
  db.transaction(() => db.exec(sql))()
}

test.each([
  ['a queued job', "DELETE FROM jobs WHERE status = 'queued'", 'only a job that is settled'],
  [
    'a queued job that began without files',
    `INSERT INTO jobs (job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at, key_id, outputs_gone)
       SELECT 'job_' || value, account_id, job_count + value, 'queued', 'm', 'q', 'k' || value, zeroblob(32), 0, 0, 'key', 2 FROM accounts, json_each('[1, 2]');
     DELETE FROM jobs WHERE job_id = 'job_1'`,
    'only a job that is settled',
  ],
  ['a running job', "DELETE FROM jobs WHERE status = 'running'", 'only a job that is settled'],
  ['a job whose files are there', "DELETE FROM jobs WHERE status = 'failed'", 'only a job that is settled'],
  ['a job that ended without its entries', `${end('running')} ${forget}`, 'only a job that is settled'],
  [
    'the newest job',
    `DROP TRIGGER jobs_follow_states; ${end('queued')}
     INSERT INTO ledger_entries SELECT a.account_id, a.entry_count + 1, 'x', 'release', j.number, 10, a.available + 10, a.held - 10, NULL, 0, printf('%064d', 0)
       FROM accounts AS a, jobs AS j WHERE j.number = (SELECT max(number) FROM jobs);
     UPDATE jobs SET outputs_gone = 2 WHERE number = (SELECT max(number) FROM jobs);
     DELETE FROM jobs WHERE number = (SELECT max(number) FROM jobs)`,
    'only a job that is settled',
  ],
  [
    'a job that may run elsewhere',
    `INSERT INTO upstream_runs (job_number, n, provider, verdict, submitted_at) SELECT number, 1, 'p', 'accepted', 0 ${failedJob} ${forget}`,
    'only a job that is settled',
  ],
  ['a job that has an input', `DROP TRIGGER jobs_inputs_go_with_outputs; ${forget}`, 'FOREIGN KEY'],
  [
    'a job that owes a question',
    `INSERT INTO upstream_duties (job_number, kind, fence, owed_at, due_at) SELECT number, 'cancel', 1, 0, 0 ${failedJob} ${forget}`,
    'FOREIGN KEY',
  ],
])('%s is not deleted', (_, sql, words) => {
  expect(() => attempt(sql)).toThrow(words)
})

test.each([
  [
    'of a job that is there',
    `INSERT INTO forgotten_jobs (number, job_id) SELECT number, job_id ${failedJob}`,
    'is no more',
  ],
  ['of a job that never was', "INSERT INTO forgotten_jobs (number, job_id) VALUES (999, 'job_x')", 'is no more'],
  [
    'in the place of another',
    `${forget} INSERT OR REPLACE INTO forgotten_jobs (number, job_id) SELECT number, 'x' FROM forgotten_jobs`,
    'is no more',
  ],
  ['that changes', `${forget} UPDATE forgotten_jobs SET job_id = 'x'`, 'does not change'],
  ['that goes', `${forget} DELETE FROM forgotten_jobs`, 'never deleted'],
])('a name %s is refused', (_, sql, words) => {
  expect(() => attempt(sql)).toThrow(words)
})

test('a job goes when all is settled, and the ledger and the counts add up', async () => {
  attempt(forget)
  await using store = await openStoreAt(file.path)
  expect(await store.verifyLedger()).toMatchObject({ jobs: 3, problems: [] })
  expect(() => attempt("DELETE FROM ledger_entries WHERE kind = 'release'")).toThrow('append-only')
})

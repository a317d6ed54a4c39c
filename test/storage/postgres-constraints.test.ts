// What a PostgreSQL database refuses by itself, whatever program speaks to it: money that does not add up, and jobs that leave the
// path of their states (P61, P62).
import { describe, expect, test } from 'vitest'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { makeJobs } from './fixture.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'

const entry = (fields: string, hash = "repeat('0', 64)"): string =>
  `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, created_at, hash)
   SELECT a.account_id, ${fields}, 0, ${hash} FROM accounts AS a, jobs AS j WHERE j.status = 'queued'`

/** Starts a job past the store. @param step how far its ordinal is from the newest */
const insertJob = (step: number): string =>
  `INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at, key_id)
   SELECT 9, 'job_x', account_id, job_count + ${step}, 'queued', 'm', 'q', 'k', decode(repeat('00', 32), 'hex'), 0, 0, 'key' FROM accounts`

const closeAccount = "UPDATE accounts SET status = 'closed', status_reason = 'x', status_changed_at = 1"
const newAccount = "INSERT INTO accounts (account_id, name, created_at) VALUES ('acct_new', 'x', 0)"
const closeNew = `${newAccount}; ${closeAccount} WHERE account_id = 'acct_new'`
const insertKey = `INSERT INTO api_keys (key_id, account_id, prefix, secret_hash, permissions, created_at)
  VALUES ('key_x', 'acct_new', 'mgk_test', decode(repeat('00', 32), 'hex'), '[]', 0)`

const forgetFailed =
  "UPDATE jobs SET outputs_gone = 2 WHERE status = 'failed'; DELETE FROM jobs WHERE status = 'failed';"

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase } = useServer()
  let made: Promise<string> | undefined

  /** One database with a job of each kind; refused statements change nothing in it. */
  async function makeDatabase(): Promise<string> {
    const url = await createDatabase()
    await using store = await openPostgresStore({ url })
    await makeJobs(store)
    return url
  }

  test.each([
    ['UPDATE accounts SET available = available + 1', 'only by the next entry'],
    ['UPDATE accounts SET held = held - 1, available = available + 1', 'only by the next entry'],
    ["UPDATE accounts SET status = 'frozen', status_changed_at = 1", 'check constraint'],
    [closeAccount, 'when its jobs have ended'],
    [`${closeNew}; UPDATE accounts SET status = 'active' WHERE account_id = 'acct_new'`, 'stays as it is'],
    [
      `UPDATE accounts SET status = 'frozen', status_reason = 'x', status_changed_at = 1; ${insertJob(1)}`,
      'starts nothing',
    ],
    [`${closeNew}; ${insertKey}`, 'gets no keys'],
    [`${newAccount}; ${insertKey}; ${closeAccount} WHERE account_id = 'acct_new'`, 'its keys are revoked'],
    [
      `${newAccount}; ${insertKey}; UPDATE api_keys SET revoked_at = 1; UPDATE api_keys SET revoked_at = NULL`,
      'stays revoked',
    ],
    ['UPDATE accounts SET available = -1', 'only by the next entry'],
    ['UPDATE accounts SET queued_jobs = -1', 'check constraint'],
    ['UPDATE accounts SET created_at = 0', 'do not change'],
    ["INSERT INTO accounts (account_id, name, available, created_at) VALUES ('acct_x', 'x', 5, 0)", 'is empty'],
    ['DELETE FROM accounts', 'never deleted'],
    ['UPDATE ledger_entries SET credits = 5', 'append-only'],
    ['DELETE FROM ledger_entries', 'append-only'],
    [entry("a.entry_count + 1, 'x', 'grant', NULL, 5, a.available + 6, a.held"), 'does not follow'],
    [entry("a.entry_count + 1, 'x', 'grant', NULL, 5, a.available + 5, a.held", 'NULL'), 'an entry has a hash'],
    [entry("a.entry_count + 1, 'x', 'grant', NULL, 5, a.available + 5, a.held", "'0'"), 'check constraint'],
    ["UPDATE accounts SET ledger_head = repeat('0', 64)", 'only by the next entry'],
    [entry("a.entry_count + 2, 'x', 'grant', NULL, 5, a.available + 5, a.held"), 'does not follow'],
    [entry("a.entry_count + 1, 'x', 'grant', j.number, 5, a.available + 5, a.held"), 'check constraint'],
    [entry("a.entry_count + 1, 'x', 'hold', j.number, 10, a.available - 10, a.held + 10"), 'ledger_entries_by_job'],
    [entry("a.entry_count + 1, 'x', 'release', j.number, 3, a.available + 3, a.held - 3"), 'money of its job'],
    ["UPDATE jobs SET status = 'succeeded', progress = 1 WHERE status = 'queued'", 'may not follow'],
    ["UPDATE jobs SET status = 'queued' WHERE status = 'succeeded'", 'may not follow|stays as it is'],
    ["UPDATE jobs SET credits_charged = 10 WHERE status = 'succeeded'", 'stays as it is'],
    ["UPDATE jobs SET credits_charged = 10 WHERE status = 'running'", 'only_success_costs|settled_exactly'],
    ["UPDATE jobs SET status = 'running' WHERE status = 'queued'", 'new token'],
    ['UPDATE jobs SET token = token - 1', 'never go back'],
    ['UPDATE jobs SET credits_held = 5', 'does not change'],
    ['UPDATE jobs SET ordinal = 9', 'does not change'],
    ["UPDATE jobs SET labels = '{}'", 'does not change'],
    [insertJob(0), 'jobs_by_account'],
    [insertJob(2), 'follow each other'],
    ["UPDATE jobs SET worker = NULL WHERE status = 'running'", 'leased_while_running'],
    ["DELETE FROM jobs WHERE status = 'queued'", 'only a job that is settled'],
    ["DELETE FROM jobs WHERE status = 'failed'", 'only a job that is settled'],
    [
      `INSERT INTO upstream_runs (job_number, n, provider, verdict, submitted_at) SELECT number, 1, 'p', 'accepted', 0 FROM jobs;
       ${forgetFailed}`,
      'only a job that is settled',
    ],
    [
      `UPDATE jobs SET status = 'failed', error = '{}', credits_released = 10, finished_at = 9e15, worker = NULL, lease_until = NULL
       WHERE status = 'running'; ${forgetFailed}`,
      'only a job that is settled',
    ],
    [`ALTER TABLE jobs DISABLE TRIGGER jobs_inputs_go_with_outputs; ${forgetFailed}`, 'foreign key'],
    [
      "INSERT INTO forgotten_jobs (number, job_id) SELECT number, job_id FROM jobs WHERE status = 'failed'",
      'is no more',
    ],
    ["INSERT INTO forgotten_jobs (number, job_id) VALUES (999, 'job_x')", 'is no more'],
    [`${forgetFailed} UPDATE forgotten_jobs SET job_id = 'job_x'`, 'does not change'],
    [`${forgetFailed} DELETE FROM forgotten_jobs`, 'does not change'],
    ['DELETE FROM job_inputs', 'stays as long'],
    ["UPDATE job_inputs SET input = '{}'", 'does not change'],
    ['UPDATE queues SET virtual_time = virtual_time - 1', 'never goes back|check constraint'],
    ['DELETE FROM audit_entries', 'never changed or deleted'],
    ["UPDATE audit_entries SET act = 'x'", 'never changed or deleted'],
    [
      `UPDATE jobs SET status = 'failed', error = '{}', credits_released = 10, finished_at = 9e15, worker = NULL, lease_until = NULL
       WHERE status = 'running'`,
      'foreign key',
    ],
  ])('the database refuses %s', async (sql, words) => {
    const url = await (made ??= makeDatabase())
    await expect(runSql(url, sql)).rejects.toThrow(new RegExp(words))
  })
})

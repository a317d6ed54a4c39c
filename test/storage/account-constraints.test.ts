// What an SQLite database itself refuses of accounts that are frozen or closed, by any writer (P312, P313).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startJob } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const file = createTestFolder()
let busy = ''
let idle = ''

beforeAll(async () => {
  await using store = await openStoreAt(file.path)
  busy = (await store.createAccount('busy', 1000)).accountId
  idle = (await store.createAccount('idle', 1000)).accountId
  await startJob(store, busy, { credits: 0 })
})
afterAll(() => file[Symbol.dispose]())

const set = (status: string, of: string) =>
  `UPDATE accounts SET status = '${status}', status_reason = 'x', status_changed_at = 1 WHERE name = '${of}';`
const insertKey = `INSERT INTO api_keys (key_id, account_id, prefix, secret_hash, permissions, created_at)
  SELECT 'key_x', account_id, 'mgk_test', zeroblob(32), '[]', 0 FROM accounts WHERE name = 'idle';`
const insertJob = `INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at, key_id)
  SELECT 99, 'job_x', account_id, job_count + 1, 'queued', 'm', 'q', 'new', zeroblob(32), 0, 0, 'key_x' FROM accounts WHERE name = 'idle';`

/** Runs the statements in one transaction, which leaves nothing. */
function attempt(sql: string): void {
  using db = openRaw(file.path)
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(sql)
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK')
  }
}

test('what the store does passes', () => {
  expect([busy, idle]).not.toContain('')
  for (const sql of [set('frozen', 'busy'), set('closed', 'idle'), `${insertKey} ${insertJob}`]) attempt(sql)
})

test.each([
  ['a frozen account without a reason', "UPDATE accounts SET status = 'frozen', status_changed_at = 1", 'CHECK'],
  ['a frozen account without a time', "UPDATE accounts SET status = 'frozen', status_reason = 'x'", 'CHECK'],
  ['another status', set('gone', 'idle'), 'CHECK'],
  ['a closed account with jobs', set('closed', 'busy'), 'when its jobs have ended'],
  ['a closed account with keys', insertKey + set('closed', 'idle'), 'and its keys are revoked'],
  ['a closed account that is opened', set('closed', 'idle') + set('active', 'idle'), 'stays as it is'],
  ['another name of a closed account', `${set('closed', 'idle')} UPDATE accounts SET name = 'x'`, 'stays as it is'],
  ['a job of a frozen account', set('frozen', 'idle') + insertJob, 'starts nothing'],
  ['a key of a closed account', set('closed', 'idle') + insertKey, 'gets no keys'],
  [
    'a revoked key that works again',
    `${insertKey} UPDATE api_keys SET revoked_at = 1; UPDATE api_keys SET revoked_at = NULL`,
    'stays revoked',
  ],
])('the database refuses %s', (_, sql, words) => {
  expect(() => attempt(sql)).toThrow(words)
})

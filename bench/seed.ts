// Fills a database with jobs by bulk SQL: half of them succeeded, half queued, every credit accounted for.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { order } from './accounts.ts'

const steps = [
  `INSERT INTO jobs (job_id, account_id, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at)
   WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :count)
   SELECT printf('job_%026d', n), :account, 'queued', :model, :quote, printf('seed-%d', n), zeroblob(32), 1, :now FROM n`,
  'INSERT INTO job_inputs (number, input) SELECT number, :input FROM jobs',
  `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, created_at)
   SELECT :account, :entries + j.number, printf('entry_%026d', j.number), 'hold', j.number, 1, :available - j.number, j.number, :now
   FROM jobs AS j ORDER BY j.number`,
  `UPDATE jobs SET status = 'running', attempts = 1, token = 1, worker = 'seed', lease_until = :now, started_at = :now, sequence = 2
   WHERE number <= :count / 2`,
  `UPDATE jobs SET status = 'succeeded', progress = 1, worker = NULL, lease_until = NULL, finished_at = :now, credits_charged = 1, sequence = 3
   WHERE status = 'running'`,
  `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, created_at)
   SELECT :account, :entries + :count + j.number, printf('entry_%026d', :count + j.number), 'charge', j.number, 1, :available - :count,
     :count - j.number, :now
   FROM jobs AS j WHERE j.number <= :count / 2 ORDER BY j.number`,
]

/** Adds jobs of one account to a database that has none, while nobody else uses it. */
export function seedJobs(dataDir: string, accountId: string, count: number): void {
  const db = new Database(join(dataDir, 'mediagen.db'))
  try {
    db.pragma('foreign_keys = ON')
    const { available, entries } = db
      .prepare<[string], { available: number; entries: number }>(
        'SELECT available, entry_count AS entries FROM accounts WHERE account_id = ?',
      )
      .get(accountId) ?? { available: 0, entries: 0 }
    const now = Date.now()
    const input = JSON.stringify(order.input)
    const quote = `quote_${'0'.repeat(150)}`
    const values = { account: accountId, model: order.model, available, entries, count, now, input, quote }
    db.transaction(() => {
      for (const step of steps) db.prepare(step).run(values)
    })()
  } finally {
    db.close()
  }
}

// Fills a database with jobs by bulk SQL: some of them succeeded, the others queued, every credit and every slot accounted for.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { queueCost } from '../src/core/jobs/fair-queue.ts'
import { order } from './accounts.ts'

/** What is stored. */
export interface Seed {
  readonly accountId: string
  readonly jobs: number
  /** So many of them, the oldest, have succeeded. */
  readonly succeeded: number
  readonly model?: string
  readonly input?: object
  /** What each costs; 1 when nothing is said. */
  readonly credits?: number
  /** Whether they can be listed by their team, of forty, and by their shop, of one. */
  readonly labelled?: boolean
}

const steps = [
  'INSERT INTO queues (model, virtual_time) VALUES (:model, max(0, :succeeded - 1) * :cost)',
  'INSERT INTO queue_shares (model, account_id, finish) VALUES (:model, :account, :count * :cost)',
  `INSERT INTO jobs (job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at, fair,
     key_id, attempts, token, progress, started_at, finished_at, credits_charged, sequence)
   WITH RECURSIVE n (n, done) AS (SELECT 1, 1 <= :succeeded UNION ALL SELECT n + 1, n + 1 <= :succeeded FROM n WHERE n < :count)
   SELECT printf('job_%026d', n), :account, n, iif(done, 'succeeded', 'queued'), :model, :quote, printf('seed-%010d', n), zeroblob(32),
     :credits, :now, (n - 1) * :cost, (SELECT min(key_id) FROM api_keys WHERE account_id = :account), done, done, done,
     iif(done, :now, NULL), iif(done, :now, NULL), done * :credits, iif(done, 3, 1) FROM n`,
  'INSERT INTO job_inputs (number, input) SELECT number, :input FROM jobs',
  `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, created_at)
   SELECT :account, :entries + number, printf('entry_%026d', number), 'hold', number, :credits,
     :available - number * :credits, number * :credits, :now
   FROM jobs ORDER BY number`,
  `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, created_at)
   SELECT :account, :entries + :count + number, printf('entry_%026d', :count + number), 'charge', number, :credits,
     :available - :count * :credits, (:count - number) * :credits, :now
   FROM jobs WHERE number <= :succeeded ORDER BY number`,
  // SQL has no SHA-256: the chain of the account begins after these entries.
  'UPDATE ledger_entries SET hash = NULL WHERE account_id = :account',
  // As if they had been started over a year, by two thousand people of forty teams.
  `INSERT INTO usage (account_id, day, model, key_id, labels, jobs, succeeded, charged)
   SELECT account_id, date(:now / 1000, 'unixepoch', printf('-%d days', number % 365)) AS started, model, key_id,
     json_object('team', printf('team-%d', number % 40), 'user', printf('user-%d', number % 2000)) AS labelled,
     count(*), count(*), sum(credits_charged)
   FROM jobs WHERE number <= :succeeded GROUP BY account_id, started, model, key_id, labelled`,
  `UPDATE accounts SET available = :available - :count * :credits, held = (:count - :succeeded) * :credits,
     ledger_head = NULL, entry_count = :entries + :count + :succeeded, job_count = :count, queued_jobs = :count - :succeeded
   WHERE account_id = :account`,
]

const labelStep = `INSERT INTO job_labels (account_id, name, value, job_number)
  SELECT account_id, 'team', printf('team-%d', number % 40), number FROM jobs UNION ALL
  SELECT account_id, 'shop', 'all', number FROM jobs`

/** Adds jobs of one account, started with its first key, to a database that has none, while nobody else uses it. */
export function seedJobs(dataDir: string, seed: Seed): void {
  const { accountId, jobs, succeeded, model = order.model, input = order.input, credits = 1, labelled = false } = seed
  const db = new Database(join(dataDir, 'mediagen.db'))
  try {
    db.pragma('foreign_keys = OFF')
    // A log of it all would be as large again.
    db.pragma('journal_mode = OFF')
    db.pragma('synchronous = OFF')
    db.pragma('cache_size = -524288')
    const { available, entries } = db
      .prepare<[string], { available: number; entries: number }>(
        'SELECT available, entry_count AS entries FROM accounts WHERE account_id = ?',
      )
      .get(accountId) ?? { available: 0, entries: 0 }
    const values = {
      account: accountId,
      count: jobs,
      succeeded,
      model,
      input: JSON.stringify(input),
      quote: `quote_${'0'.repeat(150)}`,
      credits,
      cost: queueCost(credits),
      available,
      entries,
      now: Date.now(),
    }
    // Keys and triggers check one change at a time, which takes minutes for a million; what is stored here adds up all the same.
    const triggers = db
      .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
      .all()
    db.transaction(() => {
      for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
      for (const step of steps) db.prepare(step).run(values)
      if (labelled) db.prepare(labelStep).run()
      for (const { sql } of triggers) db.exec(sql)
    })()
    db.pragma('journal_mode = WAL')
  } finally {
    db.close()
  }
}

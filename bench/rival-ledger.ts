// The ledger of the rivals: accounts, jobs and entries in SQLite, durable, one transaction a call. Used by rival-*.ts.
import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'

/** What a start says. */
export interface RivalOrder {
  readonly accountId: string
  readonly idempotencyKey: string
  readonly model: string
  readonly input: object
  readonly quoteId: string
  readonly credits: number
}

/** The record that a start answers with. */
export interface RivalJob {
  readonly job_id: string
  readonly status: string
  readonly model: string
  readonly quote_id: string
  readonly credits: number
  readonly created_at: string
}

const schema = `
  CREATE TABLE accounts (account_id TEXT PRIMARY KEY, available INTEGER NOT NULL CHECK (available >= 0), held INTEGER NOT NULL CHECK (held >= 0)) STRICT, WITHOUT ROWID;
  CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, job_id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES accounts, idempotency_key TEXT NOT NULL,
    model TEXT NOT NULL, input TEXT NOT NULL, quote_id TEXT NOT NULL, credits INTEGER NOT NULL, status TEXT NOT NULL,
    created_at TEXT NOT NULL, started_at TEXT, finished_at TEXT, UNIQUE (account_id, idempotency_key)) STRICT;
  CREATE INDEX jobs_queued ON jobs (number) WHERE status = 'queued';
  CREATE TABLE entries (number INTEGER PRIMARY KEY, account_id TEXT NOT NULL, job_number INTEGER NOT NULL, kind TEXT NOT NULL,
    credits INTEGER NOT NULL, available_after INTEGER NOT NULL, held_after INTEGER NOT NULL, created_at TEXT NOT NULL,
    UNIQUE (job_number, kind)) STRICT;`

/** Opens a new ledger with one account that has plenty. */
export function openRivalLedger(path: string, accountId: string) {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('wal_autocheckpoint = 4000')
  db.pragma('cache_size = -65536')
  db.exec(schema)
  db.prepare('INSERT INTO accounts VALUES (?, 1000000000000, 0)').run(accountId)

  type Balance = { available: number; held: number }
  const findStarted = db.prepare<[string, string], RivalJob & { input: string }>(
    'SELECT job_id, status, model, input, quote_id, credits, created_at FROM jobs WHERE account_id = ? AND idempotency_key = ?',
  )
  const hold = db.prepare<[number, number, string, number], Balance>(
    'UPDATE accounts SET available = available - ?, held = held + ? WHERE account_id = ? AND available >= ? RETURNING available, held',
  )
  const charge = db.prepare<[number, string], Balance>(
    'UPDATE accounts SET held = held - ? WHERE account_id = ? RETURNING available, held',
  )
  const insertJob = db.prepare(
    `INSERT INTO jobs (job_id, account_id, idempotency_key, model, input, quote_id, credits, status, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?)`,
  )
  const insertEntry = db.prepare(
    `INSERT INTO entries (account_id, job_number, kind, credits, available_after, held_after, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const take = db.prepare<[string], { job_id: string; input: string }>(
    `UPDATE jobs SET status = 'running', started_at = ?
     WHERE number = (SELECT number FROM jobs WHERE status = 'queued' ORDER BY number LIMIT 1) RETURNING job_id, input`,
  )
  const end = db.prepare<[string, string], { number: number; account_id: string; credits: number }>(
    `UPDATE jobs SET status = 'succeeded', finished_at = ? WHERE job_id = ? AND status IN ('queued', 'running')
     RETURNING number, account_id, credits`,
  )

  const start = db.transaction((order: RivalOrder): RivalJob => {
    const { accountId: owner, idempotencyKey, model, quoteId, credits } = order
    const input = JSON.stringify(order.input)
    const earlier = findStarted.get(owner, idempotencyKey)
    if (earlier) {
      if (earlier.model !== model || earlier.input !== input || earlier.quote_id !== quoteId)
        throw new Error('the key was used for something else')
      return earlier
    }
    const balance = hold.get(credits, credits, owner, credits)
    if (!balance) throw new Error('not enough credits')
    const job = { job_id: `job_${randomUUID()}`, status: 'queued', model, quote_id: quoteId, credits }
    const now = new Date().toISOString()
    const { lastInsertRowid } = insertJob.run(job.job_id, owner, idempotencyKey, model, input, quoteId, credits, now)
    insertEntry.run(owner, lastInsertRowid, 'hold', credits, balance.available, balance.held, now)
    return { ...job, created_at: now }
  })
  const settle = db.transaction((jobId: string): void => {
    const now = new Date().toISOString()
    const job = end.get(now, jobId)
    if (!job) return
    const balance = charge.get(job.credits, job.account_id)
    if (balance)
      insertEntry.run(job.account_id, job.number, 'charge', job.credits, balance.available, balance.held, now)
  })
  return {
    /** Holds the credits and writes the job down, or answers with what the key has started. */
    start: (order: RivalOrder): RivalJob => start.immediate(order),
    /** Takes the oldest queued job. */
    claim: () => take.get(new Date().toISOString()),
    /** Ends the job and charges its hold, once. */
    settle: (jobId: string): void => settle.immediate(jobId),
    close(): void {
      db.close()
    },
  }
}

/** A ledger. */
export type RivalLedger = ReturnType<typeof openRivalLedger>

// The ledger of the rivals on PostgreSQL: accounts, jobs and entries, a transaction for each start and each end. Used by the
// rivals that queue jobs in PostgreSQL.
import { randomUUID } from 'node:crypto'
import { Pool, type PoolClient } from 'pg'
import type { RivalJob, RivalOrder } from './rival-ledger.ts'

const schema = `
  CREATE TABLE accounts (account_id text PRIMARY KEY, available bigint NOT NULL CHECK (available >= 0), held bigint NOT NULL CHECK (held >= 0));
  CREATE TABLE jobs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job_id text NOT NULL UNIQUE, account_id text NOT NULL REFERENCES accounts,
    idempotency_key text NOT NULL, model text NOT NULL, input jsonb NOT NULL, quote_id text NOT NULL, credits bigint NOT NULL,
    status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), finished_at timestamptz, UNIQUE (account_id, idempotency_key));
  CREATE TABLE entries (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id text NOT NULL, job_number bigint NOT NULL,
    kind text NOT NULL, credits bigint NOT NULL, available_after bigint NOT NULL, held_after bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), UNIQUE (job_number, kind));
  CREATE FUNCTION start_job(owner text, key text, new_id text, of_model text, with_input jsonb, quote text, price bigint) RETURNS jobs
  LANGUAGE plpgsql AS $$
  DECLARE job jobs; balance accounts;
  BEGIN
    UPDATE accounts SET available = available - price, held = held + price WHERE account_id = owner RETURNING * INTO balance;
    INSERT INTO jobs (job_id, account_id, idempotency_key, model, input, quote_id, credits, status)
      VALUES (new_id, owner, key, of_model, with_input, quote, price, 'queued') RETURNING * INTO job;
    INSERT INTO entries (account_id, job_number, kind, credits, available_after, held_after)
      VALUES (owner, job.number, 'hold', price, balance.available, balance.held);
    RETURN job;
  END $$;
  CREATE FUNCTION settle_job(ended text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE job jobs; balance accounts;
  BEGIN
    UPDATE jobs SET status = 'succeeded', finished_at = now() WHERE job_id = ended AND status = 'queued' RETURNING * INTO job;
    IF job IS NULL THEN RETURN; END IF;
    UPDATE accounts SET held = held - job.credits WHERE account_id = job.account_id RETURNING * INTO balance;
    INSERT INTO entries (account_id, job_number, kind, credits, available_after, held_after)
      VALUES (job.account_id, job.number, 'charge', job.credits, balance.available, balance.held);
  END $$;`

/** Connections of a rival: as many as pg-boss and Graphile Worker have by themselves. */
export const rivalConnections = 10

/** Makes the tables, and one account that has plenty. */
export async function openPostgresLedger(url: string, accountId: string) {
  const pool = new Pool({ connectionString: url, max: rivalConnections })
  await pool.query(schema)
  await pool.query('INSERT INTO accounts VALUES ($1, 1000000000000, 0)', [accountId])

  return {
    pool,
    /** Holds the credits, writes the job down and queues it by `enqueue`, in one transaction. */
    async start(
      { accountId: owner, idempotencyKey, model, input, quoteId, credits }: RivalOrder,
      enqueue: (client: PoolClient, jobId: string) => Promise<unknown>,
    ): Promise<RivalJob> {
      const jobId = `job_${randomUUID()}`
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const { rows } = await client.query<RivalJob>({
          name: 'start',
          text: 'SELECT * FROM start_job($1, $2, $3, $4, $5, $6, $7)',
          values: [owner, idempotencyKey, jobId, model, input, quoteId, credits],
        })
        await enqueue(client, jobId)
        await client.query('COMMIT')
        const [job] = rows
        if (!job) throw new Error('a start without a job')
        return job
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    },
    /** Ends the job and charges its hold, once. */
    async settle(jobId: string): Promise<void> {
      await pool.query({ name: 'settle', text: 'SELECT settle_job($1)', values: [jobId] })
    },
  }
}

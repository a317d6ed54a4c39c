-- Compatible: the database itself keeps the table.
-- Usage: what jobs were charged, by the day of their start, model, key and labels. Kept by a trigger, in the statement that ends a
-- job, under the lock of its account, and never forgotten.
CREATE TABLE usage (
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id) DEFERRABLE,
  day TEXT COLLATE "C" NOT NULL CHECK (length(day) = 10),
  -- Model and key are empty for jobs that were forgotten before there was usage.
  model TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  -- JSON of the labels of the start.
  labels TEXT COLLATE "C" NOT NULL CHECK (labels::json IS NOT NULL),
  jobs BIGINT NOT NULL CHECK (jobs > 0),
  succeeded BIGINT NOT NULL CHECK (succeeded BETWEEN 0 AND jobs),
  charged BIGINT NOT NULL CHECK (charged >= 0)
) WITH (fillfactor = 50);

-- Labels may be longer than what an index takes.
CREATE UNIQUE INDEX usage_once ON usage (account_id, day, model, key_id, md5(labels));

CREATE FUNCTION usage_day(day TEXT, created_at BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(day, to_char(to_timestamp(created_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD'))
$$;

CREATE FUNCTION jobs_add_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM now_so WHERE status IN ('succeeded', 'failed', 'canceled', 'expired')) THEN
    INSERT INTO usage AS u (account_id, day, model, key_id, labels, jobs, succeeded, charged)
    SELECT n.account_id, usage_day(n.day, n.created_at) AS started, n.model, n.key_id, coalesce(n.labels, '{}') AS labelled,
      count(*), count(*) FILTER (WHERE n.status = 'succeeded'), sum(n.credits_charged)
    FROM now_so AS n JOIN was_so AS w ON w.number = n.number
    WHERE n.status <> w.status AND n.status IN ('succeeded', 'failed', 'canceled', 'expired')
    GROUP BY n.account_id, started, n.model, n.key_id, labelled
    ON CONFLICT (account_id, day, model, key_id, md5(labels)) DO UPDATE
    SET jobs = u.jobs + excluded.jobs, succeeded = u.succeeded + excluded.succeeded, charged = u.charged + excluded.charged;
  END IF;
  RETURN NULL;
END $$;

-- Once for all rows of a statement: a row that a transaction changes for each job is walked through in all its versions.
CREATE TRIGGER jobs_add_usage AFTER UPDATE ON jobs REFERENCING OLD TABLE AS was_so NEW TABLE AS now_so FOR EACH STATEMENT
EXECUTE FUNCTION jobs_add_usage();

-- Jobs that have ended before. Of those that are forgotten, the ledger knows what was charged, and when they were started.
INSERT INTO usage (account_id, day, model, key_id, labels, jobs, succeeded, charged)
SELECT account_id, usage_day(day, created_at) AS started, model, key_id, coalesce(labels, '{}') AS labelled,
  count(*), count(*) FILTER (WHERE status = 'succeeded'), sum(credits_charged)
FROM jobs WHERE status IN ('succeeded', 'failed', 'canceled', 'expired') GROUP BY account_id, started, model, key_id, labelled
UNION ALL
SELECT h.account_id, usage_day(NULL, h.created_at) AS started, '', coalesce(f.key_id, ''), '{}',
  count(*), count(c.credits), coalesce(sum(c.credits), 0)
FROM forgotten_jobs AS f JOIN ledger_entries AS h ON h.job_number = f.number AND h.kind = 'hold'
LEFT JOIN ledger_entries AS c ON c.job_number = f.number AND c.kind = 'charge'
GROUP BY h.account_id, started, coalesce(f.key_id, '');

-- Compatible: the database itself keeps the table.
-- Usage: what jobs were charged, by the day of their start, model, key and labels. Kept by a trigger, in the statement that ends a
-- job, and never forgotten.
CREATE TABLE usage (
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  day TEXT NOT NULL CHECK (length(day) = 10),
  -- Model and key are empty for jobs that were forgotten before there was usage.
  model TEXT NOT NULL,
  key_id TEXT NOT NULL,
  -- JSON of the labels of the start.
  labels TEXT NOT NULL CHECK (json_valid(labels)),
  jobs INTEGER NOT NULL CHECK (jobs > 0),
  succeeded INTEGER NOT NULL CHECK (succeeded BETWEEN 0 AND jobs),
  charged INTEGER NOT NULL CHECK (charged >= 0),
  PRIMARY KEY (account_id, day, model, key_id, labels)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER jobs_add_usage AFTER UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND (NEW.status = 'succeeded' OR NEW.status = 'failed' OR NEW.status = 'canceled' OR NEW.status = 'expired')
BEGIN
  INSERT INTO usage (account_id, day, model, key_id, labels, jobs, succeeded, charged)
  VALUES (NEW.account_id, coalesce(NEW.day, date(NEW.created_at / 1000, 'unixepoch')), NEW.model, NEW.key_id, coalesce(NEW.labels, '{}'),
    1, NEW.status = 'succeeded', NEW.credits_charged)
  ON CONFLICT (account_id, day, model, key_id, labels) DO UPDATE
  SET jobs = jobs + 1, succeeded = succeeded + excluded.succeeded, charged = charged + excluded.charged;
END;

-- Jobs that have ended before. Of those that are forgotten, the ledger knows what was charged, and when they were started.
INSERT INTO usage (account_id, day, model, key_id, labels, jobs, succeeded, charged)
SELECT account_id, coalesce(day, date(created_at / 1000, 'unixepoch')) AS started, model, key_id, coalesce(labels, '{}') AS labelled,
  count(*), sum(status = 'succeeded'), sum(credits_charged)
FROM jobs WHERE status IN ('succeeded', 'failed', 'canceled', 'expired') GROUP BY account_id, started, model, key_id, labelled
UNION ALL
SELECT h.account_id, date(h.created_at / 1000, 'unixepoch') AS started, '', coalesce(f.key_id, ''), '{}',
  count(*), count(c.credits), coalesce(sum(c.credits), 0)
FROM forgotten_jobs AS f JOIN ledger_entries AS h ON h.job_number = f.number AND h.kind = 'hold'
LEFT JOIN ledger_entries AS c ON c.job_number = f.number AND c.kind = 'charge'
GROUP BY h.account_id, started, coalesce(f.key_id, '');

-- Limits of keys and accounts. Programs without it would let a key spend more than it may.

-- JSON of what is limited; null for no limit. A key that another key made counts against the limits of that key, too.
ALTER TABLE accounts ADD COLUMN limits TEXT CHECK (limits IS NULL OR limits::json IS NOT NULL);
ALTER TABLE api_keys ADD COLUMN limits TEXT CHECK (limits IS NULL OR limits::json IS NOT NULL),
  ADD COLUMN maker_id TEXT COLLATE "C" REFERENCES api_keys (key_id) DEFERRABLE;

CREATE INDEX api_keys_by_maker ON api_keys (maker_id) WHERE maker_id IS NOT NULL;

-- The day of the start, in the time zone of the installation at that time; null for jobs that were started before there were limits.
ALTER TABLE jobs ADD COLUMN day TEXT COLLATE "C" CHECK (length(day) = 10);

-- The key of a job that is forgotten; null for those that were forgotten before.
ALTER TABLE forgotten_jobs ADD COLUMN key_id TEXT;

-- What the jobs of a day hold and were charged, for each key (with those of the keys that it made) and each account; the empty day
-- has all days together. Kept by triggers, in the transaction that moves the credits, under the lock of the account.
CREATE TABLE spending (
  owner TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL CHECK (day = '' OR length(day) = 10),
  held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
  charged BIGINT NOT NULL DEFAULT 0 CHECK (charged >= 0),
  PRIMARY KEY (owner, day)
) WITH (fillfactor = 50);

-- Those that a job counts for, on its day and in all.
CREATE FUNCTION spenders(account TEXT, key TEXT, day TEXT) RETURNS TABLE (owner TEXT, counted TEXT) LANGUAGE sql STABLE AS $$
  SELECT o.owner, d.day
  FROM (VALUES (account), (key), ((SELECT maker_id FROM api_keys WHERE key_id = key))) AS o (owner), (VALUES (day), ('')) AS d (day)
  WHERE o.owner IS NOT NULL
$$;

CREATE FUNCTION jobs_hold_spending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO spending AS s (owner, day, held)
  SELECT o.owner, o.counted, sum(j.credits_held) FROM added AS j, spenders(j.account_id, j.key_id, j.day) AS o
  WHERE j.day IS NOT NULL AND j.credits_held > 0 GROUP BY o.owner, o.counted
  ON CONFLICT (owner, day) DO UPDATE SET held = s.held + excluded.held;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_hold_spending AFTER INSERT ON jobs REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION jobs_hold_spending();

-- Once for all rows of a statement: a row of `spending` that a transaction changes for each job is walked through in all its versions.
CREATE OR REPLACE FUNCTION jobs_recounted() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE accounts AS a SET queued_jobs = a.queued_jobs + n.jobs
  FROM (
    SELECT account_id, sum(change) AS jobs FROM (
      SELECT account_id, 1 AS change FROM now_so WHERE status = 'queued' UNION ALL SELECT account_id, -1 FROM was_so WHERE status = 'queued'
    ) AS changes GROUP BY account_id HAVING sum(change) <> 0
  ) AS n WHERE a.account_id = n.account_id;
  IF EXISTS (SELECT 1 FROM now_so WHERE credits_charged + credits_released > 0 AND day IS NOT NULL) THEN
    UPDATE spending AS s SET held = s.held - n.held, charged = s.charged + n.charged
    FROM (
      SELECT o.owner, o.counted, sum(j.credits_held) AS held, sum(j.credits_charged) AS charged
      FROM now_so AS j JOIN was_so AS w ON w.number = j.number, spenders(j.account_id, j.key_id, j.day) AS o
      WHERE j.day IS NOT NULL AND j.credits_charged + j.credits_released > w.credits_charged + w.credits_released
      GROUP BY o.owner, o.counted
    ) AS n WHERE s.owner = n.owner AND s.day = n.counted;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_keep_day BEFORE UPDATE OF day ON jobs FOR EACH ROW
EXECUTE FUNCTION refuse('jobs: what a job was started with does not change');

CREATE TRIGGER api_keys_keep_maker BEFORE UPDATE OF maker_id ON api_keys FOR EACH ROW
EXECUTE FUNCTION refuse('api_keys: the maker of a key does not change');

CREATE OR REPLACE FUNCTION jobs_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO forgotten_jobs (number, job_id, key_id) SELECT number, job_id, key_id FROM removed WHERE credits_held > 0;
  UPDATE accounts AS a SET forgotten_count = a.forgotten_count + n.jobs, forgotten_up_to = greatest(a.forgotten_up_to, n.last)
  FROM (SELECT account_id, count(*) AS jobs, max(ordinal) AS last FROM removed GROUP BY account_id) AS n WHERE a.account_id = n.account_id;
  RETURN NULL;
END $$;

-- Limits of keys and accounts. Programs without it would let a key spend more than it may.

-- JSON of what is limited; null for no limit. A key that another key made counts against the limits of that key, too.
ALTER TABLE accounts ADD COLUMN limits TEXT CHECK (json_valid(limits));
ALTER TABLE api_keys ADD COLUMN limits TEXT CHECK (json_valid(limits));
ALTER TABLE api_keys ADD COLUMN maker_id TEXT REFERENCES api_keys (key_id);

CREATE INDEX api_keys_by_maker ON api_keys (maker_id) WHERE maker_id IS NOT NULL;

-- The day of the start, in the time zone of the installation at that time; null for jobs that were started before there were limits.
ALTER TABLE jobs ADD COLUMN day TEXT CHECK (length(day) = 10);

-- The key of a job that is forgotten; null for those that were forgotten before.
ALTER TABLE forgotten_jobs ADD COLUMN key_id TEXT;

-- What the jobs of a day hold and were charged, for each key (with those of the keys that it made) and each account; the empty day
-- has all days together. Kept by triggers, in the transaction that moves the credits.
CREATE TABLE spending (
  owner TEXT NOT NULL,
  day TEXT NOT NULL CHECK (day = '' OR length(day) = 10),
  held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
  charged INTEGER NOT NULL DEFAULT 0 CHECK (charged >= 0),
  PRIMARY KEY (owner, day)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER jobs_hold_spending AFTER INSERT ON jobs
WHEN NEW.day IS NOT NULL AND NEW.credits_held > 0
BEGIN
  INSERT INTO spending (owner, day, held)
  SELECT NEW.account_id, NEW.day, NEW.credits_held UNION ALL SELECT NEW.account_id, '', NEW.credits_held
  UNION ALL SELECT NEW.key_id, NEW.day, NEW.credits_held UNION ALL SELECT NEW.key_id, '', NEW.credits_held
  UNION ALL SELECT maker_id, NEW.day, NEW.credits_held FROM api_keys WHERE key_id = NEW.key_id AND maker_id IS NOT NULL
  UNION ALL SELECT maker_id, '', NEW.credits_held FROM api_keys WHERE key_id = NEW.key_id AND maker_id IS NOT NULL
  ON CONFLICT (owner, day) DO UPDATE SET held = held + excluded.held;
END;

CREATE TRIGGER jobs_settle_spending AFTER UPDATE OF credits_charged, credits_released ON jobs
WHEN NEW.day IS NOT NULL AND NEW.credits_charged + NEW.credits_released > OLD.credits_charged + OLD.credits_released
BEGIN
  UPDATE spending SET held = held - NEW.credits_held, charged = charged + NEW.credits_charged
  WHERE (day = NEW.day OR day = '')
    AND owner IN (SELECT NEW.account_id UNION ALL SELECT NEW.key_id UNION ALL SELECT maker_id FROM api_keys WHERE key_id = NEW.key_id);
END;

CREATE TRIGGER jobs_keep_day BEFORE UPDATE OF day ON jobs
BEGIN
  SELECT RAISE(ABORT, 'jobs: what a job was started with does not change');
END;

CREATE TRIGGER api_keys_keep_maker BEFORE UPDATE OF maker_id ON api_keys
BEGIN
  SELECT RAISE(ABORT, 'api_keys: the maker of a key does not change');
END;

DROP TRIGGER jobs_forgotten;
CREATE TRIGGER jobs_forgotten AFTER DELETE ON jobs
BEGIN
  INSERT INTO forgotten_jobs (number, job_id, key_id) SELECT OLD.number, OLD.job_id, OLD.key_id WHERE OLD.credits_held > 0;
  UPDATE accounts SET forgotten_count = forgotten_count + 1, forgotten_up_to = max(forgotten_up_to, OLD.ordinal)
  WHERE account_id = OLD.account_id;
END;

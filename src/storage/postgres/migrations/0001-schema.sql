-- The schema. As in SQLite, the database itself refuses money that does not add up and jobs that leave the path of their states:
-- the checks and triggers restate src/core/ledger.ts, job.ts, fair-queue.ts and loss.ts. Times are milliseconds since 1970.
--
-- Whoever changes balances or jobs locks the rows of the accounts first, in the order of their ids; then no two wait for each other.

-- The time in milliseconds: of this server, or the one that a test holds.
CREATE FUNCTION now_ms(held BIGINT) RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(held, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;

-- The last transaction of each slot of a process: who loses the connection while it commits can ask. Rows of processes that are no
-- more are removed after a day.
CREATE TABLE commits (
  slot TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  n BIGINT NOT NULL,
  used_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Accounts and keys

-- A balance changes only through an entry of the ledger (triggers below). `job_count` are all jobs that it ever started; of those
-- with ordinals above `forgotten_up_to`, none was forgotten.
CREATE TABLE accounts (
  account_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  available BIGINT NOT NULL DEFAULT 0 CHECK (available >= 0),
  held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
  entry_count BIGINT NOT NULL DEFAULT 0 CHECK (entry_count >= 0),
  job_count BIGINT NOT NULL DEFAULT 0 CHECK (job_count >= 0),
  queued_jobs BIGINT NOT NULL DEFAULT 0 CHECK (queued_jobs BETWEEN 0 AND job_count),
  forgotten_count BIGINT NOT NULL DEFAULT 0 CHECK (forgotten_count BETWEEN 0 AND forgotten_up_to),
  forgotten_up_to BIGINT NOT NULL DEFAULT 0 CHECK (forgotten_up_to <= job_count),
  created_at BIGINT NOT NULL,
  CHECK (available + held <= 9007199254740991)
) WITH (fillfactor = 50);

CREATE TABLE api_keys (
  key_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id),
  name TEXT,
  -- How its text begins.
  prefix TEXT NOT NULL,
  secret_hash BYTEA NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
  permissions TEXT NOT NULL CHECK (permissions::json IS NOT NULL),
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  -- Written at most once a minute.
  last_used_at BIGINT
);

CREATE INDEX api_keys_by_account ON api_keys (account_id, key_id);

-- Token buckets of keys. `full_at` is when the bucket would be full again, in milliseconds: a bucket that is full need not be kept.
CREATE TABLE rate_buckets (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  full_at DOUBLE PRECISION NOT NULL
);

CREATE INDEX rate_buckets_by_full_at ON rate_buckets (full_at);

CREATE TABLE signing_keys (
  purpose TEXT NOT NULL CHECK (purpose IN ('quote', 'asset')),
  number BIGINT NOT NULL CHECK (number > 0),
  secret BYTEA NOT NULL CHECK (length(secret) = 32),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (purpose, number)
);

-- Jobs

CREATE SEQUENCE job_numbers;

-- `number` is about the order in which jobs were queued; `ordinal` counts those of the account from 1. The generated columns name the
-- entries that the job's money demands; their foreign keys are checked at commit.
CREATE TABLE jobs (
  number BIGINT NOT NULL PRIMARY KEY,
  job_id TEXT COLLATE "C" NOT NULL UNIQUE,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id),
  ordinal BIGINT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'canceled', 'expired', 'needs_review')),
  model TEXT COLLATE "C" NOT NULL,
  quote_id TEXT NOT NULL,
  idempotency_key TEXT COLLATE "C" NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
  request_digest BYTEA NOT NULL CHECK (length(request_digest) = 32),
  progress DOUBLE PRECISION NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
  credits_held BIGINT NOT NULL CHECK (credits_held BETWEEN 0 AND 9007199254740991),
  credits_charged BIGINT NOT NULL DEFAULT 0 CHECK (credits_charged >= 0),
  credits_released BIGINT NOT NULL DEFAULT 0 CHECK (credits_released >= 0),
  outputs TEXT NOT NULL DEFAULT '[]' CHECK (outputs = '[]' OR outputs::json IS NOT NULL),
  error TEXT CHECK (error IS NULL OR error::json IS NOT NULL),
  checkpoint TEXT CHECK (checkpoint IS NULL OR checkpoint::json IS NOT NULL),
  -- What may be done with a run that is lost, as its engine said with its last checkpoint.
  after_loss TEXT NOT NULL DEFAULT 'again' CHECK (after_loss IN ('again', 'continue', 'never')),
  attempts BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  token BIGINT NOT NULL DEFAULT 0 CHECK (token >= 0),
  worker TEXT,
  lease_until BIGINT,
  -- A draft picture; only while the job runs.
  preview_key TEXT CHECK (preview_key IS NULL OR status = 'running'),
  cancel_requested BIGINT NOT NULL DEFAULT 0 CHECK (cancel_requested IN (0, 1)),
  sequence BIGINT NOT NULL DEFAULT 1 CHECK (sequence > 0),
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT,
  hold_entry TEXT GENERATED ALWAYS AS (CASE WHEN credits_held > 0 THEN 'hold' END) STORED,
  charge_entry TEXT GENERATED ALWAYS AS (CASE WHEN credits_charged > 0 THEN 'charge' END) STORED,
  release_entry TEXT GENERATED ALWAYS AS (CASE WHEN credits_released > 0 THEN 'release' END) STORED,
  -- What the start says, and what the model said at that time. `fair` is the job's key in the queue of its model.
  priority BIGINT NOT NULL DEFAULT 0 CHECK (priority BETWEEN -10 AND 10),
  fair DOUBLE PRECISION NOT NULL DEFAULT 0 CHECK (fair >= 0),
  max_attempts BIGINT NOT NULL DEFAULT 3 CHECK (max_attempts > 0),
  deadline_at BIGINT CHECK (status <> 'expired' OR (deadline_at IS NOT NULL AND started_at IS NULL)),
  -- Runs that were lost or failed, and were followed by another.
  lost_runs BIGINT NOT NULL DEFAULT 0
    CHECK (lost_runs BETWEEN 0 AND attempts AND lost_runs <= max_attempts AND (lost_runs < max_attempts OR status <> 'queued')),
  -- When a queued job that waits may be tried. A sweep clears it when the time has come, so that claims need not look at it.
  available_at BIGINT CHECK (available_at IS NULL OR status = 'queued'),
  -- How long the outputs are kept, as it was said at the start; null for ever.
  retain_ms BIGINT CHECK (retain_ms > 0),
  -- The key that started it, and the price of its usage, complete; null charges what is held.
  key_id TEXT NOT NULL,
  usage_price TEXT CHECK (usage_price IS NULL OR usage_price::json IS NOT NULL),
  -- 0 while the files of the outputs are there, 1 when they are to be removed (from `removal_at` on), 2 when they have been. The
  -- input goes with them. The record stays.
  outputs_gone BIGINT NOT NULL DEFAULT 0 CHECK (outputs_gone BETWEEN 0 AND 2),
  removal_at BIGINT CHECK ((removal_at IS NOT NULL) = (outputs_gone = 1)),
  -- When its owner deleted it, which takes its outputs and its input away.
  deleted_at BIGINT CHECK (deleted_at IS NULL OR (outputs_gone > 0 AND deleted_at >= finished_at)),
  expires_at BIGINT GENERATED ALWAYS AS (CASE WHEN finished_at IS NOT NULL AND status <> 'needs_review' THEN finished_at + retain_ms END) STORED,
  UNIQUE (account_id, idempotency_key),
  CONSTRAINT settled_exactly CHECK (
    CASE
      WHEN status IN ('queued', 'running', 'needs_review') THEN credits_charged = 0 AND credits_released = 0
      ELSE credits_charged + credits_released = credits_held
    END
  ),
  CONSTRAINT only_success_costs CHECK (credits_charged = 0 OR status = 'succeeded'),
  CONSTRAINT progress_ends_with_success CHECK ((status = 'succeeded') = (progress = 1)),
  CONSTRAINT finished_when_terminal CHECK ((finished_at IS NULL) = (status IN ('queued', 'running'))),
  CONSTRAINT leased_while_running CHECK ((lease_until IS NOT NULL) = (worker IS NOT NULL) AND (worker IS NOT NULL) = (status = 'running')),
  CONSTRAINT never_means_review CHECK (CASE status WHEN 'queued' THEN after_loss <> 'never' WHEN 'needs_review' THEN after_loss = 'never' ELSE TRUE END),
  CONSTRAINT queued_without_cancel CHECK (cancel_requested = 0 OR status <> 'queued'),
  CONSTRAINT failure_has_error CHECK (
    CASE
      WHEN status IN ('queued', 'running', 'succeeded') THEN error IS NULL
      WHEN status = 'needs_review' THEN TRUE
      ELSE error IS NOT NULL
    END
  )
)
-- A claim begins among the entries of jobs that were claimed before. By itself PostgreSQL leaves them until a fifth of all stored jobs
-- has changed, and even then cleans no index for few pages.
WITH (fillfactor = 70, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.005, vacuum_index_cleanup = on);

-- Lists newest first, and counts by model, without touching the rows.
CREATE UNIQUE INDEX jobs_by_account ON jobs (account_id, ordinal) INCLUDE (model, deleted_at);
-- Lists by any status but the usual last one; also what is unsettled.
CREATE INDEX jobs_by_status ON jobs (account_id, status, deleted_at) WHERE status <> 'succeeded';
-- What lists leave out.
CREATE INDEX jobs_deleted ON jobs (account_id, ordinal) WHERE deleted_at IS NOT NULL;
CREATE INDEX jobs_of_status ON jobs (status, number) WHERE status <> 'succeeded';
-- Claims, and positions in the queue: in the order of the key.
CREATE INDEX jobs_queued ON jobs (model, priority DESC, fair, number) WHERE status = 'queued' AND available_at IS NULL;
-- What a sweep looks for.
CREATE INDEX jobs_by_lease ON jobs (lease_until) WHERE status = 'running';
CREATE INDEX jobs_by_deadline ON jobs (deadline_at) WHERE status = 'queued' AND deadline_at IS NOT NULL;
CREATE INDEX jobs_by_retry ON jobs (available_at) WHERE available_at IS NOT NULL;
CREATE INDEX jobs_in_review ON jobs (finished_at) WHERE status = 'needs_review';
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE outputs_gone = 0 AND expires_at IS NOT NULL;
CREATE INDEX jobs_removing ON jobs (removal_at) WHERE removal_at IS NOT NULL;

-- Apart from the jobs, because an input may have a megabyte. `brief` is the input without its large values, null where it has none.
CREATE TABLE job_inputs (
  number BIGINT NOT NULL PRIMARY KEY REFERENCES jobs (number),
  brief TEXT,
  input TEXT NOT NULL
);

-- What was submitted to other servers, and what it cost; it stays when the job has ended, and when it is forgotten. Without an end
-- it may still run there.
CREATE TABLE upstream_runs (
  job_number BIGINT NOT NULL,
  n BIGINT NOT NULL CHECK (n > 0),
  provider TEXT NOT NULL,
  upstream_id TEXT,
  verdict TEXT NOT NULL CHECK (verdict IN ('submitting', 'accepted', 'refused', 'unknown', 'succeeded', 'failed', 'canceled')),
  submitted_at BIGINT NOT NULL,
  ended_at BIGINT,
  cost TEXT,
  cost_amount DOUBLE PRECISION,
  cost_currency TEXT,
  PRIMARY KEY (job_number, n),
  CONSTRAINT ended_by_verdict CHECK ((ended_at IS NULL) = (verdict IN ('submitting', 'accepted', 'unknown')))
);

CREATE INDEX upstream_runs_by_id ON upstream_runs (provider, upstream_id) WHERE upstream_id IS NOT NULL;
-- Whose answers are awaited.
CREATE INDEX upstream_runs_submitting ON upstream_runs (provider, submitted_at) WHERE verdict = 'submitting';

-- What other servers are still to be asked: about a run of unknown outcome, or to end one whose job has ended (with the checkpoint
-- that it had). `fence` is the job's sequence when it was owed: with `attempts` it fences the answer.
CREATE TABLE upstream_duties (
  job_number BIGINT NOT NULL PRIMARY KEY REFERENCES jobs (number),
  kind TEXT NOT NULL CHECK (kind IN ('reconcile', 'cancel')),
  checkpoint TEXT CHECK (checkpoint IS NULL OR checkpoint::json IS NOT NULL),
  fence BIGINT NOT NULL,
  owed_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0)
);

CREATE INDEX upstream_duties_due ON upstream_duties (due_at);

-- The ledger

-- Append-only. `number` counts from 1 within the account without a gap, so that a missing line shows. The job of an entry is there
-- when the entry is written; it may be forgotten later, then `forgotten_jobs` has its id.
CREATE TABLE ledger_entries (
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id),
  number BIGINT NOT NULL CHECK (number > 0),
  entry_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'hold', 'charge', 'release', 'adjust')),
  job_number BIGINT,
  credits BIGINT NOT NULL,
  available_after BIGINT NOT NULL CHECK (available_after >= 0),
  held_after BIGINT NOT NULL CHECK (held_after >= 0),
  note TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, number),
  -- A hold is made once and resolved once: at most one entry of each kind a job.
  CONSTRAINT ledger_entries_by_job UNIQUE (job_number, kind),
  CHECK (CASE kind WHEN 'adjust' THEN credits <> 0 ELSE credits > 0 END),
  CHECK (credits BETWEEN -9007199254740991 AND 9007199254740991),
  CHECK (available_after + held_after <= 9007199254740991),
  CHECK ((kind IN ('hold', 'charge', 'release')) = (job_number IS NOT NULL))
);

ALTER TABLE jobs
  ADD FOREIGN KEY (number, hold_entry) REFERENCES ledger_entries (job_number, kind) DEFERRABLE INITIALLY DEFERRED,
  ADD FOREIGN KEY (number, charge_entry) REFERENCES ledger_entries (job_number, kind) DEFERRABLE INITIALLY DEFERRED,
  ADD FOREIGN KEY (number, release_entry) REFERENCES ledger_entries (job_number, kind) DEFERRABLE INITIALLY DEFERRED;

-- The ids of jobs whose rows were removed (`MEDIAGEN_KEEP_JOBS_DAYS`), while the ledger names them for ever. Jobs that cost nothing
-- have no entries and are not here.
CREATE TABLE forgotten_jobs (
  number BIGINT NOT NULL PRIMARY KEY,
  job_id TEXT COLLATE "C" NOT NULL
);

-- Refuses the statement with the text that the trigger names.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- What accounts refuse

CREATE TRIGGER accounts_begin_empty BEFORE INSERT ON accounts FOR EACH ROW
WHEN (NEW.available <> 0 OR NEW.held <> 0 OR NEW.entry_count <> 0 OR NEW.job_count <> 0 OR NEW.queued_jobs <> 0
  OR NEW.forgotten_count <> 0 OR NEW.forgotten_up_to <> 0)
EXECUTE FUNCTION refuse('accounts: a new account is empty; credits come by an entry of the ledger');

CREATE FUNCTION accounts_follow_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.entry_count <= OLD.entry_count OR NOT EXISTS (
    SELECT 1 FROM ledger_entries AS e WHERE e.account_id = NEW.account_id AND e.number = NEW.entry_count
      AND e.available_after = NEW.available AND e.held_after = NEW.held
  ) THEN
    RAISE EXCEPTION 'accounts: a balance changes only by the next entry of the ledger' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER accounts_follow_ledger BEFORE UPDATE OF available, held, entry_count ON accounts FOR EACH ROW
EXECUTE FUNCTION accounts_follow_ledger();

CREATE TRIGGER accounts_keep_identity BEFORE UPDATE ON accounts FOR EACH ROW
WHEN (NEW.account_id <> OLD.account_id OR NEW.created_at <> OLD.created_at)
EXECUTE FUNCTION refuse('accounts: id and time of creation do not change');

CREATE TRIGGER accounts_stay BEFORE DELETE ON accounts FOR EACH ROW
EXECUTE FUNCTION refuse('accounts: an account is never deleted');

-- What the ledger refuses

-- Moves balances by the entries of a statement, each account once, or refuses entries that do not follow from the balance of their
-- account or from the money of their job. Its plans are made once a connection, maybe while the tables are small.
CREATE FUNCTION ledger_entries_move_balance() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM added AS e WHERE e.job_number IS NOT NULL AND e.credits IS DISTINCT FROM (
      SELECT CASE e.kind WHEN 'hold' THEN j.credits_held WHEN 'charge' THEN j.credits_charged ELSE j.credits_released END
      FROM jobs AS j WHERE j.number = e.job_number AND j.account_id = e.account_id
    )
  ) THEN
    RAISE EXCEPTION 'ledger_entries: the entry does not match the money of its job' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF EXISTS (
    SELECT 1 FROM (
      SELECT e.*, coalesce(lag(e.number) OVER w, a.entry_count) AS number_before,
        coalesce(lag(e.available_after) OVER w, a.available) AS available_before, coalesce(lag(e.held_after) OVER w, a.held) AS held_before
      FROM added AS e JOIN accounts AS a ON a.account_id = e.account_id WINDOW w AS (PARTITION BY e.account_id ORDER BY e.number)
    ) AS e
    WHERE e.number <> e.number_before + 1
      OR e.available_after <> e.available_before + CASE e.kind WHEN 'hold' THEN -e.credits WHEN 'charge' THEN 0 ELSE e.credits END
      OR e.held_after <> e.held_before + CASE e.kind WHEN 'hold' THEN e.credits WHEN 'charge' THEN -e.credits WHEN 'release' THEN -e.credits ELSE 0 END
  ) THEN
    RAISE EXCEPTION 'ledger_entries: the entry does not follow from the balance of the account' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  UPDATE accounts AS a SET available = e.available_after, held = e.held_after, entry_count = e.number
  FROM (SELECT DISTINCT ON (account_id) * FROM added ORDER BY account_id, number DESC) AS e WHERE a.account_id = e.account_id;
  RETURN NULL;
END $$;

CREATE TRIGGER ledger_entries_move_balance AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION ledger_entries_move_balance();

CREATE TRIGGER ledger_entries_stand BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW
EXECUTE FUNCTION refuse('ledger_entries: the ledger is append-only');

-- What jobs refuse

CREATE TRIGGER jobs_begin_queued BEFORE INSERT ON jobs FOR EACH ROW
WHEN (NEW.status <> 'queued' OR NEW.attempts <> 0 OR NEW.token <> 0 OR NEW.started_at IS NOT NULL)
EXECUTE FUNCTION refuse('jobs: a job begins queued');

CREATE TRIGGER jobs_begin_unlost BEFORE INSERT ON jobs FOR EACH ROW
WHEN (NEW.lost_runs <> 0 OR NEW.available_at IS NOT NULL)
EXECUTE FUNCTION refuse('jobs: a new job has lost no run and may begin at once');

-- Once for all rows of a statement, and so are the next ones: an account's row that a transaction changes for each job is walked
-- through in all its versions.
CREATE FUNCTION jobs_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE accounts_changed BIGINT;
BEGIN
  UPDATE accounts AS a SET job_count = n.last, queued_jobs = a.queued_jobs + n.jobs
  FROM (SELECT account_id, count(*) AS jobs, min(ordinal) AS first, max(ordinal) AS last FROM added GROUP BY account_id) AS n
  WHERE a.account_id = n.account_id AND n.first = a.job_count + 1 AND n.last = a.job_count + n.jobs;
  GET DIAGNOSTICS accounts_changed = ROW_COUNT;
  IF accounts_changed < (SELECT count(DISTINCT account_id) FROM added) THEN
    RAISE EXCEPTION 'jobs: ordinals of an account follow each other' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_counted AFTER INSERT ON jobs REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION jobs_counted();

CREATE FUNCTION jobs_recounted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts AS a SET queued_jobs = a.queued_jobs + n.jobs
  FROM (
    SELECT account_id, sum(change) AS jobs FROM (
      SELECT account_id, 1 AS change FROM now_so WHERE status = 'queued' UNION ALL SELECT account_id, -1 FROM was_so WHERE status = 'queued'
    ) AS changes GROUP BY account_id HAVING sum(change) <> 0
  ) AS n WHERE a.account_id = n.account_id;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_recounted AFTER UPDATE ON jobs REFERENCING OLD TABLE AS was_so NEW TABLE AS now_so FOR EACH STATEMENT
EXECUTE FUNCTION jobs_recounted();

CREATE TRIGGER jobs_fence_claims BEFORE UPDATE OF status ON jobs FOR EACH ROW
WHEN (OLD.status = 'queued' AND NEW.status = 'running' AND (NEW.token <= OLD.token OR NEW.attempts <= OLD.attempts OR NEW.started_at IS NULL))
EXECUTE FUNCTION refuse('jobs: a claim takes a new token, counts an attempt and notes the start');

CREATE TRIGGER jobs_count_on BEFORE UPDATE ON jobs FOR EACH ROW
WHEN (NEW.token < OLD.token OR NEW.attempts < OLD.attempts OR NEW.sequence < OLD.sequence)
EXECUTE FUNCTION refuse('jobs: token, attempts and sequence never go back');

CREATE TRIGGER jobs_keep_terms BEFORE UPDATE OF number, job_id, account_id, ordinal, model, quote_id, idempotency_key, request_digest, credits_held,
  created_at, priority, fair, max_attempts, deadline_at, retain_ms, key_id, usage_price ON jobs FOR EACH ROW
EXECUTE FUNCTION refuse('jobs: what a job was started with does not change');

-- Foreign keys refuse it as well while there is an input, a duty or a delivery. The newest job stays, as in SQLite.
CREATE FUNCTION jobs_stay() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF OLD.status NOT IN ('succeeded', 'failed', 'canceled', 'expired') OR OLD.outputs_gone <> 2
    OR OLD.number = (SELECT max(number) FROM jobs)
    OR (SELECT coalesce(sum(credits), 0) FROM ledger_entries WHERE job_number = OLD.number) <> 2 * OLD.credits_held
    OR EXISTS (SELECT 1 FROM upstream_runs WHERE job_number = OLD.number AND ended_at IS NULL)
  THEN
    RAISE EXCEPTION 'jobs: only a job that is settled, without files or a run elsewhere, and not the newest, is deleted'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER jobs_stay BEFORE DELETE ON jobs FOR EACH ROW
EXECUTE FUNCTION jobs_stay();

CREATE FUNCTION jobs_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO forgotten_jobs (number, job_id) SELECT number, job_id FROM removed WHERE credits_held > 0;
  UPDATE accounts AS a SET forgotten_count = a.forgotten_count + n.jobs, forgotten_up_to = greatest(a.forgotten_up_to, n.last)
  FROM (SELECT account_id, count(*) AS jobs, max(ordinal) AS last FROM removed GROUP BY account_id) AS n WHERE a.account_id = n.account_id;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_forgotten AFTER DELETE ON jobs REFERENCING OLD TABLE AS removed FOR EACH STATEMENT
EXECUTE FUNCTION jobs_forgotten();

-- Where a page of an account's jobs, newest first, begins: the ordinal of the job behind the first `skipped` ones. Ordinals have no
-- gaps down to the newest forgotten one, so only deleted jobs on the way are counted, and what was kept behind forgotten ones.
CREATE FUNCTION jobs_page_from(account TEXT, skipped BIGINT, with_deleted BOOLEAN) RETURNS BIGINT LANGUAGE plpgsql STABLE
SET enable_seqscan = off AS $$
DECLARE
  place BIGINT;
  gaps_up_to BIGINT;
  deleted BIGINT;
BEGIN
  SELECT job_count - skipped, forgotten_up_to INTO place, gaps_up_to FROM accounts WHERE account_id = account;
  IF NOT with_deleted THEN
    FOR deleted IN SELECT ordinal FROM jobs WHERE account_id = account AND deleted_at IS NOT NULL ORDER BY ordinal DESC LOOP
      EXIT WHEN deleted < place OR deleted <= gaps_up_to;
      place := place - 1;
    END LOOP;
  END IF;
  IF place > gaps_up_to THEN
    RETURN place;
  END IF;
  RETURN (
    SELECT ordinal FROM jobs WHERE account_id = account AND ordinal <= gaps_up_to AND (with_deleted OR deleted_at IS NULL)
    ORDER BY ordinal DESC LIMIT 1 OFFSET gaps_up_to - place
  );
END $$;

CREATE FUNCTION forgotten_jobs_follow() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM jobs WHERE number = NEW.number) OR NOT EXISTS (SELECT 1 FROM ledger_entries WHERE job_number = NEW.number) THEN
    RAISE EXCEPTION 'forgotten_jobs: only what the ledger names and is no more is remembered' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER forgotten_jobs_follow BEFORE INSERT ON forgotten_jobs FOR EACH ROW
EXECUTE FUNCTION forgotten_jobs_follow();

CREATE TRIGGER forgotten_jobs_stand BEFORE UPDATE OR DELETE ON forgotten_jobs FOR EACH ROW
EXECUTE FUNCTION refuse('forgotten_jobs: what is on record does not change, and is never deleted');

CREATE TRIGGER jobs_count_losses BEFORE UPDATE OF lost_runs ON jobs FOR EACH ROW
WHEN (NEW.lost_runs <> OLD.lost_runs
  AND NOT (OLD.status IN ('running', 'needs_review') AND NEW.status NOT IN ('running', 'needs_review') AND NEW.lost_runs = OLD.lost_runs + 1))
EXECUTE FUNCTION refuse('jobs: a run is lost once, when it or its review ends');

-- What may cost twice is never run twice. From review a job goes on only when it is known how.
CREATE TRIGGER jobs_run_again_if_allowed BEFORE UPDATE OF status ON jobs FOR EACH ROW
WHEN (OLD.status = 'running' AND NEW.status = 'queued' AND OLD.after_loss = 'never')
EXECUTE FUNCTION refuse('jobs: a job whose run may have cost money elsewhere is not queued again');

CREATE TRIGGER jobs_review_with_reason BEFORE UPDATE OF status ON jobs FOR EACH ROW
WHEN (OLD.status = 'running' AND NEW.status = 'needs_review' AND NEW.error IS NULL)
EXECUTE FUNCTION refuse('jobs: a job under review says why');

-- A record's times are in the order of its life, whatever the clock does.
CREATE TRIGGER jobs_age BEFORE UPDATE OF started_at, finished_at ON jobs FOR EACH ROW
WHEN (NEW.started_at < NEW.created_at OR NEW.finished_at < coalesce(NEW.started_at, NEW.created_at) OR NEW.finished_at < OLD.finished_at)
EXECUTE FUNCTION refuse('jobs: the times of a job are in the order of its life');

CREATE TRIGGER jobs_outputs_go_once BEFORE UPDATE OF outputs_gone ON jobs FOR EACH ROW
WHEN (NEW.outputs_gone <> OLD.outputs_gone + CASE NEW.outputs WHEN '[]' THEN 2 ELSE 1 END
  OR NEW.status NOT IN ('succeeded', 'failed', 'canceled', 'expired'))
EXECUTE FUNCTION refuse('jobs: outputs are said to be gone, then removed, and do not come back');

CREATE TRIGGER jobs_stay_deleted BEFORE UPDATE OF deleted_at ON jobs FOR EACH ROW
WHEN (OLD.deleted_at IS NOT NULL)
EXECUTE FUNCTION refuse('jobs: a job is deleted once and does not come back');

CREATE FUNCTION jobs_inputs_go_with_outputs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM job_inputs WHERE number = NEW.number;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_inputs_go_with_outputs AFTER UPDATE OF outputs_gone ON jobs FOR EACH ROW
WHEN (OLD.outputs_gone = 0)
EXECUTE FUNCTION jobs_inputs_go_with_outputs();

CREATE FUNCTION job_inputs_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM jobs WHERE number = OLD.number AND outputs_gone = 0) THEN
    RAISE EXCEPTION 'job_inputs: an input stays as long as the outputs of its job' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER job_inputs_stay BEFORE DELETE ON job_inputs FOR EACH ROW
EXECUTE FUNCTION job_inputs_stay();

CREATE TRIGGER jobs_follow_states BEFORE UPDATE OF status ON jobs FOR EACH ROW
WHEN (NEW.status <> OLD.status AND NOT CASE OLD.status
  WHEN 'queued' THEN NEW.status IN ('running', 'canceled', 'expired')
  WHEN 'running' THEN NEW.status IN ('succeeded', 'failed', 'canceled', 'queued', 'needs_review')
  WHEN 'needs_review' THEN NEW.status IN ('succeeded', 'failed', 'queued')
  ELSE FALSE
END)
EXECUTE FUNCTION refuse('jobs: this state may not follow that state');

CREATE TRIGGER jobs_settle_once BEFORE UPDATE OF status, credits_charged, credits_released ON jobs FOR EACH ROW
WHEN (OLD.status IN ('succeeded', 'failed', 'canceled', 'expired'))
EXECUTE FUNCTION refuse('jobs: a settled job stays as it is');

CREATE TRIGGER job_inputs_stand BEFORE UPDATE ON job_inputs FOR EACH ROW
EXECUTE FUNCTION refuse('job_inputs: what a job was started with does not change');

-- Whether a text of a JSON value has these characters, in upper or lower case of ASCII.
CREATE FUNCTION has_words(input TEXT, pattern TEXT) RETURNS BOOLEAN LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM jsonb_path_query(input::jsonb, 'strict $.**') AS value
    WHERE jsonb_typeof(value) = 'string' AND (value #>> '{}') COLLATE "C" ILIKE pattern
  );
EXCEPTION WHEN untranslatable_character THEN
  -- A JSON text may have characters that a jsonb may not.
  RETURN input COLLATE "C" ILIKE pattern;
END $$;

-- The queue

-- How far the queue of a model has come, in credits.
CREATE TABLE queues (
  model TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  virtual_time DOUBLE PRECISION NOT NULL DEFAULT 0 CHECK (virtual_time >= 0)
) WITH (fillfactor = 50);

-- Where the last queued job of an account ends in the queue of a model.
CREATE TABLE queue_shares (
  model TEXT COLLATE "C" NOT NULL REFERENCES queues (model),
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id),
  finish DOUBLE PRECISION NOT NULL CHECK (finish >= 0),
  PRIMARY KEY (model, account_id)
) WITH (fillfactor = 50);

-- The places of queued jobs, as far as they are told: 100 means that or later. One walk along the index of claims serves all jobs of
-- a model: it begins among entries of claimed jobs that are not vacuumed yet. A job that is asked for comes before itself in the
-- walk, so as not to be counted.
CREATE FUNCTION queue_places(numbers BIGINT[]) RETURNS TABLE (number BIGINT, nth BIGINT) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  IF numbers = '{}' THEN
    RETURN;
  END IF;
  RETURN QUERY WITH asked AS (SELECT model, priority, fair, number FROM jobs WHERE number = ANY(numbers))
  SELECT number, nth FROM (
    SELECT number, is_asked, 1 + count(*) FILTER (WHERE NOT is_asked) OVER (
      PARTITION BY model ORDER BY priority DESC, fair, number, is_asked DESC ROWS UNBOUNDED PRECEDING) AS nth
    FROM (
      SELECT model, priority, fair, number, TRUE AS is_asked FROM asked
      UNION ALL SELECT q.*, FALSE FROM (SELECT DISTINCT model FROM asked) AS m CROSS JOIN LATERAL (
        SELECT model, priority, fair, number FROM jobs WHERE status = 'queued' AND available_at IS NULL AND model = m.model
        ORDER BY priority DESC, fair, number LIMIT 99
      ) AS q
    ) AS ranked
  ) AS counted WHERE is_asked;
END $$;

CREATE TRIGGER queues_move_on BEFORE UPDATE ON queues FOR EACH ROW
WHEN (NEW.virtual_time < OLD.virtual_time OR NEW.model <> OLD.model)
EXECUTE FUNCTION refuse('queues: virtual time never goes back');

-- The process that sweeps for all, if any.
CREATE TABLE leaders (
  one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
);

-- Webhooks

-- A deleted endpoint stays without its secret until its last delivery is deleted. `next_due_at` and `delivery_count` are kept by
-- triggers; `claimed_at` lets endpoints take turns.
CREATE TABLE webhooks (
  webhook_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id),
  url TEXT NOT NULL,
  description TEXT,
  include_input BIGINT NOT NULL DEFAULT 0 CHECK (include_input IN (0, 1)),
  secret BYTEA CHECK (length(secret) BETWEEN 24 AND 64),
  created_at BIGINT NOT NULL,
  disabled_at BIGINT,
  deleted_at BIGINT,
  next_due_at BIGINT,
  claimed_at BIGINT NOT NULL DEFAULT 0,
  delivery_count BIGINT NOT NULL DEFAULT 0 CHECK (delivery_count >= 0),
  -- Places of a sender go to endpoints that answer promptly. Each attempt rates its endpoint (deliveries.ts): a prompt one adds 1,
  -- up to 1, a slow one sets it to -10.
  standing BIGINT NOT NULL DEFAULT 0 CHECK (standing BETWEEN -10 AND 1),
  CONSTRAINT secret_until_deleted CHECK ((secret IS NULL) = (deleted_at IS NOT NULL))
);

CREATE INDEX webhooks_by_account ON webhooks (account_id, webhook_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (webhook_id) WHERE deleted_at IS NOT NULL AND delivery_count = 0;
CREATE INDEX webhooks_due ON webhooks ((standing > 0), next_due_at) WHERE next_due_at IS NOT NULL;

-- Accounts take turns, however many endpoints each has; the endpoints of an account take turns among themselves (`claimed_at`).
CREATE TABLE webhook_turns (
  account_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  claimed_at BIGINT NOT NULL
);

-- A delivery is written by the very statement that ends its job (jobs_tell_webhooks), so no end is lost and none is told that did
-- not happen. Finished deliveries are deleted after a time (sweeps), and nothing else is.
-- `due_at` is when the next attempt may be made: after a failure the end of its delay, during an attempt the end of its lease.
-- `attempt` counts since somebody last asked to deliver; `attempts` is the record of all, as JSON.
-- `error` is why it is not delivered yet, or never was, in words.
-- `job_then` keeps what a later change of the job would overwrite; only a job under review changes after it ended.
CREATE TABLE webhook_deliveries (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  delivery_id TEXT COLLATE "C" NOT NULL UNIQUE,
  webhook_id TEXT COLLATE "C" NOT NULL REFERENCES webhooks (webhook_id),
  job_number BIGINT NOT NULL REFERENCES jobs (number),
  event TEXT NOT NULL CHECK (event IN ('job.succeeded', 'job.failed', 'job.canceled', 'job.expired', 'job.needs_review')),
  job_then TEXT CHECK (job_then IS NULL OR job_then::json IS NOT NULL),
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  due_at BIGINT,
  attempt BIGINT NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  attempts TEXT NOT NULL DEFAULT '[]' CHECK (attempts::json IS NOT NULL),
  error TEXT,
  token BIGINT NOT NULL DEFAULT 0 CHECK (token >= 0),
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  -- When `due_at` was set: a wait that seems to begin in the future began before the clock went back, and begins anew (sweeps).
  waits_since BIGINT NOT NULL DEFAULT 0,
  -- Set during an attempt, until its lease ends (`due_at`): whether the endpoint was known to answer promptly.
  claimed_as TEXT CHECK (claimed_as IN ('proven', 'unproven')),
  CONSTRAINT claimed_while_pending CHECK (claimed_as IS NULL OR status = 'pending'),
  CONSTRAINT due_while_pending CHECK ((due_at IS NOT NULL) = (status = 'pending') AND (finished_at IS NULL) = (status = 'pending'))
)
-- As for jobs: what is due is looked for among the entries of what was sent.
WITH (autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.005, vacuum_index_cleanup = on);

-- Claims: the delivery of an endpoint that has been due the longest.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE status = 'pending';
-- Attempts under way.
CREATE INDEX webhook_deliveries_claimed ON webhook_deliveries (webhook_id) WHERE claimed_as IS NOT NULL;
-- Lists newest first: of an endpoint, of its undelivered ones, of a job.
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_by_status ON webhook_deliveries (webhook_id, status, number) WHERE status <> 'delivered';
CREATE UNIQUE INDEX webhook_deliveries_by_job ON webhook_deliveries (job_number, webhook_id, event);
-- What a sweep looks for.
CREATE INDEX webhook_deliveries_by_wait ON webhook_deliveries (waits_since) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_by_end ON webhook_deliveries (finished_at) WHERE status <> 'pending';

-- The id sorts by time; a trigger cannot ask the id source of the program. An endpoint is locked, and looked at again, before it gets a
-- delivery: one that is being deleted has given up all that it could see.
CREATE FUNCTION jobs_tell_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_deliveries (delivery_id, webhook_id, job_number, event, job_then, due_at, waits_since, created_at)
  SELECT 'dlv_' || lpad(to_hex(j.finished_at), 12, '0') || right(replace(gen_random_uuid()::text, '-', ''), 20), w.webhook_id, j.number,
    'job.' || j.status,
    CASE j.status WHEN 'needs_review' THEN json_build_object('status', j.status, 'progress', j.progress, 'attempts', j.attempts,
      'creditsCharged', j.credits_charged, 'creditsReleased', j.credits_released, 'outputs', j.outputs::json, 'error', j.error::json,
      'finishedAtMs', j.finished_at, 'sequence', j.sequence)::text END,
    j.finished_at, j.finished_at, j.finished_at
  FROM now_so AS j JOIN was_so AS o ON o.number = j.number AND o.status <> j.status
  JOIN webhooks AS w ON w.account_id = j.account_id AND w.deleted_at IS NULL AND w.disabled_at IS NULL
  WHERE j.status IN ('succeeded', 'failed', 'canceled', 'expired', 'needs_review') ORDER BY j.number, w.webhook_id
  FOR NO KEY UPDATE OF w;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_tell_webhooks AFTER UPDATE ON jobs REFERENCING OLD TABLE AS was_so NEW TABLE AS now_so FOR EACH STATEMENT
EXECUTE FUNCTION jobs_tell_webhooks();

CREATE FUNCTION webhook_deliveries_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE webhooks SET delivery_count = delivery_count + 1, next_due_at = least(next_due_at, NEW.due_at) WHERE webhook_id = NEW.webhook_id;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE webhooks SET next_due_at = (SELECT min(due_at) FROM webhook_deliveries WHERE webhook_id = NEW.webhook_id AND status = 'pending')
    WHERE webhook_id = NEW.webhook_id;
  ELSE
    UPDATE webhooks SET delivery_count = delivery_count - 1 WHERE webhook_id = OLD.webhook_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER webhook_deliveries_counted AFTER INSERT OR DELETE OR UPDATE OF status, due_at ON webhook_deliveries FOR EACH ROW
EXECUTE FUNCTION webhook_deliveries_counted();

CREATE TRIGGER webhook_deliveries_keep_terms BEFORE UPDATE OF delivery_id, webhook_id, job_number, event, job_then, created_at
ON webhook_deliveries FOR EACH ROW
EXECUTE FUNCTION refuse('webhook_deliveries: what is delivered does not change');

CREATE TRIGGER webhooks_keep_terms BEFORE UPDATE OF webhook_id, account_id, url, include_input, created_at ON webhooks FOR EACH ROW
EXECUTE FUNCTION refuse('webhooks: an endpoint does not change; delete it and register another');

CREATE TRIGGER webhook_deliveries_stay_until_finished BEFORE DELETE ON webhook_deliveries FOR EACH ROW
WHEN (OLD.status = 'pending')
EXECUTE FUNCTION refuse('webhook_deliveries: what is not finished is not deleted');

-- Uploads

-- A row is written after its file is durable, and marked as gone before its file is removed, so that no row that is
-- shown has no file. It goes when the file has.
CREATE TABLE files (
  file_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id),
  key TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes BIGINT NOT NULL CHECK (bytes > 0),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL CHECK (expires_at > created_at),
  gone BIGINT NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)),
  -- When the removal of its file may be tried.
  removal_at BIGINT CHECK ((removal_at IS NOT NULL) = (gone = 1))
);

-- Lists newest first, and counts, without touching the rows.
CREATE INDEX files_by_account ON files (account_id, file_id, expires_at) WHERE gone = 0;
-- What sweeps look for: uploads whose time is over, and those whose files are to be removed.
CREATE INDEX files_expiring ON files (expires_at) WHERE gone = 0;
CREATE INDEX files_removing ON files (removal_at) WHERE removal_at IS NOT NULL;

-- What the uploads of an account take on the disk, kept by triggers. A small file counts as 64 KiB (src/core/upload.ts).
CREATE TABLE upload_totals (
  account_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  bytes BIGINT NOT NULL CHECK (bytes >= 0)
);

CREATE FUNCTION files_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE upload_totals SET bytes = bytes - greatest(OLD.bytes, 65536) WHERE account_id = OLD.account_id;
  ELSE
    INSERT INTO upload_totals AS t (account_id, bytes) VALUES (NEW.account_id, greatest(NEW.bytes, 65536))
    ON CONFLICT (account_id) DO UPDATE SET bytes = t.bytes + excluded.bytes;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER files_counted AFTER INSERT OR DELETE ON files FOR EACH ROW
EXECUTE FUNCTION files_counted();

CREATE TRIGGER files_keep_terms BEFORE UPDATE ON files FOR EACH ROW
WHEN (NEW.gone = 0 OR (OLD.gone = 1 AND NEW.removal_at = OLD.removal_at))
EXECUTE FUNCTION refuse('files: an upload does not change until it is gone, and does not come back');

CREATE TRIGGER files_go_first BEFORE DELETE ON files FOR EACH ROW
WHEN (OLD.gone = 0)
EXECUTE FUNCTION refuse('files: an upload is said to be gone before its file is removed');

-- The audit

-- What operators did: who, to what, and what was so before and after. Written in the transaction of the act, and never changed.
CREATE TABLE audit_entries (
  number BIGINT NOT NULL PRIMARY KEY,
  entry_id TEXT NOT NULL UNIQUE,
  actor TEXT NOT NULL,
  key_id TEXT COLLATE "C" REFERENCES api_keys (key_id),
  os_user TEXT,
  act TEXT NOT NULL CHECK (length(act) BETWEEN 1 AND 64),
  subject TEXT NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  account_id TEXT COLLATE "C" REFERENCES accounts (account_id),
  before TEXT CHECK (before IS NULL OR before::json IS NOT NULL),
  after TEXT CHECK (after IS NULL OR after::json IS NOT NULL),
  created_at BIGINT NOT NULL,
  CONSTRAINT somebody_acts CHECK (
    CASE actor
      WHEN 'key' THEN key_id IS NOT NULL AND os_user IS NULL
      WHEN 'command_line' THEN key_id IS NULL AND length(os_user) > 0
      WHEN 'system' THEN key_id IS NULL AND os_user IS NULL
      ELSE FALSE
    END
  )
);

CREATE INDEX audit_entries_by_account ON audit_entries (account_id, number) WHERE account_id IS NOT NULL;

CREATE TRIGGER audit_entries_stand BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW
EXECUTE FUNCTION refuse('audit_entries: what is on record is never changed or deleted');

-- Numbers have no gaps, so that a missing entry shows; that takes one writer at a time, until it commits.
CREATE FUNCTION audit_entries_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mediagen audit', 0));
  NEW.number := (SELECT coalesce(max(number), 0) + 1 FROM audit_entries);
  RETURN NEW;
END $$;

CREATE TRIGGER audit_entries_follow BEFORE INSERT ON audit_entries FOR EACH ROW
EXECUTE FUNCTION audit_entries_follow();

-- What workers share of a provider of media: nothing is submitted before either instant.
CREATE TABLE providers (
  provider TEXT NOT NULL PRIMARY KEY,
  paused_until BIGINT NOT NULL DEFAULT 0,
  next_at BIGINT NOT NULL DEFAULT 0
);

-- Runs at a provider. A row whose time is over does not count.
CREATE TABLE provider_places (
  provider TEXT NOT NULL,
  job_id TEXT NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (provider, job_id)
);

-- Ids of submissions whose answer was lost: told to our webhook, or found. Each belongs to one job.
CREATE TABLE found_submissions (
  job_id TEXT NOT NULL,
  n BIGINT NOT NULL CHECK (n >= 1),
  provider TEXT NOT NULL,
  upstream_id TEXT NOT NULL CHECK (length(upstream_id) BETWEEN 1 AND 255),
  PRIMARY KEY (job_id, n),
  UNIQUE (provider, upstream_id)
);

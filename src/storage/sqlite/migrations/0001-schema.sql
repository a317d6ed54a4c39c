-- The schema. The database itself refuses money that does not add up and jobs that leave the path of their states: the checks
-- and triggers restate src/core/ledger.ts, job.ts, fair-queue.ts and loss.ts. Times are milliseconds since 1970.
--
-- Checks and triggers on the path of a start compare with `=` and `OR`: SQLite builds a table for each list of IN with three or
-- more members, each time a row is written, which took a fifth of the time of a start.

-- Accounts and keys

-- A balance changes only through an entry of the ledger (triggers below). The counts make a list's total, the place of any page
-- and the limit of queued jobs a look at one row. `job_count` are all jobs that it ever started; of those with ordinals above
-- `forgotten_up_to`, none was forgotten.
CREATE TABLE accounts (
  account_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  available INTEGER NOT NULL DEFAULT 0 CHECK (available >= 0),
  held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
  entry_count INTEGER NOT NULL DEFAULT 0 CHECK (entry_count >= 0),
  job_count INTEGER NOT NULL DEFAULT 0 CHECK (job_count >= 0),
  queued_jobs INTEGER NOT NULL DEFAULT 0 CHECK (queued_jobs BETWEEN 0 AND job_count),
  forgotten_count INTEGER NOT NULL DEFAULT 0 CHECK (forgotten_count BETWEEN 0 AND forgotten_up_to),
  forgotten_up_to INTEGER NOT NULL DEFAULT 0 CHECK (forgotten_up_to <= job_count),
  created_at INTEGER NOT NULL,
  CHECK (available + held <= 9007199254740991)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  key_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  name TEXT,
  -- How its text begins.
  prefix TEXT NOT NULL,
  secret_hash BLOB NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
  permissions TEXT NOT NULL CHECK (json_valid(permissions)),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  -- Written at most once a minute.
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_by_account ON api_keys (account_id, key_id);

-- Token buckets of keys, while several processes serve. `full_at` is when the bucket would be full again, in milliseconds: a bucket
-- that is full need not be kept.
CREATE TABLE rate_buckets (
  name TEXT NOT NULL PRIMARY KEY,
  full_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX rate_buckets_by_full_at ON rate_buckets (full_at);

CREATE TABLE signing_keys (
  purpose TEXT NOT NULL CHECK (purpose IN ('quote', 'asset')),
  number INTEGER NOT NULL CHECK (number > 0),
  secret BLOB NOT NULL CHECK (length(secret) = 32),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (purpose, number)
) STRICT, WITHOUT ROWID;

-- Jobs

-- `number` is the order in which jobs were queued; `ordinal` counts those of the account from 1. Rows are too wide for WITHOUT ROWID,
-- and an integer keeps the indexes small.
-- The generated columns name the entries that the job's money demands; their foreign keys are checked at commit.
CREATE TABLE jobs (
  number INTEGER NOT NULL PRIMARY KEY,
  job_id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  ordinal INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status = 'queued' OR status = 'running' OR status = 'succeeded' OR status = 'failed' OR status = 'canceled' OR status = 'expired' OR status = 'needs_review'),
  model TEXT NOT NULL,
  quote_id TEXT NOT NULL,
  idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
  request_digest BLOB NOT NULL CHECK (length(request_digest) = 32),
  progress REAL NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
  credits_held INTEGER NOT NULL CHECK (credits_held BETWEEN 0 AND 9007199254740991),
  credits_charged INTEGER NOT NULL DEFAULT 0 CHECK (credits_charged >= 0),
  credits_released INTEGER NOT NULL DEFAULT 0 CHECK (credits_released >= 0),
  outputs TEXT NOT NULL DEFAULT '[]' CHECK (outputs = '[]' OR json_valid(outputs)),
  error TEXT CHECK (error IS NULL OR json_valid(error)),
  checkpoint TEXT CHECK (checkpoint IS NULL OR json_valid(checkpoint)),
  -- What may be done with a run that is lost, as its engine said with its last checkpoint.
  after_loss TEXT NOT NULL DEFAULT 'again' CHECK (after_loss = 'again' OR after_loss = 'continue' OR after_loss = 'never'),
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  token INTEGER NOT NULL DEFAULT 0 CHECK (token >= 0),
  worker TEXT,
  lease_until INTEGER,
  -- A draft picture; only while the job runs.
  preview_key TEXT CHECK (preview_key IS NULL OR status = 'running'),
  cancel_requested INTEGER NOT NULL DEFAULT 0 CHECK (cancel_requested IN (0, 1)),
  sequence INTEGER NOT NULL DEFAULT 1 CHECK (sequence > 0),
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  hold_entry TEXT GENERATED ALWAYS AS (CASE WHEN credits_held > 0 THEN 'hold' END) VIRTUAL,
  charge_entry TEXT GENERATED ALWAYS AS (CASE WHEN credits_charged > 0 THEN 'charge' END) VIRTUAL,
  release_entry TEXT GENERATED ALWAYS AS (CASE WHEN credits_released > 0 THEN 'release' END) VIRTUAL,
  -- What the start says, and what the model said at that time. `fair` is the job's key in the queue of its model.
  priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -10 AND 10),
  fair REAL NOT NULL DEFAULT 0 CHECK (fair >= 0),
  max_attempts INTEGER NOT NULL DEFAULT 3 CHECK (max_attempts > 0),
  deadline_at INTEGER CHECK (status <> 'expired' OR (deadline_at IS NOT NULL AND started_at IS NULL)),
  -- Runs that were lost or failed, and were followed by another. Runs that a stopping worker gave back are attempts, but not losses,
  -- and so are those that only waited for another server.
  lost_runs INTEGER NOT NULL DEFAULT 0
    CHECK (lost_runs BETWEEN 0 AND attempts AND lost_runs <= max_attempts AND (lost_runs < max_attempts OR status <> 'queued')),
  -- When a queued job that waits may be tried. A sweep clears it when the time has come, so that claims need not look at it.
  available_at INTEGER CHECK (available_at IS NULL OR status = 'queued'),
  -- How long the outputs are kept, as it was said at the start; null for ever.
  retain_ms INTEGER CHECK (retain_ms > 0),
  -- The key that started it, and the price of its usage, complete; null charges what is held.
  key_id TEXT NOT NULL,
  usage_price TEXT CHECK (usage_price IS NULL OR json_valid(usage_price)),
  -- 0 while the files of the outputs are there, 1 when they are to be removed (from `removal_at` on), 2 when they have been. The
  -- input goes with them. The record stays.
  outputs_gone INTEGER NOT NULL DEFAULT 0 CHECK (outputs_gone BETWEEN 0 AND 2),
  removal_at INTEGER CHECK ((removal_at IS NOT NULL) = (outputs_gone = 1)),
  -- When its owner deleted it, which takes its outputs and its input away.
  deleted_at INTEGER CHECK (deleted_at IS NULL OR (outputs_gone > 0 AND deleted_at >= finished_at)),
  expires_at INTEGER GENERATED ALWAYS AS (CASE WHEN finished_at IS NOT NULL AND status <> 'needs_review' THEN finished_at + retain_ms END) VIRTUAL,
  UNIQUE (account_id, idempotency_key),
  FOREIGN KEY (number, hold_entry) REFERENCES ledger_entries (job_number, kind) DEFERRABLE INITIALLY DEFERRED,
  FOREIGN KEY (number, charge_entry) REFERENCES ledger_entries (job_number, kind) DEFERRABLE INITIALLY DEFERRED,
  FOREIGN KEY (number, release_entry) REFERENCES ledger_entries (job_number, kind) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT settled_exactly CHECK (
    CASE
      WHEN status = 'queued' OR status = 'running' OR status = 'needs_review' THEN credits_charged = 0 AND credits_released = 0
      ELSE credits_charged + credits_released = credits_held
    END
  ),
  CONSTRAINT only_success_costs CHECK (credits_charged = 0 OR status = 'succeeded'),
  CONSTRAINT progress_ends_with_success CHECK ((status = 'succeeded') = (progress = 1)),
  CONSTRAINT finished_when_terminal CHECK ((finished_at IS NULL) = (status = 'queued' OR status = 'running')),
  CONSTRAINT leased_while_running CHECK ((lease_until IS NOT NULL) = (worker IS NOT NULL) AND (worker IS NOT NULL) = (status = 'running')),
  CONSTRAINT never_means_review CHECK (CASE status WHEN 'queued' THEN after_loss <> 'never' WHEN 'needs_review' THEN after_loss = 'never' ELSE TRUE END),
  CONSTRAINT queued_without_cancel CHECK (cancel_requested = 0 OR status <> 'queued'),
  CONSTRAINT failure_has_error CHECK (
    CASE
      WHEN status = 'queued' OR status = 'running' OR status = 'succeeded' THEN error IS NULL
      WHEN status = 'needs_review' THEN TRUE
      ELSE error IS NOT NULL
    END
  )
) STRICT;

-- Lists newest first, and counts by model, without touching the rows. Ordinals are unique, because each is the next
-- (accounts_count_jobs).
CREATE INDEX jobs_by_account ON jobs (account_id, ordinal, model, deleted_at);
-- Lists by any status but the usual last one; also what is unsettled.
CREATE INDEX jobs_by_status ON jobs (account_id, status, deleted_at) WHERE status <> 'succeeded';
-- What lists leave out.
CREATE INDEX jobs_deleted ON jobs (account_id, ordinal) WHERE deleted_at IS NOT NULL;
-- Claims, and positions in the queue: in the order of the key, without touching the rows.
CREATE INDEX jobs_queued ON jobs (model, priority DESC, fair, number, deadline_at) WHERE status = 'queued' AND available_at IS NULL;
-- What a sweep looks for.
CREATE INDEX jobs_by_lease ON jobs (lease_until) WHERE status = 'running';
CREATE INDEX jobs_by_deadline ON jobs (deadline_at) WHERE status = 'queued' AND deadline_at IS NOT NULL;
CREATE INDEX jobs_by_retry ON jobs (available_at) WHERE available_at IS NOT NULL;
CREATE INDEX jobs_in_review ON jobs (finished_at) WHERE status = 'needs_review';
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE outputs_gone = 0 AND expires_at IS NOT NULL;
CREATE INDEX jobs_removing ON jobs (removal_at) WHERE removal_at IS NOT NULL;

-- Apart from the jobs, because an input may have a megabyte and lists must not read it. `brief` is the input without its large
-- values, null where it has none; it comes first, so that reading it does not read the pages of a long input.
CREATE TABLE job_inputs (
  number INTEGER NOT NULL PRIMARY KEY REFERENCES jobs (number),
  brief TEXT,
  input TEXT NOT NULL
) STRICT;

-- What was submitted to other servers, and what it cost; it stays when the job has ended, and when it is forgotten. Without an end
-- it may still run there.
CREATE TABLE upstream_runs (
  job_number INTEGER NOT NULL,
  n INTEGER NOT NULL CHECK (n > 0),
  provider TEXT NOT NULL,
  upstream_id TEXT,
  verdict TEXT NOT NULL CHECK (verdict IN ('submitting', 'accepted', 'refused', 'unknown', 'succeeded', 'failed', 'canceled')),
  submitted_at INTEGER NOT NULL,
  ended_at INTEGER,
  cost TEXT,
  cost_amount REAL,
  cost_currency TEXT,
  PRIMARY KEY (job_number, n),
  CONSTRAINT ended_by_verdict CHECK ((ended_at IS NULL) = (verdict IN ('submitting', 'accepted', 'unknown')))
) STRICT, WITHOUT ROWID;

CREATE INDEX upstream_runs_by_id ON upstream_runs (provider, upstream_id) WHERE upstream_id IS NOT NULL;
-- Whose answers are awaited.
CREATE INDEX upstream_runs_submitting ON upstream_runs (provider, submitted_at) WHERE verdict = 'submitting';

-- What other servers are still to be asked: about a run of unknown outcome, or to end one whose job has ended (with the checkpoint
-- that it had). `fence` is the job's sequence when it was owed: with `attempts` it fences the answer.
CREATE TABLE upstream_duties (
  job_number INTEGER NOT NULL PRIMARY KEY REFERENCES jobs (number),
  kind TEXT NOT NULL CHECK (kind IN ('reconcile', 'cancel')),
  checkpoint TEXT CHECK (json_valid(checkpoint)),
  fence INTEGER NOT NULL,
  owed_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0)
) STRICT;

CREATE INDEX upstream_duties_due ON upstream_duties (due_at);

-- The ledger

-- Append-only. `number` counts from 1 within the account without a gap, so that a missing line shows. The job of an entry is there
-- when the entry is written; it may be forgotten later, then `forgotten_jobs` has its id.
CREATE TABLE ledger_entries (
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  number INTEGER NOT NULL CHECK (number > 0),
  entry_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'grant' OR kind = 'hold' OR kind = 'charge' OR kind = 'release' OR kind = 'adjust'),
  job_number INTEGER,
  credits INTEGER NOT NULL,
  available_after INTEGER NOT NULL CHECK (available_after >= 0),
  held_after INTEGER NOT NULL CHECK (held_after >= 0),
  note TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, number),
  CHECK (CASE kind WHEN 'adjust' THEN credits <> 0 ELSE credits > 0 END),
  CHECK (credits BETWEEN -9007199254740991 AND 9007199254740991),
  CHECK (available_after + held_after <= 9007199254740991),
  CHECK ((kind = 'hold' OR kind = 'charge' OR kind = 'release') = (job_number IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- A hold is made once and resolved once: at most one entry of each kind a job.
CREATE UNIQUE INDEX ledger_entries_by_job ON ledger_entries (job_number, kind);

-- The ids of jobs whose rows were removed (`MEDIAGEN_KEEP_JOBS_DAYS`), while the ledger names them for ever. Jobs that cost nothing
-- have no entries and are not here.
CREATE TABLE forgotten_jobs (
  number INTEGER NOT NULL PRIMARY KEY,
  job_id TEXT NOT NULL
) STRICT;

-- What accounts refuse

CREATE TRIGGER accounts_begin_empty BEFORE INSERT ON accounts
WHEN NEW.available <> 0 OR NEW.held <> 0 OR NEW.entry_count <> 0 OR NEW.job_count <> 0 OR NEW.queued_jobs <> 0
  OR NEW.forgotten_count <> 0 OR NEW.forgotten_up_to <> 0
BEGIN
  SELECT RAISE(ABORT, 'accounts: a new account is empty; credits come by an entry of the ledger');
END;

-- INSERT OR REPLACE would delete what it replaces without asking the triggers that refuse deletion.
CREATE TRIGGER accounts_not_replaced BEFORE INSERT ON accounts
WHEN EXISTS (SELECT 1 FROM accounts WHERE account_id = NEW.account_id)
BEGIN
  SELECT RAISE(ABORT, 'accounts: an account is never replaced');
END;

CREATE TRIGGER accounts_follow_ledger BEFORE UPDATE OF available, held, entry_count ON accounts
BEGIN
  SELECT RAISE(ABORT, 'accounts: a balance changes only by the next entry of the ledger')
  WHERE NOT EXISTS (
    SELECT 1 FROM ledger_entries AS e
    WHERE e.account_id = NEW.account_id AND e.number = NEW.entry_count AND NEW.entry_count = OLD.entry_count + 1
      AND e.available_after = NEW.available AND e.held_after = NEW.held
  );
END;

CREATE TRIGGER accounts_keep_identity BEFORE UPDATE OF account_id, created_at ON accounts
BEGIN
  SELECT RAISE(ABORT, 'accounts: id and time of creation do not change');
END;

-- By jobs_counted: so no ordinal is left out or given twice. A count that is too high can be mended.
CREATE TRIGGER accounts_count_jobs BEFORE UPDATE OF job_count ON accounts
WHEN NEW.job_count <> OLD.job_count + 1
  AND (NEW.job_count >= OLD.job_count OR EXISTS (SELECT 1 FROM jobs WHERE account_id = NEW.account_id AND ordinal > NEW.job_count))
BEGIN
  SELECT RAISE(ABORT, 'accounts: jobs are counted one by one, and each has the next ordinal');
END;

CREATE TRIGGER accounts_stay BEFORE DELETE ON accounts
BEGIN
  SELECT RAISE(ABORT, 'accounts: an account is never deleted');
END;

-- What the ledger refuses

CREATE TRIGGER ledger_entries_add_up BEFORE INSERT ON ledger_entries
BEGIN
  SELECT RAISE(ABORT, 'ledger_entries: the entry does not follow from the balance of the account')
  WHERE NOT EXISTS (
    SELECT 1 FROM accounts AS a
    WHERE a.account_id = NEW.account_id AND NEW.number = a.entry_count + 1
      AND NEW.available_after = a.available + CASE NEW.kind WHEN 'hold' THEN -NEW.credits WHEN 'charge' THEN 0 ELSE NEW.credits END
      AND NEW.held_after = a.held + CASE NEW.kind WHEN 'hold' THEN NEW.credits WHEN 'charge' THEN -NEW.credits WHEN 'release' THEN -NEW.credits ELSE 0 END
  );
  SELECT RAISE(ABORT, 'ledger_entries: the job has such an entry already')
  WHERE EXISTS (SELECT 1 FROM ledger_entries WHERE job_number = NEW.job_number AND kind = NEW.kind);
  SELECT RAISE(ABORT, 'ledger_entries: the entry does not match the money of its job')
  WHERE NEW.job_number IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM jobs AS j
    WHERE j.number = NEW.job_number AND j.account_id = NEW.account_id
      AND NEW.credits = CASE NEW.kind WHEN 'hold' THEN j.credits_held WHEN 'charge' THEN j.credits_charged ELSE j.credits_released END
  );
END;

CREATE TRIGGER ledger_entries_move_balance AFTER INSERT ON ledger_entries
BEGIN
  UPDATE accounts SET available = NEW.available_after, held = NEW.held_after, entry_count = NEW.number
  WHERE account_id = NEW.account_id;
END;

CREATE TRIGGER ledger_entries_stand BEFORE UPDATE ON ledger_entries
BEGIN
  SELECT RAISE(ABORT, 'ledger_entries: the ledger is append-only');
END;

CREATE TRIGGER ledger_entries_stay BEFORE DELETE ON ledger_entries
BEGIN
  SELECT RAISE(ABORT, 'ledger_entries: the ledger is append-only');
END;

-- What jobs refuse

CREATE TRIGGER jobs_begin_queued BEFORE INSERT ON jobs
WHEN NEW.status <> 'queued' OR NEW.attempts <> 0 OR NEW.token <> 0 OR NEW.started_at IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'jobs: a job begins queued');
END;

CREATE TRIGGER jobs_not_replaced BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM jobs WHERE job_id = NEW.job_id OR number = NEW.number)
  OR EXISTS (SELECT 1 FROM jobs WHERE account_id = NEW.account_id AND idempotency_key = NEW.idempotency_key)
BEGIN
  SELECT RAISE(ABORT, 'jobs: a job is never replaced');
END;

CREATE TRIGGER jobs_counted AFTER INSERT ON jobs
BEGIN
  UPDATE accounts SET job_count = NEW.ordinal, queued_jobs = queued_jobs + 1 WHERE account_id = NEW.account_id;
END;

CREATE TRIGGER jobs_leave_queue AFTER UPDATE OF status ON jobs
WHEN OLD.status = 'queued' AND NEW.status <> 'queued'
BEGIN
  UPDATE accounts SET queued_jobs = queued_jobs - 1 WHERE account_id = NEW.account_id;
END;

CREATE TRIGGER jobs_return_to_queue AFTER UPDATE OF status ON jobs
WHEN OLD.status <> 'queued' AND NEW.status = 'queued'
BEGIN
  UPDATE accounts SET queued_jobs = queued_jobs + 1 WHERE account_id = NEW.account_id;
END;

CREATE TRIGGER jobs_fence_claims BEFORE UPDATE OF status ON jobs
WHEN OLD.status = 'queued' AND NEW.status = 'running' AND (NEW.token <= OLD.token OR NEW.attempts <= OLD.attempts OR NEW.started_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'jobs: a claim takes a new token, counts an attempt and notes the start');
END;

CREATE TRIGGER jobs_count_on BEFORE UPDATE OF token, attempts, sequence ON jobs
WHEN NEW.token < OLD.token OR NEW.attempts < OLD.attempts OR NEW.sequence < OLD.sequence
BEGIN
  SELECT RAISE(ABORT, 'jobs: token, attempts and sequence never go back');
END;

CREATE TRIGGER jobs_keep_terms BEFORE UPDATE OF number, job_id, account_id, ordinal, model, quote_id, idempotency_key, request_digest, credits_held, created_at,
  priority, fair, max_attempts, deadline_at, retain_ms, key_id, usage_price ON jobs
BEGIN
  SELECT RAISE(ABORT, 'jobs: what a job was started with does not change');
END;

-- Foreign keys refuse it as well while there is an input, a duty or a delivery. The newest job stays, so that its number is not given
-- to another one. The index is named: statistics of a young ledger would let the planner scan the whole one.
CREATE TRIGGER jobs_stay BEFORE DELETE ON jobs
WHEN OLD.status NOT IN ('succeeded', 'failed', 'canceled', 'expired') OR OLD.outputs_gone <> 2
  OR OLD.number = (SELECT max(number) FROM jobs)
  OR (SELECT coalesce(sum(credits), 0) FROM ledger_entries INDEXED BY ledger_entries_by_job WHERE job_number = OLD.number) <> 2 * OLD.credits_held
  OR EXISTS (SELECT 1 FROM upstream_runs WHERE job_number = OLD.number AND ended_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'jobs: only a job that is settled, without files or a run elsewhere, and not the newest, is deleted');
END;

CREATE TRIGGER jobs_forgotten AFTER DELETE ON jobs
BEGIN
  INSERT INTO forgotten_jobs (number, job_id) SELECT OLD.number, OLD.job_id WHERE OLD.credits_held > 0;
  UPDATE accounts SET forgotten_count = forgotten_count + 1, forgotten_up_to = max(forgotten_up_to, OLD.ordinal)
  WHERE account_id = OLD.account_id;
END;

CREATE TRIGGER forgotten_jobs_follow BEFORE INSERT ON forgotten_jobs
WHEN EXISTS (SELECT 1 FROM jobs WHERE number = NEW.number) OR EXISTS (SELECT 1 FROM forgotten_jobs WHERE number = NEW.number)
  OR NOT EXISTS (SELECT 1 FROM ledger_entries INDEXED BY ledger_entries_by_job WHERE job_number = NEW.number)
BEGIN
  SELECT RAISE(ABORT, 'forgotten_jobs: only what the ledger names and is no more is remembered');
END;

CREATE TRIGGER forgotten_jobs_stand BEFORE UPDATE ON forgotten_jobs
BEGIN
  SELECT RAISE(ABORT, 'forgotten_jobs: what is on record does not change');
END;

CREATE TRIGGER forgotten_jobs_stay BEFORE DELETE ON forgotten_jobs
BEGIN
  SELECT RAISE(ABORT, 'forgotten_jobs: what is on record is never deleted');
END;

CREATE TRIGGER jobs_begin_unlost BEFORE INSERT ON jobs
WHEN NEW.lost_runs <> 0 OR NEW.available_at IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'jobs: a new job has lost no run and may begin at once');
END;

CREATE TRIGGER jobs_count_losses BEFORE UPDATE OF lost_runs ON jobs
WHEN NEW.lost_runs <> OLD.lost_runs
  AND NOT (OLD.status IN ('running', 'needs_review') AND NEW.status NOT IN ('running', 'needs_review') AND NEW.lost_runs = OLD.lost_runs + 1)
BEGIN
  SELECT RAISE(ABORT, 'jobs: a run is lost once, when it or its review ends');
END;

-- What may cost twice is never run twice. From review a job goes on only when it is known how.
CREATE TRIGGER jobs_run_again_if_allowed BEFORE UPDATE OF status ON jobs
WHEN OLD.status = 'running' AND NEW.status = 'queued' AND OLD.after_loss = 'never'
BEGIN
  SELECT RAISE(ABORT, 'jobs: a job whose run may have cost money elsewhere is not queued again');
END;

CREATE TRIGGER jobs_review_with_reason BEFORE UPDATE OF status ON jobs
WHEN OLD.status = 'running' AND NEW.status = 'needs_review' AND NEW.error IS NULL
BEGIN
  SELECT RAISE(ABORT, 'jobs: a job under review says why');
END;

-- A record's times are in the order of its life, whatever the clock does.
CREATE TRIGGER jobs_age BEFORE UPDATE OF started_at, finished_at ON jobs
WHEN NEW.started_at < NEW.created_at OR NEW.finished_at < coalesce(NEW.started_at, NEW.created_at) OR NEW.finished_at < OLD.finished_at
BEGIN
  SELECT RAISE(ABORT, 'jobs: the times of a job are in the order of its life');
END;

CREATE TRIGGER jobs_outputs_go_once BEFORE UPDATE OF outputs_gone ON jobs
WHEN NEW.outputs_gone <> OLD.outputs_gone + CASE NEW.outputs WHEN '[]' THEN 2 ELSE 1 END
  OR NOT (NEW.status = 'succeeded' OR NEW.status = 'failed' OR NEW.status = 'canceled' OR NEW.status = 'expired')
BEGIN
  SELECT RAISE(ABORT, 'jobs: outputs are said to be gone, then removed, and do not come back');
END;

CREATE TRIGGER jobs_stay_deleted BEFORE UPDATE OF deleted_at ON jobs
WHEN OLD.deleted_at IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'jobs: a job is deleted once and does not come back');
END;

CREATE TRIGGER jobs_inputs_go_with_outputs AFTER UPDATE OF outputs_gone ON jobs
WHEN OLD.outputs_gone = 0
BEGIN
  DELETE FROM job_inputs WHERE number = NEW.number;
END;

CREATE TRIGGER job_inputs_stay BEFORE DELETE ON job_inputs
WHEN EXISTS (SELECT 1 FROM jobs WHERE number = OLD.number AND outputs_gone = 0)
BEGIN
  SELECT RAISE(ABORT, 'job_inputs: an input stays as long as the outputs of its job');
END;

CREATE TRIGGER jobs_follow_states BEFORE UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND NOT CASE OLD.status
  WHEN 'queued' THEN NEW.status = 'running' OR NEW.status = 'canceled' OR NEW.status = 'expired'
  WHEN 'running' THEN NEW.status = 'succeeded' OR NEW.status = 'failed' OR NEW.status = 'canceled' OR NEW.status = 'queued' OR NEW.status = 'needs_review'
  WHEN 'needs_review' THEN NEW.status = 'succeeded' OR NEW.status = 'failed' OR NEW.status = 'queued'
  ELSE FALSE
END
BEGIN
  SELECT RAISE(ABORT, 'jobs: this state may not follow that state');
END;

CREATE TRIGGER jobs_settle_once BEFORE UPDATE OF status, credits_charged, credits_released ON jobs
WHEN OLD.status = 'succeeded' OR OLD.status = 'failed' OR OLD.status = 'canceled' OR OLD.status = 'expired'
BEGIN
  SELECT RAISE(ABORT, 'jobs: a settled job stays as it is');
END;

CREATE TRIGGER job_inputs_stand BEFORE UPDATE ON job_inputs
BEGIN
  SELECT RAISE(ABORT, 'job_inputs: what a job was started with does not change');
END;

-- The queue

-- How far the queue of a model has come, in credits.
CREATE TABLE queues (
  model TEXT NOT NULL PRIMARY KEY,
  virtual_time REAL NOT NULL DEFAULT 0 CHECK (virtual_time >= 0)
) STRICT, WITHOUT ROWID;

-- Where the last queued job of an account ends in the queue of a model.
CREATE TABLE queue_shares (
  model TEXT NOT NULL REFERENCES queues (model),
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  finish REAL NOT NULL CHECK (finish >= 0),
  PRIMARY KEY (model, account_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER queues_move_on BEFORE UPDATE ON queues
WHEN NEW.virtual_time < OLD.virtual_time OR NEW.model <> OLD.model
BEGIN
  SELECT RAISE(ABORT, 'queues: virtual time never goes back');
END;

-- The process that sweeps for all, if any.
CREATE TABLE leaders (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  holder TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT;

-- Webhooks

-- A deleted endpoint stays without its secret until its last delivery is deleted. `next_due_at` and `delivery_count` are kept by
-- triggers; `claimed_at` lets endpoints take turns.
CREATE TABLE webhooks (
  webhook_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  url TEXT NOT NULL,
  description TEXT,
  include_input INTEGER NOT NULL DEFAULT 0 CHECK (include_input IN (0, 1)),
  secret BLOB CHECK (length(secret) BETWEEN 24 AND 64),
  created_at INTEGER NOT NULL,
  disabled_at INTEGER,
  deleted_at INTEGER,
  next_due_at INTEGER,
  claimed_at INTEGER NOT NULL DEFAULT 0,
  delivery_count INTEGER NOT NULL DEFAULT 0 CHECK (delivery_count >= 0),
  -- Places of a sender go to endpoints that answer promptly. Each attempt rates its endpoint (deliveries.ts): a prompt one adds 1,
  -- up to 1, a slow one sets it to -10.
  standing INTEGER NOT NULL DEFAULT 0 CHECK (standing BETWEEN -10 AND 1),
  proven INTEGER GENERATED ALWAYS AS (standing > 0) VIRTUAL,
  CONSTRAINT secret_until_deleted CHECK ((secret IS NULL) = (deleted_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX webhooks_by_account ON webhooks (account_id, webhook_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (webhook_id) WHERE deleted_at IS NOT NULL AND delivery_count = 0;
CREATE INDEX webhooks_due ON webhooks (proven, next_due_at) WHERE next_due_at IS NOT NULL;

-- Accounts take turns, however many endpoints each has; the endpoints of an account take turns among themselves (`claimed_at`).
CREATE TABLE webhook_turns (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  claimed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A delivery is written by the very statement that ends its job (jobs_tell_webhooks), so no end is lost and none is told that did
-- not happen. Finished deliveries are deleted after a time (sweeps), and nothing else is.
-- `due_at` is when the next attempt may be made: after a failure the end of its delay, during an attempt the end of its lease.
-- `attempt` counts since somebody last asked to deliver; `attempts` is the record of all, as JSON.
-- `error` is why it is not delivered yet, or never was, in words.
-- `job_then` keeps what a later change of the job would overwrite; only a job under review changes after it ended.
CREATE TABLE webhook_deliveries (
  number INTEGER NOT NULL PRIMARY KEY,
  delivery_id TEXT NOT NULL UNIQUE,
  webhook_id TEXT NOT NULL REFERENCES webhooks (webhook_id),
  job_number INTEGER NOT NULL REFERENCES jobs (number),
  event TEXT NOT NULL CHECK (event IN ('job.succeeded', 'job.failed', 'job.canceled', 'job.expired', 'job.needs_review')),
  job_then TEXT CHECK (json_valid(job_then)),
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  due_at INTEGER,
  attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  attempts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(attempts)),
  error TEXT,
  token INTEGER NOT NULL DEFAULT 0 CHECK (token >= 0),
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  -- When `due_at` was set: a wait that seems to begin in the future began before the clock went back, and begins anew (sweeps).
  waits_since INTEGER NOT NULL DEFAULT 0,
  -- Set during an attempt, until its lease ends (`due_at`): whether the endpoint was known to answer promptly. Attempts of all
  -- processes count toward the places of an endpoint and of an account.
  claimed_as TEXT CHECK (claimed_as IN ('proven', 'unproven')),
  CONSTRAINT claimed_while_pending CHECK (claimed_as IS NULL OR status = 'pending'),
  CONSTRAINT due_while_pending CHECK ((due_at IS NOT NULL) = (status = 'pending') AND (finished_at IS NULL) = (status = 'pending'))
) STRICT;

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

-- The id sorts by time; a trigger cannot ask the id source of the program.
CREATE TRIGGER jobs_tell_webhooks AFTER UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND NEW.status IN ('succeeded', 'failed', 'canceled', 'expired', 'needs_review')
BEGIN
  INSERT INTO webhook_deliveries (delivery_id, webhook_id, job_number, event, job_then, due_at, waits_since, created_at)
  SELECT 'dlv_' || printf('%012x', NEW.finished_at) || lower(hex(randomblob(10))), w.webhook_id, NEW.number, 'job.' || NEW.status,
    CASE NEW.status WHEN 'needs_review' THEN json_object('status', NEW.status, 'progress', NEW.progress, 'attempts', NEW.attempts,
      'creditsCharged', NEW.credits_charged, 'creditsReleased', NEW.credits_released, 'outputs', json(NEW.outputs), 'error', json(NEW.error),
      'finishedAtMs', NEW.finished_at, 'sequence', NEW.sequence) END,
    NEW.finished_at, NEW.finished_at, NEW.finished_at
  FROM webhooks AS w WHERE w.account_id = NEW.account_id AND w.deleted_at IS NULL AND w.disabled_at IS NULL;
END;

CREATE TRIGGER webhook_deliveries_counted AFTER INSERT ON webhook_deliveries
BEGIN
  UPDATE webhooks SET delivery_count = delivery_count + 1, next_due_at = min(coalesce(next_due_at, NEW.due_at), NEW.due_at)
  WHERE webhook_id = NEW.webhook_id;
END;

CREATE TRIGGER webhook_deliveries_due_next AFTER UPDATE OF status, due_at ON webhook_deliveries
BEGIN
  UPDATE webhooks SET next_due_at = (SELECT min(due_at) FROM webhook_deliveries WHERE webhook_id = NEW.webhook_id AND status = 'pending')
  WHERE webhook_id = NEW.webhook_id;
END;

CREATE TRIGGER webhook_deliveries_keep_terms BEFORE UPDATE OF delivery_id, webhook_id, job_number, event, job_then, created_at ON webhook_deliveries
BEGIN
  SELECT RAISE(ABORT, 'webhook_deliveries: what is delivered does not change');
END;

CREATE TRIGGER webhooks_keep_terms BEFORE UPDATE OF webhook_id, account_id, url, include_input, created_at ON webhooks
BEGIN
  SELECT RAISE(ABORT, 'webhooks: an endpoint does not change; delete it and register another');
END;

CREATE TRIGGER webhook_deliveries_stay_until_finished BEFORE DELETE ON webhook_deliveries
WHEN OLD.status = 'pending'
BEGIN
  SELECT RAISE(ABORT, 'webhook_deliveries: what is not finished is not deleted');
END;

CREATE TRIGGER webhook_deliveries_uncounted AFTER DELETE ON webhook_deliveries
BEGIN
  UPDATE webhooks SET delivery_count = delivery_count - 1 WHERE webhook_id = OLD.webhook_id;
END;

-- Uploads

-- A row is written after its file is durable, and marked as gone before its file is removed, so that no row that is
-- shown has no file. It goes when the file has.
CREATE TABLE files (
  file_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  key TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL CHECK (expires_at > created_at),
  gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)),
  -- When the removal of its file may be tried.
  removal_at INTEGER CHECK ((removal_at IS NOT NULL) = (gone = 1))
) STRICT, WITHOUT ROWID;

-- Lists newest first, and counts, without touching the rows.
CREATE INDEX files_by_account ON files (account_id, file_id, expires_at) WHERE gone = 0;
-- What sweeps look for: uploads whose time is over, and those whose files are to be removed.
CREATE INDEX files_expiring ON files (expires_at) WHERE gone = 0;
CREATE INDEX files_removing ON files (removal_at) WHERE removal_at IS NOT NULL;

-- What the uploads of an account take on the disk, kept by triggers. A small file counts as 64 KiB (src/core/upload.ts).
CREATE TABLE upload_totals (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER files_counted AFTER INSERT ON files
BEGIN
  INSERT INTO upload_totals (account_id, bytes) VALUES (NEW.account_id, max(NEW.bytes, 65536))
  ON CONFLICT (account_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER files_uncounted AFTER DELETE ON files
BEGIN
  UPDATE upload_totals SET bytes = bytes - max(OLD.bytes, 65536) WHERE account_id = OLD.account_id;
END;

CREATE TRIGGER files_keep_terms BEFORE UPDATE ON files
WHEN NEW.gone = 0 OR (OLD.gone = 1 AND NEW.removal_at = OLD.removal_at)
BEGIN
  SELECT RAISE(ABORT, 'files: an upload does not change until it is gone, and does not come back');
END;

CREATE TRIGGER files_go_first BEFORE DELETE ON files
WHEN OLD.gone = 0
BEGIN
  SELECT RAISE(ABORT, 'files: an upload is said to be gone before its file is removed');
END;

-- The audit

-- What operators did: who, to what, and what was so before and after. Written in the transaction of the act, and never changed.
CREATE TABLE audit_entries (
  number INTEGER NOT NULL PRIMARY KEY,
  entry_id TEXT NOT NULL UNIQUE,
  actor TEXT NOT NULL,
  key_id TEXT REFERENCES api_keys (key_id),
  os_user TEXT,
  act TEXT NOT NULL CHECK (length(act) BETWEEN 1 AND 64),
  subject TEXT NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  account_id TEXT REFERENCES accounts (account_id),
  before TEXT CHECK (json_valid(before)),
  after TEXT CHECK (json_valid(after)),
  created_at INTEGER NOT NULL,
  CONSTRAINT somebody_acts CHECK (
    CASE actor
      WHEN 'key' THEN key_id IS NOT NULL AND os_user IS NULL
      WHEN 'command_line' THEN key_id IS NULL AND length(os_user) > 0
      WHEN 'system' THEN key_id IS NULL AND os_user IS NULL
      ELSE FALSE
    END
  )
) STRICT;

CREATE INDEX audit_entries_by_account ON audit_entries (account_id, number) WHERE account_id IS NOT NULL;

CREATE TRIGGER audit_entries_stand BEFORE UPDATE ON audit_entries
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: what is on record does not change');
END;

CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: what is on record is never deleted');
END;

-- Numbers have no gaps, so that a missing entry shows. REPLACE would delete without the trigger above.
CREATE TRIGGER audit_entries_follow BEFORE INSERT ON audit_entries
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM audit_entries) OR EXISTS (SELECT 1 FROM audit_entries WHERE entry_id = NEW.entry_id)
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: entries are appended, one by one');
END;

-- What workers share of a provider of media: nothing is submitted before either instant.
CREATE TABLE providers (
  provider TEXT NOT NULL PRIMARY KEY,
  paused_until INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Runs at a provider. A row whose time is over does not count.
CREATE TABLE provider_places (
  provider TEXT NOT NULL,
  job_id TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (provider, job_id)
) STRICT, WITHOUT ROWID;

-- Ids of submissions whose answer was lost: told to our webhook, or found. Each belongs to one job.
CREATE TABLE found_submissions (
  job_id TEXT NOT NULL,
  n INTEGER NOT NULL CHECK (n >= 1),
  provider TEXT NOT NULL,
  upstream_id TEXT NOT NULL CHECK (length(upstream_id) BETWEEN 1 AND 255),
  PRIMARY KEY (job_id, n),
  UNIQUE (provider, upstream_id)
) STRICT, WITHOUT ROWID;

-- The queue: fair keys, priorities, deadlines, retries after a lost worker. The checks and triggers restate
-- src/core/fair-queue.ts and src/core/loss.ts.

-- What the start says, and what the model said at that time. `fair` is the job's key in the queue of its model.
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -10 AND 10);
ALTER TABLE jobs ADD COLUMN fair REAL NOT NULL DEFAULT 0 CHECK (fair >= 0);
ALTER TABLE jobs ADD COLUMN resumable INTEGER NOT NULL DEFAULT 1 CHECK (resumable IN (0, 1));
ALTER TABLE jobs ADD COLUMN max_attempts INTEGER NOT NULL DEFAULT 3 CHECK (max_attempts > 0);
ALTER TABLE jobs ADD COLUMN deadline_at INTEGER CHECK (status <> 'expired' OR (deadline_at IS NOT NULL AND started_at IS NULL));
-- Runs whose worker was lost. Runs that a stopping worker gave back are attempts, but not losses.
ALTER TABLE jobs ADD COLUMN lost_runs INTEGER NOT NULL DEFAULT 0
  CHECK (lost_runs BETWEEN 0 AND attempts AND lost_runs <= max_attempts AND (status <> 'queued' OR lost_runs < max_attempts));
-- A queued job that is not to be tried before. A sweep takes it away when the time has come, so that claims need not look at it.
ALTER TABLE jobs ADD COLUMN available_at INTEGER CHECK (available_at IS NULL OR status = 'queued');

-- Claims, and positions in the queue: in the order of the key, without touching the rows.
DROP INDEX jobs_queued;
CREATE INDEX jobs_queued ON jobs (model, priority DESC, fair, number, deadline_at) WHERE status = 'queued' AND available_at IS NULL;
-- What a sweep looks for.
CREATE INDEX jobs_by_lease ON jobs (lease_until) WHERE status = 'running';
CREATE INDEX jobs_by_deadline ON jobs (deadline_at) WHERE status = 'queued' AND deadline_at IS NOT NULL;
CREATE INDEX jobs_by_retry ON jobs (available_at) WHERE available_at IS NOT NULL;
CREATE INDEX jobs_in_review ON jobs (finished_at) WHERE status = 'needs_review';

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

CREATE TRIGGER jobs_keep_queue_terms BEFORE UPDATE OF priority, fair, resumable, max_attempts, deadline_at ON jobs
BEGIN
  SELECT RAISE(ABORT, 'jobs: what a job was started with does not change');
END;

CREATE TRIGGER jobs_begin_unlost BEFORE INSERT ON jobs
WHEN NEW.lost_runs <> 0 OR NEW.available_at IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'jobs: a new job has lost no run and may begin at once');
END;

CREATE TRIGGER jobs_count_losses BEFORE UPDATE OF lost_runs ON jobs
WHEN NEW.lost_runs <> OLD.lost_runs AND NOT (OLD.status = 'running' AND NEW.status <> 'running' AND NEW.lost_runs = OLD.lost_runs + 1)
BEGIN
  SELECT RAISE(ABORT, 'jobs: a run is lost once, when it ends');
END;

-- What may cost twice is never run twice.
CREATE TRIGGER jobs_resume_if_allowed BEFORE UPDATE OF status ON jobs
WHEN OLD.status = 'running' AND NEW.status = 'queued' AND NEW.resumable = 0
BEGIN
  SELECT RAISE(ABORT, 'jobs: a job that is not resumable is not queued again');
END;

CREATE TRIGGER jobs_review_if_needed BEFORE UPDATE OF status ON jobs
WHEN OLD.status = 'running' AND NEW.status = 'needs_review' AND (NEW.resumable = 1 OR NEW.error IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'jobs: only a job that is not resumable is reviewed, and it says why');
END;

-- Webhooks: the endpoints of accounts, and the outbox of what they are told. A delivery is written by the very statement that
-- ends its job (jobs_tell_webhooks), so no end is lost and none is told that did not happen. Times are milliseconds since 1970.

-- A deleted endpoint stays for the record, without its secret. `next_due_at` and `delivery_count` are kept by triggers; `claimed_at`
-- lets endpoints take turns.
CREATE TABLE webhooks (
  webhook_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  url TEXT NOT NULL,
  description TEXT,
  secret BLOB CHECK (length(secret) BETWEEN 24 AND 64),
  created_at INTEGER NOT NULL,
  disabled_at INTEGER,
  deleted_at INTEGER,
  next_due_at INTEGER,
  claimed_at INTEGER NOT NULL DEFAULT 0,
  delivery_count INTEGER NOT NULL DEFAULT 0 CHECK (delivery_count >= 0),
  CONSTRAINT secret_until_deleted CHECK ((secret IS NULL) = (deleted_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX webhooks_by_account ON webhooks (account_id, webhook_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_due ON webhooks (next_due_at) WHERE next_due_at IS NOT NULL;

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
  CONSTRAINT due_while_pending CHECK ((due_at IS NOT NULL) = (status = 'pending') AND (finished_at IS NULL) = (status = 'pending'))
) STRICT;

-- Claims: the delivery of an endpoint that has been due the longest.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE status = 'pending';
-- Lists newest first: of an endpoint, of its undelivered ones, of a job.
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_by_status ON webhook_deliveries (webhook_id, status, number) WHERE status <> 'delivered';
CREATE UNIQUE INDEX webhook_deliveries_by_job ON webhook_deliveries (job_number, webhook_id, event);

-- The id sorts by time; a trigger cannot ask the id source of the program.
CREATE TRIGGER jobs_tell_webhooks AFTER UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND NEW.status IN ('succeeded', 'failed', 'canceled', 'expired', 'needs_review')
BEGIN
  INSERT INTO webhook_deliveries (delivery_id, webhook_id, job_number, event, job_then, due_at, created_at)
  SELECT 'dlv_' || printf('%012x', NEW.finished_at) || lower(hex(randomblob(10))), w.webhook_id, NEW.number, 'job.' || NEW.status,
    CASE NEW.status WHEN 'needs_review' THEN json_object('status', NEW.status, 'progress', NEW.progress, 'attempts', NEW.attempts,
      'creditsCharged', NEW.credits_charged, 'creditsReleased', NEW.credits_released, 'outputs', json(NEW.outputs), 'error', json(NEW.error),
      'finishedAtMs', NEW.finished_at, 'sequence', NEW.sequence) END,
    NEW.finished_at, NEW.finished_at
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

CREATE TRIGGER webhooks_keep_terms BEFORE UPDATE OF webhook_id, account_id, url, created_at ON webhooks
BEGIN
  SELECT RAISE(ABORT, 'webhooks: an endpoint does not change; delete it and register another');
END;

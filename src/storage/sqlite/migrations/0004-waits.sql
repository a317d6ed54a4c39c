-- Deliveries and the clock: a wait that seems to begin in the future began before the clock went back, and begins anew (sweeps).
-- Finished deliveries are deleted after a time (sweeps), and nothing else is.

-- When `due_at` was set.
ALTER TABLE webhook_deliveries ADD COLUMN waits_since INTEGER NOT NULL DEFAULT 0;

-- What a sweep looks for.
CREATE INDEX webhook_deliveries_by_wait ON webhook_deliveries (waits_since) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_by_end ON webhook_deliveries (finished_at) WHERE status <> 'pending';

DROP TRIGGER jobs_tell_webhooks;
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

CREATE TRIGGER webhook_deliveries_stay_until_finished BEFORE DELETE ON webhook_deliveries
WHEN OLD.status = 'pending'
BEGIN
  SELECT RAISE(ABORT, 'webhook_deliveries: what is not finished is not deleted');
END;

CREATE TRIGGER webhook_deliveries_uncounted AFTER DELETE ON webhook_deliveries
BEGIN
  UPDATE webhooks SET delivery_count = delivery_count - 1 WHERE webhook_id = OLD.webhook_id;
END;

-- A record's times are in the order of its life, whatever the clock does.
CREATE TRIGGER jobs_age BEFORE UPDATE OF started_at, finished_at ON jobs
WHEN NEW.started_at < NEW.created_at OR NEW.finished_at < coalesce(NEW.started_at, NEW.created_at) OR NEW.finished_at < OLD.finished_at
BEGIN
  SELECT RAISE(ABORT, 'jobs: the times of a job are in the order of its life');
END;

-- Webhooks of single starts. Programs without it would send their messages to an endpoint without a URL.

-- Where the end of this job is sent, besides to the endpoints of its account; null for nowhere.
ALTER TABLE jobs ADD COLUMN webhook_url TEXT CHECK (length(webhook_url) BETWEEN 1 AND 2048);

CREATE TRIGGER jobs_keep_webhook_url BEFORE UPDATE OF webhook_url ON jobs
BEGIN
  SELECT RAISE(ABORT, 'jobs: what a job was started with does not change');
END;

-- The URLs of an account's jobs have one endpoint together, whose own URL is empty: its secret signs their messages.
CREATE UNIQUE INDEX webhooks_of_starts ON webhooks (account_id) WHERE url = '' AND deleted_at IS NULL;

DROP TRIGGER jobs_tell_webhooks;

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
  FROM webhooks AS w
  WHERE w.account_id = NEW.account_id AND w.deleted_at IS NULL AND w.disabled_at IS NULL
    AND (w.url <> '' OR NEW.webhook_url IS NOT NULL);
END;

-- Webhooks of single starts. Programs without it would send their messages to an endpoint without a URL.

-- Where the end of this job is sent, besides to the endpoints of its account; null for nowhere.
ALTER TABLE jobs ADD COLUMN webhook_url TEXT CHECK (length(webhook_url) BETWEEN 1 AND 2048);

CREATE TRIGGER jobs_keep_webhook_url BEFORE UPDATE OF webhook_url ON jobs FOR EACH ROW
EXECUTE FUNCTION refuse('jobs: what a job was started with does not change');

-- The URLs of an account's jobs have one endpoint together, whose own URL is empty: its secret signs their messages.
CREATE UNIQUE INDEX webhooks_of_starts ON webhooks (account_id) WHERE url = '' AND deleted_at IS NULL;

-- The id sorts by time; a trigger cannot ask the id source of the program. An endpoint is locked, and looked at again, before it gets a
-- delivery: one that is being deleted has given up all that it could see.
CREATE OR REPLACE FUNCTION jobs_tell_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
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
    AND (w.url <> '' OR j.webhook_url IS NOT NULL)
  WHERE j.status IN ('succeeded', 'failed', 'canceled', 'expired', 'needs_review') ORDER BY j.number, w.webhook_id
  FOR NO KEY UPDATE OF w;
  RETURN NULL;
END $$;

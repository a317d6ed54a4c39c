-- Retention: outputs are kept for a time, then their files are removed, and the record stays. It says that they are gone before
-- they are removed; what is removed is crossed off afterwards, so that nothing is forgotten in between.

-- How long the outputs are kept, as it was said at the start; null for ever, as for jobs from before there was a limit.
ALTER TABLE jobs ADD COLUMN retain_ms INTEGER CHECK (retain_ms > 0);
-- 0 while they are there, 1 when they are to be removed, 2 when they have been.
ALTER TABLE jobs ADD COLUMN outputs_gone INTEGER NOT NULL DEFAULT 0 CHECK (outputs_gone BETWEEN 0 AND 2);
ALTER TABLE jobs ADD COLUMN outputs_expire_at INTEGER
  GENERATED ALWAYS AS (CASE WHEN status = 'succeeded' AND outputs <> '[]' THEN finished_at + retain_ms END) VIRTUAL;

-- What sweeps look for.
CREATE INDEX jobs_outputs_expiring ON jobs (outputs_expire_at) WHERE outputs_gone = 0 AND outputs_expire_at IS NOT NULL;
CREATE INDEX jobs_outputs_gone ON jobs (number) WHERE outputs_gone = 1;

CREATE TRIGGER jobs_keep_retention BEFORE UPDATE OF retain_ms ON jobs
BEGIN
  SELECT RAISE(ABORT, 'jobs: what a job was started with does not change');
END;

CREATE TRIGGER jobs_outputs_go_once BEFORE UPDATE OF outputs_gone ON jobs
WHEN NEW.outputs_gone <> OLD.outputs_gone + 1 OR NEW.status <> 'succeeded'
BEGIN
  SELECT RAISE(ABORT, 'jobs: outputs are said to be gone, then removed, and do not come back');
END;

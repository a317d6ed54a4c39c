-- Accounts that are frozen or closed. Programs without it would try to start jobs for them, which the database refuses.

-- A closed account keeps what is available, and holds nothing. `status_reason` is what the operator said.
ALTER TABLE accounts ADD COLUMN status TEXT NOT NULL DEFAULT 'active'
  CHECK (status = 'active' OR status = 'frozen' OR (status = 'closed' AND held = 0 AND queued_jobs = 0));
ALTER TABLE accounts ADD COLUMN status_reason TEXT CHECK (status = 'active' OR coalesce(length(status_reason), 0) > 0);
ALTER TABLE accounts ADD COLUMN status_changed_at INTEGER CHECK (status = 'active' OR status_changed_at IS NOT NULL);

CREATE TRIGGER accounts_stay_closed BEFORE UPDATE OF name, status, status_reason, status_changed_at ON accounts
WHEN OLD.status = 'closed'
BEGIN
  SELECT RAISE(ABORT, 'accounts: a closed account stays as it is');
END;

CREATE TRIGGER accounts_close_idle BEFORE UPDATE OF status ON accounts
WHEN NEW.status = 'closed' AND (
  EXISTS (SELECT 1 FROM api_keys WHERE account_id = NEW.account_id AND revoked_at IS NULL)
  OR EXISTS (
    SELECT 1 FROM jobs WHERE account_id = NEW.account_id AND status IN ('queued', 'running', 'needs_review') AND status <> 'succeeded'
  )
)
BEGIN
  SELECT RAISE(ABORT, 'accounts: an account is closed when its jobs have ended and its keys are revoked');
END;

CREATE TRIGGER jobs_need_active_account BEFORE INSERT ON jobs
WHEN (SELECT status FROM accounts WHERE account_id = NEW.account_id) <> 'active'
BEGIN
  SELECT RAISE(ABORT, 'jobs: an account that is frozen or closed starts nothing');
END;

CREATE TRIGGER api_keys_need_active_account BEFORE INSERT ON api_keys
WHEN (SELECT status FROM accounts WHERE account_id = NEW.account_id) <> 'active'
BEGIN
  SELECT RAISE(ABORT, 'api_keys: an account that is frozen or closed gets no keys');
END;

CREATE TRIGGER api_keys_stay_revoked BEFORE UPDATE OF revoked_at ON api_keys
WHEN OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at
BEGIN
  SELECT RAISE(ABORT, 'api_keys: a revoked key stays revoked');
END;

CREATE INDEX audit_entries_by_subject ON audit_entries (subject, number);

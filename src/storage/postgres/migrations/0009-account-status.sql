-- Accounts that are frozen or closed. Programs without it would try to start jobs for them, which the database refuses.

-- A closed account keeps what is available, and holds nothing. `status_reason` is what the operator said.
ALTER TABLE accounts
  ADD COLUMN status TEXT COLLATE "C" NOT NULL DEFAULT 'active'
    CHECK (status = 'active' OR status = 'frozen' OR (status = 'closed' AND held = 0 AND queued_jobs = 0)),
  ADD COLUMN status_reason TEXT CHECK (status = 'active' OR coalesce(length(status_reason), 0) > 0),
  ADD COLUMN status_changed_at BIGINT CHECK (status = 'active' OR status_changed_at IS NOT NULL);

CREATE TRIGGER accounts_stay_closed BEFORE UPDATE OF name, status, status_reason, status_changed_at ON accounts FOR EACH ROW
WHEN (OLD.status = 'closed')
EXECUTE FUNCTION refuse('accounts: a closed account stays as it is');

-- Who closes an account has locked it, and so has who starts a job or makes a key.
CREATE FUNCTION accounts_close_idle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM api_keys WHERE account_id = NEW.account_id AND revoked_at IS NULL) OR EXISTS (
    SELECT 1 FROM jobs WHERE account_id = NEW.account_id AND status IN ('queued', 'running', 'needs_review') AND status <> 'succeeded'
  ) THEN
    RAISE EXCEPTION 'accounts: an account is closed when its jobs have ended and its keys are revoked' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER accounts_close_idle BEFORE UPDATE OF status ON accounts FOR EACH ROW
WHEN (NEW.status = 'closed')
EXECUTE FUNCTION accounts_close_idle();

CREATE OR REPLACE FUNCTION jobs_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE accounts_changed BIGINT;
BEGIN
  UPDATE accounts AS a SET job_count = n.last, queued_jobs = a.queued_jobs + n.jobs
  FROM (SELECT account_id, count(*) AS jobs, min(ordinal) AS first, max(ordinal) AS last FROM added GROUP BY account_id) AS n
  WHERE a.account_id = n.account_id AND n.first = a.job_count + 1 AND n.last = a.job_count + n.jobs AND a.status = 'active';
  GET DIAGNOSTICS accounts_changed = ROW_COUNT;
  IF accounts_changed < (SELECT count(DISTINCT account_id) FROM added) THEN
    RAISE EXCEPTION 'jobs: ordinals of an account follow each other, and an account that is frozen or closed starts nothing'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION api_keys_need_active_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM accounts WHERE account_id = NEW.account_id AND status <> 'active') THEN
    RAISE EXCEPTION 'api_keys: an account that is frozen or closed gets no keys' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER api_keys_need_active_account BEFORE INSERT ON api_keys FOR EACH ROW
EXECUTE FUNCTION api_keys_need_active_account();

CREATE TRIGGER api_keys_stay_revoked BEFORE UPDATE OF revoked_at ON api_keys FOR EACH ROW
WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
EXECUTE FUNCTION refuse('api_keys: a revoked key stays revoked');

CREATE INDEX audit_entries_by_subject ON audit_entries (subject, number);

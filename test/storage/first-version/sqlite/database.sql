CREATE TABLE migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL, compatible INTEGER NOT NULL) STRICT;
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
CREATE TABLE rate_buckets (
  name TEXT NOT NULL PRIMARY KEY,
  full_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE signing_keys (
  purpose TEXT NOT NULL CHECK (purpose IN ('quote', 'asset')),
  number INTEGER NOT NULL CHECK (number > 0),
  secret BLOB NOT NULL CHECK (length(secret) = 32),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (purpose, number)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE job_inputs (
  number INTEGER NOT NULL PRIMARY KEY REFERENCES jobs (number),
  brief TEXT,
  input TEXT NOT NULL
) STRICT;
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
CREATE TABLE upstream_duties (
  job_number INTEGER NOT NULL PRIMARY KEY REFERENCES jobs (number),
  kind TEXT NOT NULL CHECK (kind IN ('reconcile', 'cancel')),
  checkpoint TEXT CHECK (json_valid(checkpoint)),
  fence INTEGER NOT NULL,
  owed_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0)
) STRICT;
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
CREATE TABLE forgotten_jobs (
  number INTEGER NOT NULL PRIMARY KEY,
  job_id TEXT NOT NULL
) STRICT;
CREATE TABLE queues (
  model TEXT NOT NULL PRIMARY KEY,
  virtual_time REAL NOT NULL DEFAULT 0 CHECK (virtual_time >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE queue_shares (
  model TEXT NOT NULL REFERENCES queues (model),
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  finish REAL NOT NULL CHECK (finish >= 0),
  PRIMARY KEY (model, account_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE leaders (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  holder TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT;
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
CREATE TABLE webhook_turns (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  claimed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE upload_totals (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE providers (
  provider TEXT NOT NULL PRIMARY KEY,
  paused_until INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE provider_places (
  provider TEXT NOT NULL,
  job_id TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (provider, job_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE found_submissions (
  job_id TEXT NOT NULL,
  n INTEGER NOT NULL CHECK (n >= 1),
  provider TEXT NOT NULL,
  upstream_id TEXT NOT NULL CHECK (length(upstream_id) BETWEEN 1 AND 255),
  PRIMARY KEY (job_id, n),
  UNIQUE (provider, upstream_id)
) STRICT, WITHOUT ROWID;
INSERT INTO migrations (number, name, sha256, applied_at, compatible) VALUES (1, '0001-schema', '34bf247cfe8db143c9e00b30ba4ce823bb4d44a8362f4ae25076b0f31ed1b35c', 1795815243813, 0);
INSERT INTO accounts (account_id, name, available, held, entry_count, job_count, queued_jobs, forgotten_count, forgotten_up_to, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 'test', 987, 4, 13, 7, 1, 0, 0, 1795815244220);
INSERT INTO accounts (account_id, name, available, held, entry_count, job_count, queued_jobs, forgotten_count, forgotten_up_to, created_at) VALUES ('acct_01m8few0ere0094nfs69vd4vt1', 'test', 71, 0, 5, 1, 0, 0, 0, 1795815244248);
INSERT INTO api_keys (key_id, account_id, name, prefix, secret_hash, permissions, created_at, expires_at, revoked_at, last_used_at) VALUES ('key_01m8few0eee00a10wzeexhmpw5', 'acct_01m8few0dwe00bxbk6xwmws3xv', NULL, 'mgk_8OvU', X'0D4E583C812D42D52B7BF3A576A586AEB5FC6F3789D789737FA06D5850996BA0', '["generate","models:read","jobs:read","wallet:read","webhooks"]', 1795815244238, NULL, NULL, 1795815244329);
INSERT INTO api_keys (key_id, account_id, name, prefix, secret_hash, permissions, created_at, expires_at, revoked_at, last_used_at) VALUES ('key_01m8few0eze009rt8vb6n5myqd', 'acct_01m8few0ere0094nfs69vd4vt1', NULL, 'mgk_tUdB', X'A78B801BC6912D59DB526D2A052147373CFEC4748B1C57FE48C8B85CE141BD72', '["generate","models:read","jobs:read","wallet:read","webhooks"]', 1795815244255, NULL, NULL, 1795815244972);
INSERT INTO api_keys (key_id, account_id, name, prefix, secret_hash, permissions, created_at, expires_at, revoked_at, last_used_at) VALUES ('key_01m8few1eke008xw5npc163rqw', 'acct_01m8few0ere0094nfs69vd4vt1', 'revoked', 'mgk_ohyw', X'25BAA3510E2BD3A4138F6AE1CE9859770005067672012AEF47A35F3A2F0F0756', '["generate"]', 1795815245267, NULL, 1795815245268, NULL);
INSERT INTO signing_keys (purpose, number, secret, created_at) VALUES ('asset', 1, X'005FFDE981ECBD5874AC4346F64B7A5FC0090EC3D9E14AE840EF1B281CE4D881', 1795815244090);
INSERT INTO signing_keys (purpose, number, secret, created_at) VALUES ('quote', 1, X'09ACD596DA0FE177694B7344B6FD6A48C3316B3EF62C8F43244CC4888F47AE0D', 1795815244095);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (1, 'job_01m8few0mje00b9ycdzb7e5xjc', 'acct_01m8few0dwe00bxbk6xwmws3xv', 1, 'succeeded', 'test/instant/text-to-image', 'quote_AQAAAAFACAAAAAAAAEJ6Ie9yogAA-wsNMge8icE6FIjGUdQVqp_ic6aY8BJHeYZOmB_uv4x9kQuibGDqGXRlc3QvaW5zdGFudC90ZXh0LXRvLWltYWdllmb5pJyBYpXVX4D8HHryvA', 'c86a3e50-5b1a-42cd-bc0d-cda024ad9485', X'0E6C0D1C49DCB939570F85BE07B996342C2B40217D10A6C56F253B6515159787', 1.0, 3, 3, 0, '[{"key":"job_01m8few0mje00b9ycdzb7e5xjc/0.png","contentType":"image/png","width":8,"height":8,"durationSeconds":null,"bytes":96,"sha256":"e937b4ee0f72ba72c0c6df50566876835fbe6bbaf2267a52a186b3962d30335e","blurhash":"T9TI:j|cfQ|co1fQfQfQfQ|co1fQ","previewKey":"job_01m8few0mje00b9ycdzb7e5xjc/0.preview.webp"}]', NULL, NULL, 'again', 1, 1, NULL, NULL, NULL, 0, 3, 1795815244434, 1795815244441, 1795815244878, 0, 0.0, 3, NULL, 0, NULL, 3153600000000, 'key_01m8few0eee00a10wzeexhmpw5', NULL, 0, NULL, NULL);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (2, 'job_01m8few13ce009j191y7qdpsg5', 'acct_01m8few0dwe00bxbk6xwmws3xv', 2, 'failed', 'test/failing/text-to-image', 'quote_AQAAAAFAHAAAAAAAAEJ6Ie9ywmAAWGY8tV0pm9llRuD9efzr0gXhEroooxH9nFDuYa6QW1rfCZ6S1ygKtHRlc3QvZmFpbGluZy90ZXh0LXRvLWltYWdl_v_MDvAoiIB7poBZCyGqzg', '8afacff0-50dd-4120-a285-f8919ddec3c5', X'03AFFEA2CC4D92FF05496146A623C1B7A880DDDA00831DDCF6B3BC2FB5AA4DD7', 0.0, 7, 0, 7, '[]', '{"code":"program_failed","message":"the paint ran out","retryable":false}', NULL, 'again', 1, 1, NULL, NULL, NULL, 0, 3, 1795815244908, 1795815244915, 1795815244961, 0, 0.0, 3, NULL, 0, NULL, 3153600000000, 'key_01m8few0eee00a10wzeexhmpw5', NULL, 0, NULL, NULL);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (3, 'job_01m8few15ke0094fm6src9gsgj', 'acct_01m8few0ere0094nfs69vd4vt1', 1, 'succeeded', 'test/usage/text-to-image', 'quote_AQAAAAFAJAAAAAAAAEJ6Ie9yxtAA062WPTKUFiuT5API6QFpY0m0oSkIDWmRYOrXj14EDcsRPzdDO-xjYnRlc3QvdXNhZ2UvdGV4dC10by1pbWFnZZUbxKaYZlLBf-mtk8GvDLw', '843ef5b1-9d91-4e4d-abf6-a20800c73c93', X'F2192C1D4CCBBC984F09BD64C7F6BEB3689158945817CACFA1676EE5C8DD423D', 1.0, 10, 4, 6, '[{"key":"job_01m8few15ke0094fm6src9gsgj/0.png","contentType":"image/png","width":8,"height":8,"durationSeconds":null,"bytes":96,"sha256":"e937b4ee0f72ba72c0c6df50566876835fbe6bbaf2267a52a186b3962d30335e","blurhash":"T9TI:j|cfQ|co1fQfQfQfQ|co1fQ","previewKey":"job_01m8few15ke0094fm6src9gsgj/0.preview.webp"}]', NULL, NULL, 'again', 1, 1, NULL, NULL, NULL, 0, 3, 1795815244979, 1795815244982, 1795815245106, 0, 0.0, 3, NULL, 0, NULL, 3153600000000, 'key_01m8few0eze009rt8vb6n5myqd', '{"expression":"ceil(usage.seconds) * 2","input":{}}', 0, NULL, NULL);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (4, 'job_01m8few1a0e00b4resv6nyn62j', 'acct_01m8few0dwe00bxbk6xwmws3xv', 3, 'succeeded', 'test/instant/text-to-image', 'quote_AQAAAAFACAAAAAAAAEJ6Ie9yz7AAyesSKRCgBDSMaoo4mxaH5qhaljtdJ5In3QbJ3JPm5aA1sKK4PYnMWHRlc3QvaW5zdGFudC90ZXh0LXRvLWltYWdlewAF6zbXiZ7-t_jr399-6w', 'f928fd80-681a-4df2-95c6-0ba446292a5c', X'6908FC46B615E7C0F96895F24E829D051AFB99C10301533E528CF402F9FE3524', 1.0, 3, 3, 0, '[{"key":"job_01m8few1a0e00b4resv6nyn62j/0.png","contentType":"image/png","width":8,"height":8,"durationSeconds":null,"bytes":96,"sha256":"e937b4ee0f72ba72c0c6df50566876835fbe6bbaf2267a52a186b3962d30335e","blurhash":"T9TI:j|cfQ|co1fQfQfQfQ|co1fQ","previewKey":"job_01m8few1a0e00b4resv6nyn62j/0.preview.webp"}]', NULL, NULL, 'again', 1, 1, NULL, NULL, NULL, 0, 4, 1795815245120, 1795815245125, 1795815245170, 0, 3.0, 3, NULL, 0, NULL, 3153600000000, 'key_01m8few0eee00a10wzeexhmpw5', NULL, 2, NULL, 1795815245180);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (5, 'job_01m8few1ewe00805xexzh41gk6', 'acct_01m8few0dwe00bxbk6xwmws3xv', 4, 'succeeded', 'test/instant/text-to-image', 'quote_AQAAAAFACAAAAAAAAEJ6Ie9y2YAAz7hDNsJLDWNCZroajvaEiQ2PUFlYBqVvYqqYObKL7TK02A26FRrt7XRlc3QvaW5zdGFudC90ZXh0LXRvLWltYWdlLMgLOmeW_3NuWLOQ9msPew', '001039f1-6901-4a61-96f7-ec3df6678763', X'DCF9E32EC8E3269E06EEE840EF886584139FE2A0C6E3E9BC401AE047A57A5EFF', 1.0, 3, 3, 0, '[{"key":"job_01m8few1ewe00805xexzh41gk6/0.png","contentType":"image/png","width":8,"height":8,"durationSeconds":null,"bytes":96,"sha256":"e937b4ee0f72ba72c0c6df50566876835fbe6bbaf2267a52a186b3962d30335e","blurhash":"T9TI:j|cfQ|co1fQfQfQfQ|co1fQ","previewKey":"job_01m8few1ewe00805xexzh41gk6/0.preview.webp"}]', NULL, NULL, 'again', 1, 1, NULL, NULL, NULL, 0, 3, 1795815245276, 1795815245279, 1795815245313, 0, 6.0, 3, NULL, 0, NULL, 3153600000000, 'key_01m8few0eee00a10wzeexhmpw5', NULL, 0, NULL, NULL);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (6, 'job_01m8few1jve00any5mb496pzqd', 'acct_01m8few0dwe00bxbk6xwmws3xv', 5, 'canceled', 'test/gate/text-to-image', 'quote_AQAAAAFAJAAAAAAAAEJ6Ie9y3IAA2l4aRu39J0XFOIKFhKJgRcoq9r7SLjnbvGgFMI_wqYK4-sHYi7_okHRlc3QvZ2F0ZS90ZXh0LXRvLWltYWdlEKBlFjTKsP8hzYyRZhqcHg', '4b1f8c9b-00f8-422b-9170-ca4ffff50ea7', X'EDFAC0571575B18CADACA57ACA3115BA2DE882E9F88E974C05A92CEE590B36FB', 0.0, 10, 0, 10, '[]', '{"code":"canceled","message":"The job was canceled before it finished. Nothing was charged.","retryable":true}', NULL, 'again', 1, 1, NULL, NULL, NULL, 1, 4, 1795815245403, 1795815245407, 1795815245421, 0, 0.0, 3, NULL, 0, NULL, 3153600000000, 'key_01m8few0eee00a10wzeexhmpw5', NULL, 0, NULL, NULL);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (7, 'job_01m8few3bae009d9j2j523fhad', 'acct_01m8few0dwe00bxbk6xwmws3xv', 6, 'needs_review', 'test/instant/text-to-image', 'quote_test', 'under review', X'0707070707070707070707070707070707070707070707070707070707070707', 0.0, 2, 0, 0, '[]', '{"code":"outcome_unknown","message":"Nobody knows yet how the run ended, and its work may have cost money elsewhere. The credits stay held until that is known, an operator decides, or the review period ends.","retryable":false}', 'null', 'never', 1, 1, NULL, NULL, NULL, 0, 3, 1795815247210, 1795815247216, 1795815247273, 0, 9.0, 3, NULL, 0, NULL, 3153600000000, 'key_test', NULL, 0, NULL, NULL);
INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, progress, credits_held, credits_charged, credits_released, outputs, error, checkpoint, after_loss, attempts, token, worker, lease_until, preview_key, cancel_requested, sequence, created_at, started_at, finished_at, priority, fair, max_attempts, deadline_at, lost_runs, available_at, retain_ms, key_id, usage_price, outputs_gone, removal_at, deleted_at) VALUES (8, 'job_01m8few3dde009p86da3fyvtwa', 'acct_01m8few0dwe00bxbk6xwmws3xv', 7, 'queued', 'test/instant/text-to-image', 'quote_test', 'still queued', X'0707070707070707070707070707070707070707070707070707070707070707', 0.0, 2, 0, 0, '[]', NULL, NULL, 'again', 0, 0, NULL, NULL, NULL, 0, 1, 1795815247277, NULL, NULL, 0, 11.0, 3, NULL, 0, NULL, 3153600000000, 'key_test', NULL, 0, NULL, NULL);
INSERT INTO job_inputs (number, brief, input) VALUES (1, NULL, '{"prompt":"Un CAFÉ au lait"}');
INSERT INTO job_inputs (number, brief, input) VALUES (2, NULL, '{"prompt":"it fails"}');
INSERT INTO job_inputs (number, brief, input) VALUES (3, NULL, '{"seconds":5,"used":2}');
INSERT INTO job_inputs (number, brief, input) VALUES (5, NULL, '{"prompt":"with a webhook"}');
INSERT INTO job_inputs (number, brief, input) VALUES (6, NULL, '{"gate":"/tmp/mediagen-test-2SelLm/gate-1"}');
INSERT INTO job_inputs (number, brief, input) VALUES (7, NULL, '{"prompt":"under review"}');
INSERT INTO job_inputs (number, brief, input) VALUES (8, NULL, '{"prompt":"still queued"}');
INSERT INTO upstream_duties (job_number, kind, checkpoint, fence, owed_at, due_at, attempts) VALUES (7, 'reconcile', NULL, 2, 1795815247273, 1795815247273, 0);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 1, 'entry_01m8few0dwe00vxk9fje6dp9f6', 'grant', NULL, 1000, 1000, 0, NULL, 1795815244220);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 2, 'entry_01m8few0mje00vs37z4zg8jw0w', 'hold', 1, 3, 997, 3, NULL, 1795815244434);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 3, 'entry_01m8few12ee00878dtk8tnxm0s', 'charge', 1, 3, 997, 0, NULL, 1795815244878);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 4, 'entry_01m8few13ce00tv7m7qy4f4e29', 'hold', 2, 7, 990, 7, NULL, 1795815244908);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 5, 'entry_01m8few151e00aekv6yefc9tm8', 'release', 2, 7, 997, 0, NULL, 1795815244961);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 6, 'entry_01m8few1a0e00r8zsgb1j7ynpt', 'hold', 4, 3, 994, 3, NULL, 1795815245120);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 7, 'entry_01m8few1bje009yryvxnyrg2nf', 'charge', 4, 3, 994, 0, NULL, 1795815245170);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 8, 'entry_01m8few1ewe00v92ecb824272a', 'hold', 5, 3, 991, 3, NULL, 1795815245276);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 9, 'entry_01m8few1g1e00a1s7xd1fhcjes', 'charge', 5, 3, 991, 0, NULL, 1795815245313);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 10, 'entry_01m8few1jve00t4rcjeh33jete', 'hold', 6, 10, 981, 10, NULL, 1795815245403);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 11, 'entry_01m8few1kde00af4tzv85syp7h', 'release', 6, 10, 991, 0, NULL, 1795815245421);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 12, 'entry_01m8few3bae00rc7bt4tph6t4x', 'hold', 7, 2, 989, 2, NULL, 1795815247210);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 13, 'entry_01m8few3dde00rpykb75zmam8r', 'hold', 8, 2, 987, 4, NULL, 1795815247277);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0ere0094nfs69vd4vt1', 1, 'entry_01m8few0ere00rh99x90kg52py', 'grant', NULL, 50, 50, 0, NULL, 1795815244248);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0ere0094nfs69vd4vt1', 2, 'entry_01m8few15ke00sya1mv5be5a8e', 'hold', 3, 10, 40, 10, NULL, 1795815244979);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0ere0094nfs69vd4vt1', 3, 'entry_01m8few19je00a432a7xaavfpd', 'charge', 3, 4, 40, 6, NULL, 1795815245106);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0ere0094nfs69vd4vt1', 4, 'entry_01m8few19je00t0kbqh87qk4my', 'release', 3, 6, 46, 0, NULL, 1795815245106);
INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, note, created_at) VALUES ('acct_01m8few0ere0094nfs69vd4vt1', 5, 'entry_01m8few1ege00ah7wr5nsxbxf6', 'grant', NULL, 25, 71, 0, 'a gift', 1795815245264);
INSERT INTO queues (model, virtual_time) VALUES ('test/failing/text-to-image', 0.0);
INSERT INTO queues (model, virtual_time) VALUES ('test/gate/text-to-image', 0.0);
INSERT INTO queues (model, virtual_time) VALUES ('test/instant/text-to-image', 9.0);
INSERT INTO queues (model, virtual_time) VALUES ('test/usage/text-to-image', 0.0);
INSERT INTO queue_shares (model, account_id, finish) VALUES ('test/failing/text-to-image', 'acct_01m8few0dwe00bxbk6xwmws3xv', 7.0);
INSERT INTO queue_shares (model, account_id, finish) VALUES ('test/gate/text-to-image', 'acct_01m8few0dwe00bxbk6xwmws3xv', 10.0);
INSERT INTO queue_shares (model, account_id, finish) VALUES ('test/instant/text-to-image', 'acct_01m8few0dwe00bxbk6xwmws3xv', 13.0);
INSERT INTO queue_shares (model, account_id, finish) VALUES ('test/usage/text-to-image', 'acct_01m8few0ere0094nfs69vd4vt1', 10.0);
INSERT INTO webhooks (webhook_id, account_id, url, description, include_input, secret, created_at, disabled_at, deleted_at, next_due_at, claimed_at, delivery_count, standing) VALUES ('wh_01m8few1che00awtegbnktt90h', 'acct_01m8few0dwe00bxbk6xwmws3xv', 'http://127.0.0.1:18080/hook', 'a note', 0, X'6BAE776F449395E891FF03FD9A3921D2FAE6B1D6603A48B3432E1A9A6B7A0232', 1795815245201, NULL, NULL, 1795815247273, 1795815245451, 3, 1);
INSERT INTO webhook_turns (account_id, claimed_at) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 1795815245451);
INSERT INTO webhook_deliveries (number, delivery_id, webhook_id, job_number, event, job_then, status, due_at, attempt, attempts, error, token, created_at, finished_at, waits_since, claimed_as) VALUES (1, 'dlv_01a21eee06013e4cb37b6794be3a98ca', 'wh_01m8few1che00awtegbnktt90h', 5, 'job.succeeded', NULL, 'pending', 1795815251256, 1, '[{"attemptedAtMs":1795815245323,"responseStatus":null,"error":"The connection was refused.","durationMs":80}]', 'The connection was refused.', 1, 1795815245313, NULL, 1795815245403, NULL);
INSERT INTO webhook_deliveries (number, delivery_id, webhook_id, job_number, event, job_then, status, due_at, attempt, attempts, error, token, created_at, finished_at, waits_since, claimed_as) VALUES (2, 'dlv_01a21eee066d897548c5b5c5d21e43f9', 'wh_01m8few1che00awtegbnktt90h', 6, 'job.canceled', NULL, 'pending', 1795815251309, 1, '[{"attemptedAtMs":1795815245454,"responseStatus":null,"error":"The connection was refused.","durationMs":2}]', 'The connection was refused.', 1, 1795815245421, NULL, 1795815245456, NULL);
INSERT INTO webhook_deliveries (number, delivery_id, webhook_id, job_number, event, job_then, status, due_at, attempt, attempts, error, token, created_at, finished_at, waits_since, claimed_as) VALUES (3, 'dlv_01a21eee0da979f9de945559a6b30520', 'wh_01m8few1che00awtegbnktt90h', 7, 'job.needs_review', '{"status":"needs_review","progress":0.0,"attempts":1,"creditsCharged":0,"creditsReleased":0,"outputs":[],"error":{"code":"outcome_unknown","message":"Nobody knows yet how the run ended, and its work may have cost money elsewhere. The credits stay held until that is known, an operator decides, or the review period ends.","retryable":false},"finishedAtMs":1795815247273,"sequence":3}', 'pending', 1795815247273, 0, '[]', NULL, 0, 1795815247273, NULL, 1795815247273, NULL);
INSERT INTO files (file_id, account_id, key, content_type, bytes, sha256, created_at, expires_at, gone, removal_at) VALUES ('file_01m8few1cye00bxc45kt4kw5te', 'acct_01m8few0dwe00bxbk6xwmws3xv', 'file_01m8few1cye00bxc45kt4kw5te/0.png', 'image/png', 96, 'e937b4ee0f72ba72c0c6df50566876835fbe6bbaf2267a52a186b3962d30335e', 1795815245260, 4949415245000, 0, NULL);
INSERT INTO upload_totals (account_id, bytes) VALUES ('acct_01m8few0dwe00bxbk6xwmws3xv', 65536);
INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at) VALUES (1, 'audit_01m8few0dwe01a5zwg27tp4rye', 'command_line', NULL, 'root', 'account.created', 'acct_01m8few0dwe00bxbk6xwmws3xv', 'acct_01m8few0dwe00bxbk6xwmws3xv', NULL, '{"name":"test","available":1000}', 1795815244220);
INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at) VALUES (2, 'audit_01m8few0eee00s12x4ttdg9zdy', 'command_line', NULL, 'root', 'key.created', 'key_01m8few0eee00a10wzeexhmpw5', 'acct_01m8few0dwe00bxbk6xwmws3xv', NULL, '{"permissions":["generate","models:read","jobs:read","wallet:read","webhooks"],"expires_at":null}', 1795815244238);
INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at) VALUES (3, 'audit_01m8few0ere01bk25st5ssq208', 'command_line', NULL, 'root', 'account.created', 'acct_01m8few0ere0094nfs69vd4vt1', 'acct_01m8few0ere0094nfs69vd4vt1', NULL, '{"name":"test","available":50}', 1795815244248);
INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at) VALUES (4, 'audit_01m8few0eze00rkk04rr6xpffx', 'command_line', NULL, 'root', 'key.created', 'key_01m8few0eze009rt8vb6n5myqd', 'acct_01m8few0ere0094nfs69vd4vt1', NULL, '{"permissions":["generate","models:read","jobs:read","wallet:read","webhooks"],"expires_at":null}', 1795815244255);
INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at) VALUES (5, 'audit_01m8few1ege00ve5b1jc0f40mr', 'command_line', NULL, 'root', 'credits.granted', 'acct_01m8few0ere0094nfs69vd4vt1', 'acct_01m8few0ere0094nfs69vd4vt1', '{"available":46,"held":0}', '{"available":71,"held":0,"credits":25,"note":"a gift"}', 1795815245264);
INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at) VALUES (6, 'audit_01m8few1eke00v5tnadhftg3dj', 'command_line', NULL, 'root', 'key.created', 'key_01m8few1eke008xw5npc163rqw', 'acct_01m8few0ere0094nfs69vd4vt1', NULL, '{"name":"revoked","permissions":["generate"],"expires_at":null}', 1795815245267);
INSERT INTO audit_entries (number, entry_id, actor, key_id, os_user, act, subject, account_id, before, after, created_at) VALUES (7, 'audit_01m8few1eme00bycsgyv942vew', 'command_line', NULL, 'root', 'key.revoked', 'key_01m8few1eke008xw5npc163rqw', 'acct_01m8few0ere0094nfs69vd4vt1', '{"revoked_at":null}', '{"revoked_at":"2026-11-27T21:34:05.268Z"}', 1795815245268);
CREATE INDEX api_keys_by_account ON api_keys (account_id, key_id);
CREATE INDEX rate_buckets_by_full_at ON rate_buckets (full_at);
CREATE INDEX jobs_by_account ON jobs (account_id, ordinal, model, deleted_at);
CREATE INDEX jobs_by_status ON jobs (account_id, status, deleted_at) WHERE status <> 'succeeded';
CREATE INDEX jobs_deleted ON jobs (account_id, ordinal) WHERE deleted_at IS NOT NULL;
CREATE INDEX jobs_queued ON jobs (model, priority DESC, fair, number, deadline_at) WHERE status = 'queued' AND available_at IS NULL;
CREATE INDEX jobs_by_lease ON jobs (lease_until) WHERE status = 'running';
CREATE INDEX jobs_by_deadline ON jobs (deadline_at) WHERE status = 'queued' AND deadline_at IS NOT NULL;
CREATE INDEX jobs_by_retry ON jobs (available_at) WHERE available_at IS NOT NULL;
CREATE INDEX jobs_in_review ON jobs (finished_at) WHERE status = 'needs_review';
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE outputs_gone = 0 AND expires_at IS NOT NULL;
CREATE INDEX jobs_removing ON jobs (removal_at) WHERE removal_at IS NOT NULL;
CREATE INDEX upstream_runs_by_id ON upstream_runs (provider, upstream_id) WHERE upstream_id IS NOT NULL;
CREATE INDEX upstream_runs_submitting ON upstream_runs (provider, submitted_at) WHERE verdict = 'submitting';
CREATE INDEX upstream_duties_due ON upstream_duties (due_at);
CREATE UNIQUE INDEX ledger_entries_by_job ON ledger_entries (job_number, kind);
CREATE INDEX webhooks_by_account ON webhooks (account_id, webhook_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (webhook_id) WHERE deleted_at IS NOT NULL AND delivery_count = 0;
CREATE INDEX webhooks_due ON webhooks (proven, next_due_at) WHERE next_due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_claimed ON webhook_deliveries (webhook_id) WHERE claimed_as IS NOT NULL;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_by_status ON webhook_deliveries (webhook_id, status, number) WHERE status <> 'delivered';
CREATE UNIQUE INDEX webhook_deliveries_by_job ON webhook_deliveries (job_number, webhook_id, event);
CREATE INDEX webhook_deliveries_by_wait ON webhook_deliveries (waits_since) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_by_end ON webhook_deliveries (finished_at) WHERE status <> 'pending';
CREATE INDEX files_by_account ON files (account_id, file_id, expires_at) WHERE gone = 0;
CREATE INDEX files_expiring ON files (expires_at) WHERE gone = 0;
CREATE INDEX files_removing ON files (removal_at) WHERE removal_at IS NOT NULL;
CREATE INDEX audit_entries_by_account ON audit_entries (account_id, number) WHERE account_id IS NOT NULL;
CREATE TRIGGER accounts_begin_empty BEFORE INSERT ON accounts
WHEN NEW.available <> 0 OR NEW.held <> 0 OR NEW.entry_count <> 0 OR NEW.job_count <> 0 OR NEW.queued_jobs <> 0
  OR NEW.forgotten_count <> 0 OR NEW.forgotten_up_to <> 0
BEGIN
  SELECT RAISE(ABORT, 'accounts: a new account is empty; credits come by an entry of the ledger');
END;
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
CREATE TRIGGER queues_move_on BEFORE UPDATE ON queues
WHEN NEW.virtual_time < OLD.virtual_time OR NEW.model <> OLD.model
BEGIN
  SELECT RAISE(ABORT, 'queues: virtual time never goes back');
END;
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
CREATE TRIGGER audit_entries_stand BEFORE UPDATE ON audit_entries
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: what is on record does not change');
END;
CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: what is on record is never deleted');
END;
CREATE TRIGGER audit_entries_follow BEFORE INSERT ON audit_entries
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM audit_entries) OR EXISTS (SELECT 1 FROM audit_entries WHERE entry_id = NEW.entry_id)
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: entries are appended, one by one');
END;
PRAGMA user_version = 0;
PRAGMA application_id = 0;

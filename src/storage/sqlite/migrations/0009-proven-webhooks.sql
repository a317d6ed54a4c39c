-- Places of a sender go to endpoints that answer promptly. Each attempt rates its endpoint (deliveries.ts): a prompt one adds 1, up
-- to 1, a slow one sets it to -10. Endpoints that are there already prove themselves with their next delivery.
ALTER TABLE webhooks ADD COLUMN standing INTEGER NOT NULL DEFAULT 0 CHECK (standing BETWEEN -10 AND 1);
ALTER TABLE webhooks ADD COLUMN proven INTEGER GENERATED ALWAYS AS (standing > 0) VIRTUAL;

DROP INDEX webhooks_due;
CREATE INDEX webhooks_due ON webhooks (proven, next_due_at) WHERE next_due_at IS NOT NULL;

-- Accounts take turns, however many endpoints each has; the endpoints of an account take turns among themselves (`claimed_at`).
CREATE TABLE webhook_turns (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  claimed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

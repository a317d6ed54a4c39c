-- What operators did: who, to what, and what was so before and after. Written in the transaction of the act, and never changed.
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

CREATE INDEX audit_entries_by_account ON audit_entries (account_id, number) WHERE account_id IS NOT NULL;

CREATE TRIGGER audit_entries_stand BEFORE UPDATE ON audit_entries
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: what is on record does not change');
END;

CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: what is on record is never deleted');
END;

-- Numbers have no gaps, so that a missing entry shows. REPLACE would delete without the trigger above.
CREATE TRIGGER audit_entries_follow BEFORE INSERT ON audit_entries
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM audit_entries) OR EXISTS (SELECT 1 FROM audit_entries WHERE entry_id = NEW.entry_id)
BEGIN
  SELECT RAISE(ABORT, 'audit_entries: entries are appended, one by one');
END;

-- Uploads: a row is written after its file is durable, and marked as gone before its file is removed, so that no row that is
-- shown has no file. It goes when the file has. Times are milliseconds since 1970.
CREATE TABLE files (
  file_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  key TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL CHECK (expires_at > created_at),
  gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
) STRICT, WITHOUT ROWID;

-- Lists newest first.
CREATE INDEX files_by_account ON files (account_id, file_id) WHERE gone = 0;
-- What sweeps look for: uploads whose time is over, and those whose files are to be removed.
CREATE INDEX files_expiring ON files (expires_at) WHERE gone = 0;
CREATE INDEX files_gone ON files (file_id) WHERE gone = 1;

-- What the uploads of an account take on the disk, kept by triggers. A small file counts as 64 KiB (src/core/upload.ts).
CREATE TABLE upload_totals (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT, WITHOUT ROWID;

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
WHEN OLD.gone = 1 OR NEW.gone = 0
BEGIN
  SELECT RAISE(ABORT, 'files: an upload does not change until it is gone, and does not come back');
END;

CREATE TRIGGER files_go_first BEFORE DELETE ON files
WHEN OLD.gone = 0
BEGIN
  SELECT RAISE(ABORT, 'files: an upload is said to be gone before its file is removed');
END;

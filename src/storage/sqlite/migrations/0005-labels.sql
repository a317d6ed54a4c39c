-- Labels of jobs, and references of grants. Programs without it would grant a payment twice.

-- JSON of the labels of the start, by name; null for none.
ALTER TABLE jobs ADD COLUMN labels TEXT CHECK (labels IS NULL OR json_valid(labels));

CREATE TRIGGER jobs_keep_labels BEFORE UPDATE OF labels ON jobs
BEGIN
  SELECT RAISE(ABORT, 'jobs: what a job was started with does not change');
END;

-- What pays for a grant, and the entry of the ledger that it made.
CREATE TABLE grant_references (
  reference TEXT NOT NULL PRIMARY KEY CHECK (length(reference) BETWEEN 1 AND 128),
  account_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  UNIQUE (account_id, number),
  FOREIGN KEY (account_id, number) REFERENCES ledger_entries (account_id, number) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

CREATE TRIGGER grant_references_stand BEFORE UPDATE ON grant_references
BEGIN
  SELECT RAISE(ABORT, 'grant_references: what was granted does not change');
END;

CREATE TRIGGER grant_references_stay BEFORE DELETE ON grant_references
BEGIN
  SELECT RAISE(ABORT, 'grant_references: what was granted is never forgotten');
END;

-- REPLACE would delete without the trigger above.
CREATE TRIGGER grant_references_not_replaced BEFORE INSERT ON grant_references
WHEN EXISTS (
  SELECT 1 FROM grant_references WHERE reference = NEW.reference OR (account_id = NEW.account_id AND number = NEW.number)
)
BEGIN
  SELECT RAISE(ABORT, 'grant_references: a reference is for one grant');
END;

-- Labels of jobs, and references of grants. Programs without it would grant a payment twice.

-- JSON of the labels of the start, by name; null for none.
ALTER TABLE jobs ADD COLUMN labels TEXT CHECK (labels IS NULL OR labels::json IS NOT NULL);

CREATE TRIGGER jobs_keep_labels BEFORE UPDATE OF labels ON jobs FOR EACH ROW
EXECUTE FUNCTION refuse('jobs: what a job was started with does not change');

-- What pays for a grant, and the entry of the ledger that it made.
CREATE TABLE grant_references (
  reference TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(reference) BETWEEN 1 AND 128),
  account_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  UNIQUE (account_id, number),
  FOREIGN KEY (account_id, number) REFERENCES ledger_entries (account_id, number) DEFERRABLE INITIALLY DEFERRED
);

CREATE TRIGGER grant_references_stand BEFORE UPDATE OR DELETE ON grant_references FOR EACH ROW
EXECUTE FUNCTION refuse('grant_references: what was granted does not change, and is never forgotten');

-- Compatible: a job that a program without it starts or runs does not say how to make it again; the database itself keeps the labels.

-- JSON of what the start added to the input: values by JSON pointer, such as defaults and a seed.
ALTER TABLE job_inputs ADD COLUMN additions TEXT CHECK (additions IS NULL OR json_valid(additions));

-- JSON of what made the outputs: version, engine, and what its provider calls the model.
ALTER TABLE jobs ADD COLUMN made_by TEXT CHECK (made_by IS NULL OR (status = 'succeeded' AND json_valid(made_by)));

CREATE TRIGGER jobs_keep_made_by BEFORE UPDATE OF made_by ON jobs
WHEN OLD.made_by IS NOT NULL AND NEW.made_by IS NOT OLD.made_by
BEGIN
  SELECT RAISE(ABORT, 'jobs: what made its outputs does not change');
END;

-- Jobs by label, as lists show them: those that their owners deleted are left out.
CREATE TABLE job_labels (
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  job_number INTEGER NOT NULL,
  PRIMARY KEY (account_id, name, value, job_number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER jobs_list_labels AFTER INSERT ON jobs
WHEN NEW.labels IS NOT NULL
BEGIN
  INSERT INTO job_labels (account_id, name, value, job_number) SELECT NEW.account_id, key, value, NEW.number FROM json_each(NEW.labels);
END;

CREATE TRIGGER jobs_unlist_deleted AFTER UPDATE OF deleted_at ON jobs
WHEN NEW.deleted_at IS NOT NULL AND NEW.labels IS NOT NULL
BEGIN
  DELETE FROM job_labels WHERE account_id = NEW.account_id AND job_number = NEW.number
    AND (name, value) IN (SELECT key, value FROM json_each(NEW.labels));
END;

CREATE TRIGGER jobs_unlist_forgotten AFTER DELETE ON jobs
WHEN OLD.labels IS NOT NULL
BEGIN
  DELETE FROM job_labels WHERE account_id = OLD.account_id AND job_number = OLD.number
    AND (name, value) IN (SELECT key, value FROM json_each(OLD.labels));
END;

INSERT INTO job_labels (account_id, name, value, job_number)
SELECT account_id, l.key, l.value, number FROM jobs, json_each(labels) AS l WHERE labels IS NOT NULL AND deleted_at IS NULL;

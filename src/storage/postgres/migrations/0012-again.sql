-- Compatible: a job that a program without it starts or runs does not say how to make it again; the database itself keeps the labels.

-- JSON of what the start added to the input: values by JSON pointer, such as defaults and a seed.
ALTER TABLE job_inputs ADD COLUMN additions TEXT CHECK (additions IS NULL OR additions::json IS NOT NULL);

-- JSON of what made the outputs: version, engine, and what its provider calls the model.
ALTER TABLE jobs ADD COLUMN made_by TEXT CHECK (made_by IS NULL OR (status = 'succeeded' AND made_by::json IS NOT NULL));

CREATE TRIGGER jobs_keep_made_by BEFORE UPDATE OF made_by ON jobs FOR EACH ROW
WHEN (OLD.made_by IS NOT NULL AND NEW.made_by IS DISTINCT FROM OLD.made_by)
EXECUTE FUNCTION refuse('jobs: what made its outputs does not change');

-- Jobs by label, as lists show them: those that their owners deleted are left out.
CREATE TABLE job_labels (
  account_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  job_number BIGINT NOT NULL,
  PRIMARY KEY (account_id, name, value, job_number)
);

CREATE FUNCTION jobs_list_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM added WHERE labels IS NOT NULL) THEN
    INSERT INTO job_labels (account_id, name, value, job_number)
    SELECT account_id, l.key, l.value, number FROM added, json_each_text(labels::json) AS l WHERE labels IS NOT NULL;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_list_labels AFTER INSERT ON jobs REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION jobs_list_labels();

CREATE FUNCTION jobs_unlist_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM job_labels USING json_each_text(OLD.labels::json) AS l
  WHERE account_id = OLD.account_id AND name = l.key AND job_labels.value = l.value AND job_number = OLD.number;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_unlist_deleted AFTER UPDATE OF deleted_at ON jobs FOR EACH ROW
WHEN (NEW.deleted_at IS NOT NULL AND NEW.labels IS NOT NULL) EXECUTE FUNCTION jobs_unlist_labels();

CREATE TRIGGER jobs_unlist_forgotten AFTER DELETE ON jobs FOR EACH ROW
WHEN (OLD.labels IS NOT NULL) EXECUTE FUNCTION jobs_unlist_labels();

INSERT INTO job_labels (account_id, name, value, job_number)
SELECT account_id, l.key, l.value, number FROM jobs, json_each_text(labels::json) AS l WHERE labels IS NOT NULL AND deleted_at IS NULL;

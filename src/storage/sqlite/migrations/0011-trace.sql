-- Compatible: a job that a program without it starts or runs is missing in a trace.

-- Where the start of the job is in a trace (src/core/traces.ts); null for no trace.
ALTER TABLE jobs ADD COLUMN trace TEXT;

CREATE TRIGGER jobs_keep_trace BEFORE UPDATE OF trace ON jobs
BEGIN
  SELECT RAISE(ABORT, 'jobs: what a job was started with does not change');
END;

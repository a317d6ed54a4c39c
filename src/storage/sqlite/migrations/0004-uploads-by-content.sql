-- Compatible: an index only.

-- Uploads of an account with the same bytes.
CREATE INDEX files_by_content ON files (account_id, sha256, file_id) WHERE gone = 0;

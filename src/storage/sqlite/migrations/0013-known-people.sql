-- Compatible: programs without it sign people in without what the provider says of them, and the keys that these made wait for the next sign-in.
-- What the provider said of a person at their last sign-in, as JSON with email and groups: the rules of now are held against it.
ALTER TABLE people ADD COLUMN facts TEXT;

-- Where a session began: the address of the client, and how its browser calls itself. When it was last used, up to a minute late.
ALTER TABLE sessions ADD COLUMN address TEXT;
ALTER TABLE sessions ADD COLUMN browser TEXT;
ALTER TABLE sessions ADD COLUMN last_seen_at INTEGER;

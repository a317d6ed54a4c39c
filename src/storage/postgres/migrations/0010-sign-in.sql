-- Compatible: programs without it know neither people nor sessions, and see the keys of people as keys whose text nobody has.
-- People who sign in at an OpenID provider: each is a key, whose prefix is `mgs_`.
CREATE TABLE people (
  issuer TEXT COLLATE "C" NOT NULL CHECK (length(issuer) BETWEEN 1 AND 2000),
  subject TEXT COLLATE "C" NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  key_id TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES api_keys (key_id),
  PRIMARY KEY (issuer, subject)
);

-- Sessions of people. Removed some time after they have expired.
CREATE TABLE sessions (
  session_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  key_id TEXT COLLATE "C" NOT NULL REFERENCES api_keys (key_id),
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (account_id),
  token_hash BYTEA NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  -- A sign-in makes one session, however often its answer arrives.
  state_hash BYTEA NOT NULL UNIQUE CHECK (length(state_hash) = 32),
  -- The settings that allowed it: under others it does not work.
  terms TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL CHECK (expires_at > created_at),
  revoked_at BIGINT
);

CREATE INDEX sessions_by_key ON sessions (key_id, session_id);
CREATE INDEX sessions_by_account ON sessions (account_id, session_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- A chain over the entries of each account (docs/decisions/ledger-chain.md). Programs without it write entries that have no hash.

-- SHA-256 in hexadecimal over the entry and the hash of the one before it (src/core/credits/ledger-chain.ts); null for entries that
-- were written before there were chains.
ALTER TABLE ledger_entries ADD COLUMN hash TEXT COLLATE "C" CHECK (length(hash) = 64);
-- The hash of the last entry; null as long as that has none.
ALTER TABLE accounts ADD COLUMN ledger_head TEXT COLLATE "C"
  CHECK (ledger_head IS NULL OR (length(ledger_head) = 64 AND entry_count > 0));

CREATE OR REPLACE FUNCTION accounts_follow_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.entry_count <= OLD.entry_count OR NOT EXISTS (
    SELECT 1 FROM ledger_entries AS e WHERE e.account_id = NEW.account_id AND e.number = NEW.entry_count
      AND e.available_after = NEW.available AND e.held_after = NEW.held AND e.hash = NEW.ledger_head
  ) THEN
    RAISE EXCEPTION 'accounts: a balance changes only by the next entry of the ledger, which has a hash' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

DROP TRIGGER accounts_follow_ledger ON accounts;
CREATE TRIGGER accounts_follow_ledger BEFORE UPDATE OF available, held, entry_count, ledger_head ON accounts FOR EACH ROW
EXECUTE FUNCTION accounts_follow_ledger();

CREATE OR REPLACE FUNCTION ledger_entries_move_balance() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM added WHERE hash IS NULL) THEN
    RAISE EXCEPTION 'ledger_entries: an entry has a hash' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF EXISTS (
    SELECT 1 FROM added AS e WHERE e.job_number IS NOT NULL AND e.credits IS DISTINCT FROM (
      SELECT CASE e.kind WHEN 'hold' THEN j.credits_held WHEN 'charge' THEN j.credits_charged ELSE j.credits_released END
      FROM jobs AS j WHERE j.number = e.job_number AND j.account_id = e.account_id
    )
  ) THEN
    RAISE EXCEPTION 'ledger_entries: the entry does not match the money of its job' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF EXISTS (
    SELECT 1 FROM (
      SELECT e.*, coalesce(lag(e.number) OVER w, a.entry_count) AS number_before,
        coalesce(lag(e.available_after) OVER w, a.available) AS available_before, coalesce(lag(e.held_after) OVER w, a.held) AS held_before
      FROM added AS e JOIN accounts AS a ON a.account_id = e.account_id WINDOW w AS (PARTITION BY e.account_id ORDER BY e.number)
    ) AS e
    WHERE e.number <> e.number_before + 1
      OR e.available_after <> e.available_before + CASE e.kind WHEN 'hold' THEN -e.credits WHEN 'charge' THEN 0 ELSE e.credits END
      OR e.held_after <> e.held_before + CASE e.kind WHEN 'hold' THEN e.credits WHEN 'charge' THEN -e.credits WHEN 'release' THEN -e.credits ELSE 0 END
  ) THEN
    RAISE EXCEPTION 'ledger_entries: the entry does not follow from the balance of the account' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  UPDATE accounts AS a SET available = e.available_after, held = e.held_after, entry_count = e.number, ledger_head = e.hash
  FROM (SELECT DISTINCT ON (account_id) * FROM added ORDER BY account_id, number DESC) AS e WHERE a.account_id = e.account_id;
  RETURN NULL;
END $$;

-- A chain over the entries of each account (docs/decisions/ledger-chain.md). Programs without it write entries that have no hash.

-- SHA-256 in hexadecimal over the entry and the hash of the one before it (src/core/credits/ledger-chain.ts); null for entries that
-- were written before there were chains.
ALTER TABLE ledger_entries ADD COLUMN hash TEXT CHECK (length(hash) = 64);
-- The hash of the last entry; null as long as that has none.
ALTER TABLE accounts ADD COLUMN ledger_head TEXT CHECK (ledger_head IS NULL OR (length(ledger_head) = 64 AND entry_count > 0));

-- So an entry without a hash is refused, too, since null equals nothing.
DROP TRIGGER accounts_follow_ledger;
CREATE TRIGGER accounts_follow_ledger BEFORE UPDATE OF available, held, entry_count, ledger_head ON accounts
BEGIN
  SELECT RAISE(ABORT, 'accounts: a balance changes only by the next entry of the ledger, which has a hash')
  WHERE NOT EXISTS (
    SELECT 1 FROM ledger_entries AS e
    WHERE e.account_id = NEW.account_id AND e.number = NEW.entry_count AND NEW.entry_count = OLD.entry_count + 1
      AND e.available_after = NEW.available AND e.held_after = NEW.held AND e.hash = NEW.ledger_head
  );
END;

DROP TRIGGER ledger_entries_move_balance;
CREATE TRIGGER ledger_entries_move_balance AFTER INSERT ON ledger_entries
BEGIN
  UPDATE accounts SET available = NEW.available_after, held = NEW.held_after, entry_count = NEW.number, ledger_head = NEW.hash
  WHERE account_id = NEW.account_id;
END;

-- Compatible: programs without it sign messages with the newest secret alone.
-- The secrets that an endpoint had before and that still sign, as JSON; null if there are none.
ALTER TABLE webhooks ADD COLUMN previous_secrets TEXT;

// The tables of an installation as a copy of it needs them; both databases have the same, with the same columns.

/** Tables whose rows are copied, those before that others refer to. `key` orders their rows, the same way in every database. */
export const movedTables = {
  accounts: ['account_id'],
  api_keys: ['key_id'],
  people: ['issuer', 'subject'],
  sessions: ['session_id'],
  signing_keys: ['purpose', 'number'],
  jobs: ['number'],
  spending: ['owner', 'day'],
  usage: ['account_id', 'day', 'model', 'key_id', 'labels'],
  forgotten_jobs: ['number'],
  job_inputs: ['number'],
  job_labels: ['account_id', 'name', 'value', 'job_number'],
  upstream_runs: ['job_number', 'n'],
  upstream_duties: ['job_number'],
  ledger_entries: ['account_id', 'number'],
  grant_references: ['reference'],
  queues: ['model'],
  queue_shares: ['model', 'account_id'],
  webhooks: ['webhook_id'],
  webhook_turns: ['account_id'],
  webhook_deliveries: ['number'],
  files: ['file_id'],
  upload_totals: ['account_id'],
  audit_entries: ['number'],
  found_submissions: ['job_id', 'n'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Tables of what holds only while servers run: buckets, the lease of the sweeper, slots and pauses at providers. */
export const passingTables = ['rate_buckets', 'leaders', 'providers', 'provider_places']

export type MovedTable = keyof typeof movedTables

/** A value of a row. */
export type Cell = string | number | Uint8Array | null

/** A database that is read, and that does not change meanwhile. */
export interface TableSource extends AsyncDisposable {
  /** Whether a server is known to work on this database: it is connected, or leads. */
  isServed(nowMs: number): Promise<boolean>
  /** Names of the columns that are stored, and not computed from others; in alphabetical order. */
  columns(table: MovedTable): Promise<readonly string[]>
  /** All rows in the order of their keys, in batches. */
  read(table: MovedTable, columns: readonly string[]): AsyncIterable<readonly (readonly Cell[])[]>
}

/** A new database that is written in one transaction. Disposing of it without a commit leaves it as it was. */
export interface TableTarget extends Omit<TableSource, 'isServed'> {
  write(table: MovedTable, columns: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void>
  /** Enables the rules of the schema again, and makes all that was written durable. */
  commit(): Promise<void>
}

/** Rows that are read or written at once. */
export const batchRows = 1000

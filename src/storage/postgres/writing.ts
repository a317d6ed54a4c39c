// What every command gets: its transaction, ids, and the lists of its changes.
import type { AuditEntry } from '../../core/accounts/audit.ts'
import type { IdSource } from '../../core/ids.ts'
import type { Job } from '../../core/jobs/job.ts'
import type { Transaction } from './connection.ts'

/** A command's side of a transaction. */
export interface Writing extends Transaction {
  /** Call `nowMs` first: ids have its time. */
  readonly ids: IdSource
  /** Reports a changed job, with its record where it is at hand; dropped if the transaction is rolled back. */
  changed(jobId: string, job?: Job): void
  /** The same for a job that came into the queue. */
  queued(jobId: string): void
  /** Reports an administrative act; dropped likewise. */
  acted(entry: AuditEntry): void
}

/** Runs a command in a transaction. */
export type Submit = <Result>(command: (tx: Writing) => Promise<Result>) => Promise<Result>

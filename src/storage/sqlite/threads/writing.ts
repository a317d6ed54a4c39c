// The parameters of every command of the writer thread.
import type { AuditEntry } from '../../../core/accounts/audit.ts'
import type { IdSource } from '../../../core/ids.ts'
import type { Job } from '../../../core/jobs/job.ts'
import type { Connection } from '../connection.ts'

/** The writer's side of a command: its connection, its time, its ids, and the lists of its changes. */
export interface Writing {
  readonly db: Connection
  /** Time of the command's batch, by the clock of the main thread. */
  nowMs(): number
  readonly ids: IdSource
  /** Reports a changed job, with its record where it is at hand; dropped if the command is rolled back. */
  changed(jobId: string, job?: Job): void
  /** Reports an administrative act; dropped if the command is rolled back. */
  acted(entry: AuditEntry): void
}

// The parameters of every command of the writer thread.
import type { AuditEntry } from '../../core/audit.ts'
import type { IdSource } from '../../core/ids.ts'
import type { Connection } from './connection.ts'

/** The writer's side of a command: its connection, its time, its ids, and the lists of its changes. */
export interface Writing {
  readonly db: Connection
  /** Time of the command's batch, by the clock of the main thread. */
  nowMs(): number
  readonly ids: IdSource
  /** Reports a changed job; dropped if the command is rolled back. */
  changed(jobId: string): void
  /** Reports an administrative act; dropped if the command is rolled back. */
  acted(entry: AuditEntry): void
}

// What every command of the writer thread is given.
import type { AuditEntry } from '../../core/audit.ts'
import type { IdSource } from '../../core/ids.ts'
import type { Connection } from './connection.ts'

/** The writer's side of a command: its connection, its time, its ids, and where it tells which jobs it changed. */
export interface Writing {
  readonly db: Connection
  /** Time of the batch that the command came with, by the clock of the main thread. */
  nowMs(): number
  readonly ids: IdSource
  /** Notes that a job changed; forgotten when the command is rolled back. */
  changed(jobId: string): void
  /** Notes an administrative act; forgotten when the command is rolled back. */
  acted(entry: AuditEntry): void
}

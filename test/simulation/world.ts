// A store that histories run on.
import type { SweepCommand, SweepOutcome } from '../../src/core/jobs/sweep.ts'
import type { LedgerReport, Store } from '../../src/core/store.ts'

/** The commands that histories use. */
type CommandName =
  | 'createAccount'
  | 'adjustCredits'
  | 'startGeneration'
  | 'claimJobs'
  | 'heartbeat'
  | 'saveCheckpoint'
  | 'finishJob'
  | 'endLeases'
  | 'claimPendingWork'
  | 'answerPendingWork'
  | 'requestCancel'
  | 'resolveReview'

/** A command that one process submitted. */
export type Submission = {
  [Name in CommandName]: { readonly name: Name; readonly args: Parameters<Store[Name]> }
}[CommandName]

/** A store, its clock in the hands of the test. */
export interface World {
  nowMs: number
  /** Runs one command as a group of one. Throws what the command threw. */
  run<Name extends CommandName>(name: Name, ...args: Parameters<Store[Name]>): ReturnType<Store[Name]>
  /** Runs all duties of a sweep. */
  sweep(command: SweepCommand): Promise<SweepOutcome>
  /** Runs commands together, as the store does with those of one moment. Answers are values or errors. */
  runGroup(submissions: readonly Submission[]): Promise<readonly unknown[]>
  /** Differs from before when rows may have changed. */
  changes(): string
  rows<Row extends object>(sql: string): Promise<Row[]>
  verify(): Promise<LedgerReport>
  /** Leaves nothing but what was durable, as kill -9 and a new start do. */
  restart(): Promise<void>
  close(): Promise<void>
}

// Runs many commands in one transaction with one fsync; with a savepoint each if one fails.
import { sqliteCode, type Connection } from '../connection.ts'

export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: Failure }

/** An answer on its way to the thread that sent the command. */
export type SentAnswer = Answer & { readonly id: number }

/** An error in the form that crosses threads. */
export interface Failure {
  readonly message: string
  /** The SQLite error code, or null for any other error. */
  readonly code: string | null
  readonly stack: string | undefined
}

/** Describes an error so that it can cross threads: a structured clone would lose its code. */
export function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error), code: null, stack: undefined }
  return { message: error.message, code: sqliteCode(error), stack: error.stack }
}

// What SQLite itself answers where it notices, which it does not with a write-ahead log.
const movedCode = 'SQLITE_READONLY_DBMOVED'

/**
 * Creates a function that runs steps in one transaction and returns their results in order, once it is durable. `together` runs
 * all of them, where that is cheaper than one after the other; it is tried first. Only a step
 * that throws is undone: all are rolled back and run again with a savepoint each. Savepoints are not used the first time,
 * because they copy each page that a step changes. Steps have no effect outside the database, so they can run again.
 * If the transaction itself fails (disk full, I/O error), none of its steps happened and all fail.
 * @param findMoved says which file of the database is another one now, in a clause; null if none is
 */
export function createBatchRunner(
  db: Connection,
  findMoved: () => string | null = () => null,
): (steps: readonly (() => unknown)[], together?: () => readonly unknown[]) => Answer[] {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const savepoint = db.prepare('SAVEPOINT command')
  const release = db.prepare('RELEASE command')
  const rollbackTo = db.prepare('ROLLBACK TO command')

  function runAlone(step: () => unknown): Answer {
    savepoint.run()
    let answer: Answer
    try {
      answer = { ok: true, value: step() }
    } catch (error) {
      // SQLite may have rolled back the whole transaction; then there is no savepoint to return to.
      if (!db.inTransaction) throw error
      rollbackTo.run()
      answer = { ok: false, error: toFailure(error) }
    }
    release.run()
    return answer
  }

  /** Null if a step threw. */
  function tryTogether(together: () => readonly unknown[]): Answer[] | null {
    try {
      return together().map((value): Answer => ({ ok: true, value }))
    } catch (error) {
      if (!db.inTransaction) throw error
      return null
    }
  }

  return function runBatch(steps, together = () => steps.map((step) => step())): Answer[] {
    const moved = findMoved()
    if (moved !== null) {
      const failed: Answer = { ok: false, error: { message: moved, code: movedCode, stack: undefined } }
      return steps.map(() => failed)
    }
    try {
      begin.run()
      let answers = tryTogether(together)
      if (answers === null) {
        rollback.run()
        begin.run()
        answers = steps.map(runAlone)
      }
      commit.run()
      return answers
    } catch (error) {
      if (db.inTransaction) rollback.run()
      // A deferred foreign key is checked only at commit; running each step alone shows which one violated it.
      if (steps.length > 1 && sqliteCode(error) === 'SQLITE_CONSTRAINT_FOREIGNKEY')
        return steps.flatMap((step) => runBatch([step]))
      const failed: Answer = { ok: false, error: toFailure(error) }
      return steps.map(() => failed)
    }
  }
}

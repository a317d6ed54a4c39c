// The store without its thread and its file: the same commands on the same schema, in memory, one call after the other.
import Database from 'better-sqlite3'
import { createIdSource } from '@mediagen/core/ids.ts'
import { createBatchRunner } from '@mediagen/storage/sqlite/batch.ts'
import { createCommands, type CommandName, type Commands } from '@mediagen/storage/sqlite/commands.ts'
import { createJobReads } from '@mediagen/storage/sqlite/jobs.ts'
import { loadMigrations } from '@mediagen/storage/sqlite/migrate.ts'
import { addSwept, type SweepCommand, type SweepOutcome } from '@mediagen/core/sweep.ts'
import { sweepDuties } from '@mediagen/storage/sqlite/sweeps.ts'
import { createLedgerVerifier } from '@mediagen/storage/sqlite/verify.ts'

/** A command that one process submitted. */
export type Submission = {
  [Name in CommandName]: { readonly name: Name; readonly args: Parameters<Commands[Name]> }
}[CommandName]

const emptyFile = (() => {
  using db = Object.assign(new Database(':memory:'), {
    [Symbol.dispose]() {
      db.close()
    },
  })
  for (const { sql } of loadMigrations()) db.exec(sql)
  return db.serialize()
})()

/** A store, its clock in the hands of the test. */
export interface World {
  nowMs: number
  /** Runs one command as a group of one. Throws what the command threw. */
  run<Name extends CommandName>(name: Name, ...args: Parameters<Commands[Name]>): ReturnType<Commands[Name]>
  /** Runs all duties of a sweep. */
  sweep(command: SweepCommand): SweepOutcome
  /** Runs commands as one group: one transaction, a savepoint each. Answers are values or errors. */
  runGroup(submissions: readonly Submission[]): readonly unknown[]
  reads(): ReturnType<typeof createJobReads>
  rows<Row>(sql: string): Row[]
  verify(): ReturnType<ReturnType<typeof createLedgerVerifier>>
  /** Leaves nothing but what was durable, as kill -9 and a new start do. */
  restart(): void
  close(): void
}

/** Creates an empty store. */
export function createWorld(nowMs: number, random: (bytes: number) => Uint8Array): World {
  let db = open(emptyFile)
  let parts = build()

  function build() {
    const clock = () => world.nowMs
    const commands = createCommands({
      db,
      nowMs: clock,
      ids: createIdSource(clock, random),
      changed: () => {},
      acted: () => {},
    })
    const parts = {
      commands,
      runBatch: createBatchRunner(db),
      reads: createJobReads(db, clock),
      verify: createLedgerVerifier(db),
    }
    return { ...parts, select: rememberStatements(db) }
  }

  function runGroup(submissions: readonly Submission[]): readonly unknown[] {
    const answers = parts.runBatch(
      submissions.map(
        ({ name, args }) =>
          () =>
            (parts.commands[name] as (...args: unknown[]) => unknown)(...args),
      ),
    )
    return answers.map((answer) => (answer.ok ? answer.value : new Error(answer.error.message)))
  }

  // eslint-disable-next-line -- `build` reads the clock of what it is a part of, later.
  const world: World = {
    nowMs,
    runGroup,
    run(name, ...args) {
      const [answer] = runGroup([{ name, args } as Submission])
      if (answer instanceof Error) throw answer
      return answer as ReturnType<Commands[typeof name]>
    },
    sweep: (command) => sweepDuties.map((duty) => world.run(duty, command)).reduce(addSwept),
    reads: () => parts.reads,
    rows: <Row>(sql: string) => parts.select(sql).all() as Row[],
    verify: () => parts.verify(),
    restart() {
      const file = db.serialize()
      db.close()
      db = open(file)
      parts = build()
    },
    close: () => void db.close(),
  }
  return world
}

function open(file: Buffer): Database.Database {
  const db = new Database(file)
  db.pragma('foreign_keys = ON')
  return prepareLater(db)
}

/** Statements by their text. */
function rememberStatements(db: Database.Database): (sql: string) => Database.Statement {
  const known = new Map<string, Database.Statement>()
  return (sql) => {
    const statement = known.get(sql) ?? db.prepare(sql)
    known.set(sql, statement)
    return statement
  }
}

/** The same connection, which prepares statements when they are first used: a history uses some of the hundred that there are. */
function prepareLater(db: Database.Database): Database.Database {
  return new Proxy(db, {
    get(target, name: keyof Database.Database) {
      if (name === 'prepare') return (sql: string) => makeLater(() => target.prepare(sql))
      const value = target[name]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function makeLater(make: () => Database.Statement): Database.Statement {
  let made: Database.Statement | undefined
  return new Proxy({} as Database.Statement, {
    get(_, name: keyof Database.Statement) {
      if (name === 'pluck') return () => makeLater(() => make().pluck())
      made ??= make()
      const value = made[name]
      return typeof value === 'function' ? value.bind(made) : value
    },
  })
}

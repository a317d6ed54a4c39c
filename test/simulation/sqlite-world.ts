// SQLite for histories, without its thread and its file: the same commands on the same schema, in memory, one call after the other.
import Database from 'better-sqlite3'
import { createIdSource } from '../../src/core/ids.ts'
import { addSwept, nothingSwept, type SweepOutcome } from '../../src/core/jobs/sweep.ts'
import { createLedgerChecks } from '../../src/storage/sqlite/accounts/verify.ts'
import type { ClaimedRow } from '../../src/storage/sqlite/jobs/claims.ts'
import { type StartAnswer, toStartRequest } from '../../src/storage/sqlite/jobs/starts.ts'
import { createSweepReads } from '../../src/storage/sqlite/jobs/sweeps.ts'
import { createDuePendingWorkRead } from '../../src/storage/sqlite/jobs/upstream.ts'
import { loadMigrations } from '../../src/storage/sqlite/migrate.ts'
import { toClaimedJob } from '../../src/storage/sqlite/open.ts'
import { createBatchRunner } from '../../src/storage/sqlite/threads/batch.ts'
import { type Call, createCommands, runCommands } from '../../src/storage/sqlite/threads/commands.ts'
import type { Submission, World } from './world.ts'

const emptyFile = (() => {
  using db = Object.assign(new Database(':memory:'), {
    [Symbol.dispose]() {
      db.close()
    },
  })
  for (const { sql } of loadMigrations()) db.exec(sql)
  return db.serialize()
})()

/** Creates an empty store: one transaction for a group, and a savepoint for each of its commands. @param random for ids */
export function createSqliteWorld(nowMs: number, random: (bytes: number) => Uint8Array): World {
  let db = open(emptyFile)
  let parts = build()
  let restarts = 0

  function build() {
    const clock = () => world.nowMs
    const commands = createCommands({
      db,
      nowMs: clock,
      ids: createIdSource(clock, random),
      changed: () => {},
      acted: () => {},
    })
    return {
      commands,
      runBatch: createBatchRunner(db),
      verify: createLedgerChecks(db).verifyLedger,
      hasDuePendingWork: createDuePendingWorkRead(db),
      ...createSweepReads(db, clock),
      select: rememberStatements(db),
      countChanges: db.prepare('SELECT total_changes()').pluck(),
    }
  }

  function toCall({ name, args }: Submission): Call {
    if (name === 'startGeneration') return { name: 'startGenerations', args: [toStartRequest(...args)] }
    if (name !== 'saveCheckpoint') return { name, args }
    const [jobId, token, saved] = args
    return { name, args: [jobId, token, { ...saved, checkpoint: JSON.stringify(saved.checkpoint) }] }
  }

  function perform(submissions: readonly Submission[]): unknown[] {
    return runCommands(parts.commands, submissions.map(toCall)).map((result, index) => {
      const name = submissions[index]?.name
      if (name === 'startGeneration') return (result as StartAnswer[])[0]
      return name === 'claimJobs' ? (result as ClaimedRow[]).map(toClaimedJob) : result
    })
  }

  function runBatch(acts: readonly (() => unknown)[], together?: () => unknown[]): readonly unknown[] {
    return parts.runBatch(acts, together).map((answer) => (answer.ok ? answer.value : new Error(answer.error.message)))
  }

  function runAlone(act: () => unknown): unknown {
    const [answer] = runBatch([act])
    if (answer instanceof Error) throw answer
    return answer
  }

  // eslint-disable-next-line -- `build` reads the clock of what it is a part of, later.
  const world: World = {
    nowMs,
    runGroup: async (submissions) =>
      runBatch(
        submissions.map((submission) => () => perform([submission])[0]),
        () => perform(submissions),
      ),
    // As the store does, these two begin with a read, and write only where there is something to do.
    run: (async (name, ...args) => {
      if (name === 'claimPendingWork' && !parts.hasDuePendingWork(world.nowMs)) return []
      return runAlone(() => perform([{ name, args } as Submission])[0])
    }) as World['run'],
    sweep: async (command) =>
      parts
        .findSweepSteps(command)
        .map((step) => runAlone(() => parts.commands[step](command)) as SweepOutcome)
        .reduce(addSwept, nothingSwept),
    changes: () => `${restarts} ${parts.countChanges.get() as number}`,
    rows: async <Row>(sql: string) => parts.select(sql).all() as Row[],
    verify: () => parts.verify(),
    async restart() {
      const file = db.serialize()
      db.close()
      db = open(file)
      parts = build()
      restarts += 1
    },
    close: async () => void db.close(),
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

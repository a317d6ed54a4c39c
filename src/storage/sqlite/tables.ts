// The tables of an SQLite file, to copy an installation from it or into a new one.
import { renameSync, rmSync } from 'node:fs'
import { StartupError } from '../../core/errors.ts'
import { batchRows, type Cell, movedTables, type TableSource, type TableTarget } from '../tables.ts'
import { type Connection, openFile, requireFile, setPragmas, toStartupError } from './connection.ts'
import { migrate, requireSchema } from './migrate.ts'

/**
 * Opens a file for reading, as it is now.
 * @param locks whether other processes cannot write to it until it is disposed of
 * @throws StartupError when no database is there, or its schema is not that of this program
 */
export function openSqliteTables(path: string, locks = true): TableSource {
  requireFile(path)
  const db = openFile(path)
  try {
    setPragmas(db)
    requireSchema(db, path, true)
    db.exec(locks ? 'BEGIN IMMEDIATE' : 'BEGIN')
  } catch (error) {
    db.close()
    throw toStartupError(error, path)
  }
  const until = db.prepare<[], number>('SELECT until FROM leaders').pluck()
  return {
    ...createReads(db),
    isServed: async (nowMs) => (until.get() ?? 0) > nowMs,
    async [Symbol.asyncDispose]() {
      db.exec('ROLLBACK')
      db.close()
    },
  }
}

/**
 * Creates a file, which gets its name only with the commit.
 * @throws StartupError when there is one of that name
 */
export function createSqliteTables(path: string, nowMs: number): TableTarget {
  const part = `${path}.moving`
  for (const file of [part, `${part}-wal`, `${part}-shm`]) rmSync(file, { force: true })
  const db = openFile(part)
  setPragmas(db)
  migrate(db, part, nowMs)
  const triggers = db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all()
  db.exec('BEGIN IMMEDIATE; PRAGMA defer_foreign_keys = ON')
  // They would count again what the rows have counted, and refuse rows that are not new.
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  let done = false
  return {
    ...createReads(db),
    async write(table, columns, rows) {
      const parameters = columns.map(() => '?').join(', ')
      const insert = db.prepare<Cell[]>(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${parameters})`)
      for (const row of rows) insert.run(...row)
    },
    async commit() {
      for (const { sql } of triggers) db.exec(sql)
      db.exec('COMMIT')
      db.pragma('wal_checkpoint(TRUNCATE)')
      db.close()
      done = true
      renameSync(part, path)
    },
    async [Symbol.asyncDispose]() {
      if (done) return
      db.close()
      for (const file of [part, `${part}-wal`, `${part}-shm`]) rmSync(file, { force: true })
    },
  }
}

/** @throws StartupError when a file is in the way of a new one */
export function refuseFile(path: string, exists: boolean): void {
  if (exists) throw new StartupError(`There is a database ${path} already; move to another folder.`)
}

function createReads(db: Connection): Pick<TableSource, 'columns' | 'read'> {
  return {
    async columns(table) {
      const all = db.pragma(`table_xinfo(${table})`) as { name: string; hidden: number }[]
      return all.flatMap(({ name, hidden }) => (hidden === 0 ? [name] : [])).toSorted()
    },
    async *read(table, columns) {
      const key = movedTables[table].join(', ')
      const select = db.prepare<[], Cell[]>(`SELECT ${columns.join(', ')} FROM ${table} ORDER BY ${key}`).raw()
      let batch: Cell[][] = []
      for (const row of select.iterate()) {
        if (batch.push(row) < batchRows) continue
        yield batch
        batch = []
      }
      if (batch.length > 0) yield batch
    },
  }
}

// Migrates a database file to the schema of this program: numbered SQL files, forward only, one transaction each, recorded with their SHA-256.
import { StartupError } from '../../core/errors.ts'
import {
  type AppliedMigration,
  checkApplied,
  loadMigrations as loadFrom,
  madeBeforeFirst,
  type Migration,
} from '../migrations.ts'
import { busyTimeoutMs, type Connection, noDatabase, sqliteCode } from './connection.ts'

type Applied = Omit<AppliedMigration, 'compatible'> & { readonly compatible: number }

/** Reads the migrations of this program, in order. */
export const loadMigrations = (): readonly Migration[] => loadFrom(new URL('./migrations/', import.meta.url))

/**
 * Applies missing migrations. Two processes may do so at once: each step checks again once it holds the write lock.
 * @throws StartupError when the file belongs to a newer or altered program, or to another one; it was not changed then.
 */
export function migrate(
  db: Connection,
  path: string,
  nowMs: number,
  migrations: readonly Migration[] = loadMigrations(),
): void {
  // Checked before anything is written, so a foreign database is not changed.
  let applied = countApplied(db, path, migrations)
  useWriteAheadLog(db)
  while (applied < migrations.length) applied = applyNext(db, path, migrations, nowMs)
}

/**
 * Checks that a file has the schema of this program, or a later one that is compatible; changes nothing.
 * @param exact whether a later one is refused
 * @throws StartupError when it has an older one or none, and as `migrate` does
 */
export function requireSchema(db: Connection, path: string, exact = false): void {
  const migrations = loadMigrations()
  const missing = migrations[countApplied(db, path, migrations, exact)]
  if (missing === undefined) return
  // SQLite takes an empty file for a new database.
  if (db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) throw noDatabase(path)
  throw new StartupError(
    `The database ${path} was made by an older version of mediagen (migration ${missing.name} is missing): run \`mediagen migrate\`, or start the server, which does the same.`,
  )
}

function countApplied(db: Connection, path: string, migrations: readonly Migration[], exact = false): number {
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all()
  if (tables.length === 0) return 0
  if (!tables.includes('migrations'))
    throw new StartupError(`The database ${path} belongs to another program; it was left as it is.`)
  const columns = db.pragma('table_info(migrations)') as { name: string }[]
  if (!columns.some(({ name }) => name === 'compatible')) throw madeBeforeFirst(path)
  const applied = db
    .prepare<[], Applied>('SELECT number, name, sha256, compatible FROM migrations ORDER BY number')
    .all()
  const found = applied.map((one) => ({ ...one, compatible: one.compatible === 1 }))
  return checkApplied(path, found, migrations, exact)
}

function applyNext(db: Connection, path: string, migrations: readonly Migration[], nowMs: number): number {
  db.exec('BEGIN IMMEDIATE')
  try {
    const next = migrations[countApplied(db, path, migrations)]
    if (next !== undefined) {
      db.exec(
        'CREATE TABLE IF NOT EXISTS migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL, compatible INTEGER NOT NULL) STRICT',
      )
      db.exec(next.sql)
      db.prepare('INSERT INTO migrations (number, name, sha256, applied_at, compatible) VALUES (?, ?, ?, ?, ?)').run(
        next.number,
        next.name,
        next.sha256,
        nowMs,
        next.compatible ? 1 : 0,
      )
    }
    const applied = countApplied(db, path, migrations)
    db.exec('COMMIT')
    return applied
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Switching to WAL needs exclusive access and, unlike other statements, fails at once if another process does it too. */
function useWriteAheadLog(db: Connection): void {
  const deadline = performance.now() + busyTimeoutMs
  for (;;) {
    try {
      const mode = db.pragma('journal_mode = WAL', { simple: true })
      if (mode !== 'wal')
        throw new StartupError(
          `The disk of this database does not support write-ahead logging (journal mode is ${String(mode)}); use a local disk.`,
        )
      return
    } catch (error) {
      if (sqliteCode(error)?.startsWith('SQLITE_BUSY') !== true || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

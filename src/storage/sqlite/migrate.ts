// Migrates a database file to the schema of this program: numbered SQL files, forward only, one transaction each, recorded with their SHA-256.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { StartupError } from '@mediagen/core/errors.ts'
import { busyTimeoutMs, type Connection, noDatabase, sqliteCode } from './connection.ts'

/** One step of the schema. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly sha256: string
  readonly sql: string
}

interface AppliedMigration {
  readonly number: number
  readonly name: string
  readonly sha256: string
}

const fileNamePattern = /^(\d{4})-[a-z0-9-]+\.sql$/

/** Reads the migrations of this program, in order. */
export function loadMigrations(): readonly Migration[] {
  const folder = new URL('./migrations/', import.meta.url)
  const names = readdirSync(folder).filter((name) => fileNamePattern.test(name))
  return names.sort().map((file) => {
    // Windows line ends do not change a migration.
    const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\r\n', '\n')
    return {
      number: Number(file.slice(0, 4)),
      name: file.slice(0, -'.sql'.length),
      sha256: createHash('sha256').update(sql).digest('hex'),
      sql,
    }
  })
}

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
  let applied = readApplied(db, path, migrations)
  useWriteAheadLog(db)
  while (applied.length < migrations.length) applied = applyNext(db, path, migrations, nowMs)
}

/**
 * Checks that a file has the schema of this program; changes nothing.
 * @throws StartupError when it has an older one or none, and as `migrate` does
 */
export function requireSchema(db: Connection, path: string, migrations: readonly Migration[] = loadMigrations()): void {
  const missing = migrations[readApplied(db, path, migrations).length]
  if (missing === undefined) return
  // SQLite takes an empty file for a new database.
  if (db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) throw noDatabase(path)
  throw new StartupError(
    `The database ${path} was made by an older version of mediagen (migration ${missing.name} is missing): run \`mediagen migrate\`, or start the server, which does the same.`,
  )
}

function readApplied(db: Connection, path: string, migrations: readonly Migration[]): readonly AppliedMigration[] {
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all()
  if (tables.length === 0) return []
  if (!tables.includes('migrations'))
    throw new StartupError(`The database ${path} belongs to another program; it was left as it is.`)
  const applied = db.prepare<[], AppliedMigration>('SELECT number, name, sha256 FROM migrations ORDER BY number').all()
  for (const [index, found] of applied.entries()) {
    const known = migrations[index]
    if (known === undefined || known.number !== found.number) {
      throw new StartupError(
        `The database ${path} was made by a newer version of mediagen (migration ${found.name} is unknown here); start that version.`,
      )
    }
    if (known.sha256 !== found.sha256) {
      throw new StartupError(
        `The database ${path} was made with another text of migration ${found.name}; start the version of mediagen that made it.`,
      )
    }
  }
  return applied
}

function applyNext(
  db: Connection,
  path: string,
  migrations: readonly Migration[],
  nowMs: number,
): readonly AppliedMigration[] {
  db.exec('BEGIN IMMEDIATE')
  try {
    const next = migrations[readApplied(db, path, migrations).length]
    if (next !== undefined) {
      db.exec(
        'CREATE TABLE IF NOT EXISTS migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
      )
      db.exec(next.sql)
      db.prepare('INSERT INTO migrations (number, name, sha256, applied_at) VALUES (?, ?, ?, ?)').run(
        next.number,
        next.name,
        next.sha256,
        nowMs,
      )
    }
    const applied = readApplied(db, path, migrations)
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

// Opens a connection to the database file with the settings that make it durable, or explains why it cannot.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import Database from 'better-sqlite3'
import { StartupError } from '../../core/errors.ts'

export type Connection = Database.Database

/** How long a connection waits for another process that is writing. */
export const busyTimeoutMs = 5000

/**
 * Opens the file without changing it, or creates an empty one.
 * @throws StartupError if the file cannot be opened.
 */
export function openFile(path: string): Connection {
  checkAccess(path)
  try {
    const db = new Database(path, { timeout: busyTimeoutMs })
    try {
      // The first access: SQLite opens the file lazily.
      db.pragma('schema_version')
    } catch (error) {
      db.close()
      throw error
    }
    return db
  } catch (error) {
    throw toStartupError(error, path)
  }
}

/** @throws StartupError if there is no database */
export function requireFile(path: string): void {
  if (!existsSync(path)) throw noDatabase(path)
}

/** The refusal of a command that creates no database. */
export function noDatabase(path: string): StartupError {
  return new StartupError(
    `There is no database ${path}. Set MEDIAGEN_DATA_DIR if it is in another folder; \`mediagen migrate\` creates a new one, and so does the first \`mediagen serve\`.`,
  )
}

/** SQLite would open an unwritable file read-only, and leave files beside it that cause errors once the file is writable again. */
function checkAccess(path: string): void {
  const folder = dirname(path)
  if (!existsSync(folder)) throw new StartupError(`The folder of the database ${path} does not exist; create it first.`)
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw new StartupError(unwritable(path), { cause: error })
  }
}

function unwritable(path: string): string {
  return `The database ${path} or its folder cannot be written; check owner and permissions.`
}

// What `PRAGMA synchronous` answers for FULL.
const fullySynchronous = 2

/** Sets the pragmas of every connection. docs/decisions/durability.md has the reasons. @throws StartupError */
export function setPragmas(db: Connection): void {
  db.pragma('synchronous = FULL')
  if (db.pragma('synchronous', { simple: true }) !== fullySynchronous)
    throw new StartupError('SQLite does not flush what it commits: it refuses `PRAGMA synchronous = FULL`.')
  db.pragma('foreign_keys = ON')
  db.pragma(`busy_timeout = ${busyTimeoutMs}`)
  db.pragma('wal_autocheckpoint = 4000')
  db.pragma('journal_size_limit = 67108864')
  db.pragma('cache_size = -65536')
  db.pragma('temp_store = MEMORY')
  db.pragma('mmap_size = 0')
}

/** Opens the main thread's connection for reads. The file is already migrated. */
export function openReader(path: string): Connection {
  const db = openFile(path)
  setPragmas(db)
  db.pragma('query_only = ON')
  return db
}

/**
 * Creates a function that says, in a clause, which file of an open database is no longer the one that was opened; null if none.
 * SQLite goes on with such a file, and what it commits there is lost when the process dies.
 */
export function createMoveFinder(path: string): () => string | null {
  const opened = [path, `${path}-wal`].map((file) => ({ file, identity: identify(file) }))
  return () => {
    try {
      const moved = opened.find(({ file, identity }) => identify(file) !== identity)
      return moved === undefined
        ? null
        : `the file ${basename(moved.file)} was moved, deleted or replaced while this process uses it; put it back, or stop the process first`
    } catch (error) {
      return `the files of the database cannot be looked at: ${(error as Error).message}`
    }
  }
}

function identify(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev} ${found.ino}`
}

/** The code of an SQLite error; null for any other error. */
export function sqliteCode(error: unknown): string | null {
  return error instanceof Database.SqliteError ? error.code : null
}

/** Turns an error while opening into a sentence for the operator; other errors are returned unchanged. */
export function toStartupError(error: unknown, path: string): unknown {
  const code = sqliteCode(error)
  if (code === null) return error
  return new StartupError(`${startupSentence(code, path)} (${code})`, { cause: error })
}

function startupSentence(code: string, path: string): string {
  if (code === 'SQLITE_NOTADB') return `The file ${path} is not a database; it was left as it is.`
  if (code === 'SQLITE_FULL') return `The disk that holds the database ${path} is full; make room and start again.`
  if (code.startsWith('SQLITE_CORRUPT')) return `The database ${path} is damaged; restore it from a backup.`
  if (code.startsWith('SQLITE_READONLY') || code === 'SQLITE_PERM' || code === 'SQLITE_AUTH') return unwritable(path)
  if (code.startsWith('SQLITE_CANTOPEN'))
    return `The database ${path} cannot be opened or created; check that its folder exists and may be written.`
  if (code.startsWith('SQLITE_BUSY'))
    return `The database ${path} is locked by another program; stop that program and start again.`
  if (code.startsWith('SQLITE_IOERR'))
    return `The disk failed while the database ${path} was opened; check its space and health.`
  return `The database ${path} cannot be opened.`
}

// Locks that the system releases when the process that holds them ends, however it ends: those that SQLite takes on a file.
import { existsSync, renameSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'

/** A lock that this process holds. */
export interface FileLock {
  /** Removes the file, then releases the lock. */
  remove(): void
  /** Releases the lock but leaves the file, which then looks like that of a process that has ended. */
  release(): void
}

/** Keeps a reference to each lock: garbage collection would close, and so release, one without a reference. */
const held = new Set<Database.Database>()

/**
 * Makes a file and takes its lock. The file has its name only when it is locked, so nobody finds it free.
 * @throws the error of the system if the file cannot be made
 */
export function createLock(path: string): FileLock {
  const lock = new Database(`${path}.new`, { timeout: 0 })
  take(lock)
  renameSync(`${path}.new`, path)
  return toFileLock(path, lock)
}

/** Takes the lock of a file whose holder has ended; null if it has not, or if the file is gone. */
export function seizeLock(path: string): FileLock | null {
  if (!existsSync(path)) return null
  const lock = new Database(path, { timeout: 0 })
  try {
    take(lock)
    return toFileLock(path, lock)
  } catch (error) {
    lock.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return null
    throw error
  }
}

/** Nothing is ever written, so a journal on the disk is not needed. */
function take(lock: Database.Database): void {
  lock.pragma('journal_mode = MEMORY')
  lock.exec('BEGIN EXCLUSIVE')
  held.add(lock)
}

function toFileLock(path: string, lock: Database.Database): FileLock {
  const release = (): void => {
    lock.close()
    held.delete(lock)
  }
  return {
    remove() {
      rmSync(path, { force: true })
      release()
    },
    release,
  }
}

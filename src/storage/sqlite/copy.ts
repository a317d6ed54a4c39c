// A copy of a database file that servers work on, and the check of a file.
import { rmSync } from 'node:fs'
import { StartupError } from '../../core/errors.ts'
import { openFile, requireFile, sqliteCode, toStartupError } from './connection.ts'

const allPages = 0x7fffffff

/**
 * Copies a database as it is at one moment; servers go on.
 * @param to where no file is
 * @throws StartupError when it cannot be copied; nothing is left then
 */
export async function copyDatabase(path: string, to: string): Promise<void> {
  requireFile(path)
  const db = openFile(path)
  try {
    // In one step: between steps, a change by another process would make it begin again, and on a busy server never end.
    await db.backup(to, { progress: () => allPages })
  } catch (error) {
    for (const file of [to, `${to}-journal`]) rmSync(file, { force: true })
    throw sqliteCode(error) === 'SQLITE_FULL'
      ? new StartupError(`The disk of ${to} is full; make room and repeat the command.`, { cause: error })
      : toStartupError(error, path)
  } finally {
    db.close()
  }
}

/**
 * Reads the whole file, and holds each page and index against the format.
 * @returns what is wrong; empty if nothing is
 * @throws StartupError when it cannot be opened
 */
export function findDamage(path: string): readonly string[] {
  try {
    const found = askFile(path, 'integrity_check(10)') as { integrity_check: string }[]
    return found.map(({ integrity_check: line }) => line).filter((line) => line !== 'ok')
  } catch (error) {
    if (sqliteCode(error)?.startsWith('SQLITE_CORRUPT')) return [(error as Error).message]
    throw toStartupError(error, path)
  }
}

/** The journal mode of a file: `wal`, as servers want it, or another. */
export function readJournal(path: string): string {
  const [found] = askFile(path, 'journal_mode') as { journal_mode: string }[]
  return found?.journal_mode ?? ''
}

function askFile(path: string, pragma: string): unknown {
  requireFile(path)
  const db = openFile(path)
  try {
    return db.pragma(pragma)
  } finally {
    db.close()
  }
}

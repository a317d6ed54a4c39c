// The data directory: its layout, and its creation.
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StartupError } from '../../core/errors.ts'

/** The paths in a data directory. */
export function layOut(dataDir: string) {
  return {
    database: join(dataDir, 'mediagen.db'),
    assets: join(dataDir, 'assets'),
    /** A lock for each process that lives. */
    locks: join(dataDir, 'locks'),
    /** Of a restore; until it has ended, no server works here. */
    restoring: join(dataDir, 'restoring'),
    work: join(dataDir, 'work'),
    /** Outputs that another server was paid for, and that cannot be served: they wait for the operator. */
    refused: join(dataDir, 'refused'),
    /** What forked processes may write to. */
    processes: join(dataDir, 'processes'),
  }
}

/**
 * Creates a folder and its parents if missing.
 * @throws StartupError if it cannot be created
 */
export function makeFolder(folder: string): void {
  try {
    makeFolders(folder)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const reason = folderReasons[code] ?? message
    throw new StartupError(
      `The folder ${folder} cannot be created: ${reason}. Set MEDIAGEN_DATA_DIR to another folder.`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Sees to it that a file with secrets, and what SQLite keeps beside it, is for its owner and group alone. A new one is for its
 * owner alone. Where the file belongs to someone else it stays as it is.
 */
export function protectDatabase(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      // SQLite takes an empty file for a new database, and gives the others the same mode.
      if (file === path) closeSync(openSync(file, 'a', 0o600))
      const { mode } = statSync(file)
      if ((mode & 0o007) !== 0) chmodSync(file, mode & 0o770)
    } catch {
      // Opening the database reports what is wrong with it.
    }
  }
}

const folderReasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EEXIST: 'there is a file in its place',
  ENOTDIR: 'there is a file in its way',
}

/** Like mkdir with `recursive`, which in Node reports a read-only disk as ENOENT and never returns below /proc. */
function makeFolders(folder: string): void {
  if (isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolders(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have created it.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

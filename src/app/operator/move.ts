// Moves an installation to another database and another store of files: copies both, compares the copies, and leaves the
// original as it was.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartupError } from '../../core/errors.ts'
import type { Blobs } from '../../files/blobs/blobs.ts'
import { BlobsError } from '../../files/blobs/s3-requests.ts'
import { isInhabited } from '../../runner/worker-directory.ts'
import { createSqliteTables, openSqliteTables, refuseFile } from '../../storage/sqlite/tables.ts'
import type { TableSource, TableTarget } from '../../storage/tables.ts'
import { transfer, type TransferCounts } from '../../storage/transfer.ts'
import { layOut, makeFolder } from '../store/data-dir.ts'

const copiesAtOnce = 8

/** A database: `postgres://…`, or the data directory of an SQLite file; whether the caller restores a backup there. */
export type DatabaseLocation = { readonly url: string; readonly restores?: boolean } | { readonly dataDir: string }

/** What was moved. */
export interface Moved {
  /** Null where the database stays. */
  readonly rows: TransferCounts | null
  /** Null where the files stay. */
  readonly files: { readonly files: number; readonly bytes: number } | null
}

/** What is moved, and where to. */
export interface MoveOrder {
  readonly database: { readonly from: DatabaseLocation; readonly to: DatabaseLocation | null }
  readonly files: { readonly from: Blobs; readonly to: Blobs | null }
  readonly nowMs: number
}

/**
 * Moves. Files are copied first, so that the new database never names a missing one; after a failure the same command goes on
 * with those that are still missing.
 * @throws StartupError when servers run on the original, the new database is not empty, or a copy is not the same
 */
export async function moveInstallation({ database, files, nowMs }: MoveOrder): Promise<Moved> {
  await using from = await openTables(database.from)
  const lives = 'dataDir' in database.from && isInhabited(layOut(database.from.dataDir).locks)
  if (lives || (await from.isServed(nowMs)))
    throw new StartupError('A server works on this installation; stop all of its servers first.')
  await using to = database.to && (await createTables(database.to, nowMs))
  const copied = files.to && (await copyFiles(files.from, files.to))
  return { rows: to && (await transfer(from, to)), files: copied }
}

/** Opens a database for reading. @param locks whether other processes cannot write to it meanwhile */
export async function openTables(location: DatabaseLocation, locks = true): Promise<TableSource> {
  return 'url' in location
    ? (await loadPostgres()).openPostgresTables(location.url, locks, location.restores)
    : openSqliteTables(layOut(location.dataDir).database, locks)
}

async function createTables(location: DatabaseLocation, nowMs: number): Promise<TableTarget> {
  if ('url' in location) return (await loadPostgres()).createPostgresTables(location.url)
  const { database } = layOut(location.dataDir)
  refuseFile(database, existsSync(database))
  makeFolder(location.dataDir)
  return createSqliteTables(database, nowMs)
}

/** The driver is loaded where it is used. */
const loadPostgres = () => import('../../storage/postgres/tables.ts')

async function copyFiles(from: Blobs, to: Blobs): Promise<{ files: number; bytes: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-move-'))
  const total = { files: 0, bytes: 0 }
  const all = from.list('')[Symbol.asyncIterator]()
  async function work(worker: number): Promise<void> {
    for (let next = await all.next(); !next.done; next = await all.next()) {
      const { key, bytes } = next.value
      if ((await to.stat(key))?.bytes !== bytes) {
        const part = join(folder, String(worker))
        // A file that was removed meanwhile is no longer wanted.
        if (!(await from.copyTo(key, part))) continue
        await to.put(key, { file: part })
        if ((await to.stat(key))?.bytes !== bytes)
          throw new StartupError(`The copy of the file ${key} is not complete, so nothing was moved.`)
      }
      total.files += 1
      total.bytes += bytes
    }
  }
  try {
    await Promise.all(Array.from({ length: copiesAtOnce }, (_, worker) => work(worker)))
  } catch (error) {
    if (!(error instanceof BlobsError)) throw error
    throw new StartupError(`${error.message}. Nothing was moved; the same command goes on where it stopped.`, {
      cause: error,
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return total
}

// Restores a backup into an installation that has nothing yet. What is in the backup is checked before anything is written.
import { closeSync, copyFileSync, createReadStream, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '../../../core/errors.ts'
import type { Blobs } from '../../../files/blobs/blobs.ts'
import { type FileLock, seizeLock } from '../../../runner/file-lock.ts'
import { isInhabited } from '../../../runner/worker-directory.ts'
import { layOut, makeFolder } from '../../store/data-dir.ts'
import { type StoreLocation } from '../../store/store.ts'
import {
  type BackupFile,
  flush,
  layOutBackup,
  type Manifest,
  measureFile,
  readList,
  readManifest,
  readMigration,
} from './folder.ts'

const copiesAtOnce = 16

/** What is restored, and where to. */
export interface RestoreOrder {
  readonly folder: string
  readonly to: StoreLocation
  readonly files: Blobs
  /** The bucket that the settings name; null for the disk. */
  readonly bucket: string | null
}

/**
 * Reads a whole backup.
 * @throws StartupError when there is none, it was cut short, something in it is damaged, or it has another schema
 */
export async function checkBackup(folder: string): Promise<Manifest> {
  const manifest = readManifest(folder)
  const { database, files, migration, mediagen } = manifest
  const here = readMigration(database.kind)
  if (migration !== here)
    throw new StartupError(
      `The backup has the schema ${migration} of mediagen ${mediagen}, and this version has ${here}: restore with that version, then upgrade.`,
    )
  await requireSame(folder, database)
  await requireSame(folder, files.list)
  if (files.stay_in === null) {
    const { assets } = layOutBackup(folder)
    for await (const { key, bytes, sha256 } of readList(folder, manifest))
      await requireSame(assets, { name: key, bytes, sha256: sha256 ?? '' })
  }
  return manifest
}

/** What was restored, and what came of its preparation. */
export interface RestoredBackup<Prepared> {
  readonly manifest: Manifest
  readonly prepared: Prepared
}

/**
 * Restores: first the files, last the database. After a failure the same command may be repeated: until the database is prepared,
 * an SQLite file has another name, and the data directory or the database of PostgreSQL has a mark with which no server begins.
 * @param prepare gets where the database is
 * @throws StartupError as `checkBackup`, and when a server works on the installation, or there is something in it
 */
export async function restore<Prepared>(
  order: RestoreOrder,
  prepare: (to: StoreLocation) => Promise<Prepared>,
): Promise<RestoredBackup<Prepared>> {
  const { folder, to } = order
  refuseInhabited(to)
  const manifest = readManifest(folder)
  await requireSame(folder, manifest.files.list)
  await requireRoom(order, manifest)
  await checkBackup(folder)
  makeFolder(to.dataDir)
  const lock = to.databaseUrl ? null : markFolder(to)
  try {
    return await restoreChecked(order, manifest, prepare)
  } finally {
    lock?.release()
  }
}

async function restoreChecked<Prepared>(
  { folder, to, files }: RestoreOrder,
  manifest: Manifest,
  prepare: (to: StoreLocation) => Promise<Prepared>,
): Promise<RestoredBackup<Prepared>> {
  const listed = new Map<string, number>()
  for await (const { key, bytes } of readList(folder, manifest)) listed.set(key, bytes)
  if (manifest.files.stay_in === null) await restoreFiles(folder, files, listed)
  else await requireFiles(files, listed, manifest.files.stay_in)
  const from = join(folder, manifest.database.name)
  if (to.databaseUrl) {
    const { beginRestore } = await import('../../../storage/postgres/dump.ts')
    await using restoring = await beginRestore(to.databaseUrl)
    await restoring.load(from)
    const prepared = await prepare({ ...to, restores: true }).catch((error: unknown) => {
      throw new StartupError(
        `The database was restored, but its jobs that may cost money were not all sent to review: ${(error as Error).message}. No server starts on it; run the same command again.`,
        { cause: error },
      )
    })
    await restoring.finish()
    return { manifest, prepared }
  }
  return { manifest, prepared: await restoreFile(from, to, prepare) }
}

function refuseInhabited({ dataDir }: StoreLocation): void {
  if (isInhabited(layOut(dataDir).locks))
    throw new StartupError('A server works on this installation; stop all of its servers first.')
}

/**
 * Makes the folder of a restore, which marks the data directory, and takes its lock. The folder outlives this process.
 * @throws StartupError when another process has it, or a server came before
 */
function markFolder(to: StoreLocation): FileLock {
  const { restoring, database } = layOut(to.dataDir)
  const isFirst = !existsSync(restoring)
  makeFolder(restoring)
  const path = join(restoring, 'restore.lock')
  closeSync(openSync(path, 'a', 0o600))
  const lock = seizeLock(path)
  if (lock === null) throw new StartupError(`Another process restores into ${to.dataDir}; wait for its end.`)
  try {
    // A server has its lock before it looks for the mark, and its database after.
    refuseInhabited(to)
    refuseDatabase(database)
  } catch (error) {
    if (isFirst) rmSync(restoring, { recursive: true })
    lock.release()
    throw error
  }
  return lock
}

async function restoreFile<Prepared>(
  from: string,
  to: StoreLocation,
  prepare: (to: StoreLocation) => Promise<Prepared>,
): Promise<Prepared> {
  const { restoring: dataDir, database: target } = layOut(to.dataDir)
  const { database } = layOut(dataDir)
  // What an earlier attempt left.
  for (const path of [`${database}-wal`, `${database}-shm`]) rmSync(path, { force: true })
  copyFileSync(from, database)
  const prepared = await prepare({ ...to, dataDir })
  // What was changed is in the file only when the last connection has closed.
  if (existsSync(`${database}-wal`)) throw new Error('the database is still open')
  flush(database)
  refuseDatabase(target)
  renameSync(database, target)
  flush(to.dataDir)
  rmSync(dataDir, { recursive: true })
  return prepared
}

function refuseDatabase(path: string): void {
  if (existsSync(path))
    throw new StartupError(
      `There is a database ${path} already; move the folder away, or set MEDIAGEN_DATA_DIR to another one.`,
    )
}

/** @throws StartupError unless the target has nothing, or only files of this backup */
async function requireRoom({ folder, to, files, bucket }: RestoreOrder, manifest: Manifest): Promise<void> {
  const { kind } = manifest.database
  const wanted = to.databaseUrl ? 'postgres' : 'sqlite'
  if (kind !== wanted)
    throw new StartupError(
      kind === 'sqlite'
        ? 'The backup is of SQLite: unset MEDIAGEN_DATABASE_URL, restore into a data directory, and go on with `mediagen move`.'
        : 'The backup is of PostgreSQL: set MEDIAGEN_DATABASE_URL to an empty database.',
    )
  const { database } = layOut(to.dataDir)
  if (to.databaseUrl) {
    const { requireEmptyDatabase } = await import('../../../storage/postgres/dump.ts')
    await requireEmptyDatabase(to.databaseUrl)
  } else refuseDatabase(database)
  const { stay_in: stayed } = manifest.files
  if (stayed !== null) {
    if (bucket === null)
      throw new StartupError(
        `The files of this backup stayed in ${stayed}: set MEDIAGEN_FILES_URL to that, or to a copy of it.`,
      )
    return
  }
  const named = new Set<string>()
  for await (const { key } of readList(folder, manifest)) named.add(key)
  for await (const { key } of files.list(''))
    // A server leaves nothing below `check/` for long.
    if (!named.has(key) && !key.startsWith('check/'))
      throw new StartupError(
        `There are other files already, such as ${key}; restore into ${bucket === null ? 'an empty data directory' : 'an empty bucket or prefix'}.`,
      )
}

async function restoreFiles(folder: string, to: Blobs, listed: ReadonlyMap<string, number>): Promise<void> {
  const { assets } = layOutBackup(folder)
  const rest = listed.keys()
  async function work(): Promise<void> {
    for (const key of rest) await to.put(key, createReadStream(join(assets, key), { highWaterMark: 1024 * 1024 }))
  }
  await Promise.all(Array.from({ length: copiesAtOnce }, work))
}

/** @throws StartupError when a file that the backup left in a bucket is not there */
async function requireFiles(files: Blobs, listed: ReadonlyMap<string, number>, bucket: string): Promise<void> {
  for (const [key, bytes] of listed)
    if ((await files.stat(key))?.bytes !== bytes)
      throw new StartupError(
        `The file ${key} is not what it was in ${bucket}: bring its version of that time back, or restore the bucket. Nothing was restored.`,
      )
}

/** @throws StartupError when a file of the backup is missing or has changed */
async function requireSame(folder: string, { name, bytes, sha256 }: BackupFile): Promise<void> {
  const path = join(folder, name)
  const found = existsSync(path) ? await measureFile(path) : null
  if (found?.bytes === bytes && found.sha256 === sha256) return
  throw new StartupError(
    `The backup is damaged: ${path} ${found === null ? 'is missing' : 'is not what was backed up'}. Nothing was restored.`,
  )
}

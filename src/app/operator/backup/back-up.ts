// Backs up an installation while its servers run: the database, then the files that its records name.
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { toTimestampText } from '../../../core/clock.ts'
import { StartupError } from '../../../core/errors.ts'
import type { Blobs } from '../../../files/blobs/blobs.ts'
import { createDiskBlobs } from '../../../files/blobs/disk.ts'
import { computeLedgerRoot, listRecordedFiles, type RecordedFile } from '../../../storage/recorded-files.ts'
import { copyDatabase, findDamage } from '../../../storage/sqlite/copy.ts'
import { openSqliteTables } from '../../../storage/sqlite/tables.ts'
import type { TableSource } from '../../../storage/tables.ts'
import { layOut } from '../../store/data-dir.ts'
import type { DatabaseLocation } from '../move.ts'
import {
  findManifest,
  flush,
  layOutBackup,
  type ListedFile,
  type Manifest,
  measureFile,
  openBackupFolder,
  readList,
  readMigration,
  removeOlder,
  writeList,
  writeManifest,
} from './folder.ts'

const copiesAtOnce = 16

/** What is backed up, and where to. */
export interface BackupOrder {
  readonly database: DatabaseLocation
  readonly files: Blobs
  /** The bucket that has the files, which then stay there; null if they are on the disk. */
  readonly bucket: string | null
  readonly folder: string
  /** The version of this program. */
  readonly version: string
  readonly nowMs: () => number
}

/** What a backup has. */
export interface BackedUp {
  readonly manifest: Omit<Manifest, 'format'>
  /** Files that were copied; the others were there from an earlier backup. */
  readonly copied: number
  /** Files that records name, and that the installation itself does not have. */
  readonly lost: readonly string[]
}

/**
 * Backs up. Until the manifest is written, an earlier backup in the folder stays whole.
 * @throws StartupError when it fails; the same command goes on with the files that are still missing
 */
export async function backUp(order: BackupOrder): Promise<BackedUp> {
  const { folder } = order
  const lock = openBackupFolder(folder)
  try {
    const kept = await createKept(order)
    const lost = new Set<string>()
    for (;;) {
      const gone = new Set<string>()
      const manifest = await takeOne(order, kept, (key) => gone.add(key))
      // The record says that a file is gone before it is removed. So one that went away meanwhile is not named by the next
      // copy of the database, unless the installation has lost it.
      const fresh = [...gone].filter((key) => !lost.has(key))
      for (const key of fresh) lost.add(key)
      if (fresh.length > 0) continue
      writeManifest(folder, manifest)
      removeOlder(folder, manifest)
      await kept.prune(folder, manifest)
      return { manifest, copied: kept.copied(), lost: [...gone] }
    }
  } catch (error) {
    throw toStartupError(error, folder)
  } finally {
    lock.release()
  }
}

/** The database and its files once. */
async function takeOne(
  order: BackupOrder,
  kept: Kept,
  onGone: (key: string) => void,
): Promise<Omit<Manifest, 'format'>> {
  const { folder, bucket, version, nowMs } = order
  const id = randomUUID()
  const list = `files-${id}.jsonl`
  const createdAtMs = nowMs()
  const { kind, name, source } = await copyAny(order, id)
  const total = { count: 0, bytes: 0 }
  async function* keepAll(tables: TableSource): AsyncIterable<ListedFile> {
    for await (const some of inBatches(listRecordedFiles(tables), copiesAtOnce)) {
      const all = await Promise.all(some.map((file, worker) => kept.keep(file, worker)))
      for (const [index, listed] of all.entries()) {
        if (listed === null) onGone(some[index]?.key ?? '')
        else {
          total.count += 1
          total.bytes += listed.bytes
          yield listed
        }
      }
    }
  }
  async function readAll() {
    await using tables = source
    const ledger = await computeLedgerRoot(tables)
    await writeList(join(folder, list), keepAll(tables))
    return ledger
  }
  const { root, accounts } = await readAll()
  return {
    mediagen: version,
    created_at: toTimestampText(createdAtMs),
    database: { kind, name, ...(await measureFile(join(folder, name))) },
    migration: readMigration(kind),
    ledger_root: root,
    accounts,
    files: { stay_in: bucket, list: { name: list, ...(await measureFile(join(folder, list))) }, ...total },
  }
}

async function* inBatches<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<readonly Item[], void> {
  let batch: Item[] = []
  for await (const item of items) {
    if (batch.push(item) < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Copies the database, and opens what was copied. */
async function copyAny({ database, folder }: BackupOrder, id: string) {
  if ('url' in database) return dumpAny(database.url, folder, `database-${id}.dump`)
  const name = `database-${id}.db`
  const path = join(folder, name)
  await copyDatabase(layOut(database.dataDir).database, path)
  chmodSync(path, 0o600)
  const [damage] = findDamage(path)
  if (damage !== undefined)
    throw new StartupError(`The database is damaged (${damage}), so it was not backed up; restore an earlier backup.`)
  flush(path)
  return { kind: 'sqlite', name, source: openSqliteTables(path) } as const
}

async function dumpAny(url: string, folder: string, name: string) {
  const { openPostgresTables } = await import('../../../storage/postgres/tables.ts')
  const { dumpDatabase } = await import('../../../storage/postgres/dump.ts')
  const source = await openPostgresTables(url, false)
  try {
    await dumpDatabase(url, await source.exportSnapshot(), join(folder, name))
  } catch (error) {
    await source[Symbol.asyncDispose]()
    throw error
  }
  chmodSync(join(folder, name), 0o600)
  flush(join(folder, name))
  return { kind: 'postgres', name, source } as const
}

/** The files of the backup. */
interface Kept {
  /** Sees to it that a file is in the backup; null if it is gone. @param worker the number of this copy among those at once */
  keep(file: RecordedFile, worker: number): Promise<ListedFile | null>
  copied(): number
  /** Removes files that the manifest does not name. */
  prune(folder: string, manifest: Pick<Manifest, 'files'>): Promise<void>
}

async function createKept({ folder, files, bucket }: BackupOrder): Promise<Kept> {
  if (bucket !== null) return createStaying(files)
  const { assets } = layOutBackup(folder)
  mkdirSync(assets, { recursive: true, mode: 0o700 })
  const to = createDiskBlobs(assets)
  // Files never change, so one of the same size is the same.
  const known = new Map<string, ListedFile>()
  const earlier = findManifest(folder)
  if (earlier && existsSync(join(folder, earlier.files.list.name)))
    for await (const file of readList(folder, earlier)) known.set(file.key, file)
  let copied = 0

  async function copy(key: string, worker: number): Promise<ListedFile | null> {
    const part = join(folder, `files.${worker}`)
    rmSync(part, { force: true })
    if (!(await files.copyTo(key, part))) return null
    chmodSync(part, 0o600)
    const measured = await measureFile(part)
    await to.put(key, { file: part })
    copied += 1
    return { key, ...measured }
  }
  /** A file that an interrupted backup has left, if it is what its record says. */
  async function find({ key, sha256 }: RecordedFile): Promise<ListedFile | null> {
    const measured = await measureFile(join(assets, key))
    return measured.sha256 === sha256 ? { key, ...measured } : null
  }

  return {
    async keep(file, worker) {
      const { key, bytes } = file
      const there = await to.stat(key)
      const found = known.get(key)
      if (there && found?.bytes === there.bytes) return found
      const listed = (there && there.bytes === bytes && (await find(file))) || (await copy(key, worker))
      if (listed) known.set(key, listed)
      return listed
    },
    copied: () => copied,
    async prune(where, manifest) {
      const named = new Set<string>()
      for await (const { key } of readList(where, manifest)) named.add(key)
      const others: string[] = []
      for await (const { key } of to.list('')) if (!named.has(key)) others.push(key)
      await to.delete(others)
    },
  }
}

/** Files that stay in their bucket: the list says which must be there. */
function createStaying(files: Blobs): Kept {
  const known = new Map<string, ListedFile>()
  return {
    async keep({ key, sha256 }) {
      const found = known.get(key) ?? (await files.stat(key))
      if (found === null) return null
      const listed = { key, bytes: found.bytes, sha256 }
      known.set(key, listed)
      return listed
    },
    copied: () => 0,
    prune: async () => {},
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
  EROFS: 'its disk is read-only',
  EIO: 'its disk failed',
  EACCES: 'this user may not write there',
}

function toStartupError(error: unknown, folder: string): unknown {
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? '']
  if (error instanceof StartupError || reason === undefined) return error
  return new StartupError(
    `The backup in ${folder} could not be made: ${reason}. An earlier one there is still whole; the same command goes on.`,
    { cause: error },
  )
}

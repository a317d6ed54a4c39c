// A folder that holds one backup: the database, the files, a list of them, and last of all the manifest, which makes it whole.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { StartupError } from '../../../core/errors.ts'
import { isBlobKey } from '../../../files/blobs/blobs.ts'
import { type FileLock, seizeLock } from '../../../runner/file-lock.ts'
import { loadMigrations } from '../../../storage/migrations.ts'

/** What the format of backups is now. */
const format = 1
// Those that backups have.
const fileName = /^(?:database|files)-[\w-]+\.(?:db|dump|jsonl)$/

/** A file of the backup itself. */
export interface BackupFile {
  /** Its name in the folder. */
  readonly name: string
  readonly bytes: number
  /** Lower-case hexadecimal SHA-256. */
  readonly sha256: string
}

/** What a backup says about itself. */
export interface Manifest {
  readonly format: number
  /** The version of mediagen that made it. */
  readonly mediagen: string
  /** RFC 3339, UTC: the moment whose state the database has. */
  readonly created_at: string
  readonly database: BackupFile & { readonly kind: 'sqlite' | 'postgres' }
  /** The last migration of the schema, such as `0007-usage`. */
  readonly migration: string
  /** The root of the ledger, as `mediagen admin ledger verify` prints it. */
  readonly ledger_root: string
  readonly accounts: number
  readonly files: {
    /** `s3://bucket/prefix` if the files stayed there; null if they are in the backup. */
    readonly stay_in: string | null
    readonly list: BackupFile
    readonly count: number
    readonly bytes: number
  }
}

/** A file of the installation, as the list has it: a line of JSON each. */
export interface ListedFile {
  /** Its key, below `assets/`. */
  readonly key: string
  readonly bytes: number
  /** Lower-case hexadecimal SHA-256; null if it stayed in a bucket and its record does not say. */
  readonly sha256: string | null
}

/** The paths in a backup. */
export function layOutBackup(folder: string) {
  return { manifest: join(folder, 'manifest.json'), lock: join(folder, 'backup.lock'), assets: join(folder, 'assets') }
}

/**
 * Takes a folder for a backup: a new or empty one, or one with a backup, whole or cut short.
 * @throws StartupError when it has something else, another process works in it, or it cannot be written
 */
export function openBackupFolder(folder: string): FileLock {
  const { lock } = layOutBackup(folder)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (!existsSync(lock) && readdirSync(folder).length > 0)
      throw new StartupError(`The folder ${folder} has something else in it; give an empty one, or one with a backup.`)
    // The database has the keys that sign quotes and URLs.
    if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700)
    // Until now others may have put something there, and what is written would go where it leads.
    const link = readdirSync(folder, { withFileTypes: true }).find((entry) => entry.isSymbolicLink())
    if (link) throw new StartupError(`The folder ${folder} has a symbolic link, ${link.name}; give an empty one.`)
    closeSync(openSync(lock, 'a', 0o600))
  } catch (error) {
    throw error instanceof StartupError
      ? error
      : new StartupError(`The folder ${folder} cannot be used: ${(error as Error).message}.`, { cause: error })
  }
  const seized = seizeLock(lock)
  if (seized === null) throw new StartupError(`Another backup works in the folder ${folder}; wait for its end.`)
  return seized
}

/** Reads the manifest of a backup; null if there is none. @throws StartupError when it is not one of this program */
export function findManifest(folder: string): Manifest | null {
  const { manifest: path } = layOutBackup(folder)
  if (!existsSync(path)) return null
  let manifest: Partial<Manifest> | null
  try {
    manifest = JSON.parse(readFileSync(path, 'utf8')) as typeof manifest
  } catch (error) {
    throw new StartupError(`The backup in ${folder} is damaged: manifest.json is not JSON.`, { cause: error })
  }
  if (manifest?.format !== undefined && manifest.format !== format)
    throw new StartupError(
      `The backup in ${folder} was made by mediagen ${manifest.mediagen}, in a format that this version does not know; use that version.`,
    )
  if (!isManifest(manifest))
    throw new StartupError(`The backup in ${folder} is damaged: manifest.json is not one of a backup.`)
  return manifest
}

function isManifest(found: Partial<Manifest> | null): found is Manifest {
  return (
    found?.format === format &&
    (found.database?.kind === 'sqlite' || found.database?.kind === 'postgres') &&
    fileName.test(found.database.name) &&
    fileName.test(found.files?.list?.name ?? '')
  )
}

/** Reads the manifest of a whole backup. @throws StartupError when there is none */
export function readManifest(folder: string): Manifest {
  const manifest = findManifest(folder)
  if (manifest) return manifest
  throw new StartupError(
    existsSync(layOutBackup(folder).lock)
      ? `The backup in ${folder} was cut short: it has no manifest.json. Make another one with \`mediagen backup\`.`
      : `There is no backup in ${folder}.`,
  )
}

/** Makes the backup whole: everything that the manifest names must be durable. */
export function writeManifest(folder: string, manifest: Omit<Manifest, 'format'>): void {
  const { manifest: path } = layOutBackup(folder)
  const part = `${path}.part`
  writeFileSync(part, `${JSON.stringify({ format, ...manifest }, null, 2)}\n`, { mode: 0o600 })
  flush(part)
  flush(folder)
  renameSync(part, path)
  flush(folder)
}

/** Removes the databases and lists of earlier backups, whole or not. */
export function removeOlder(folder: string, { database, files }: Manifest | Omit<Manifest, 'format'>): void {
  for (const name of readdirSync(folder))
    if (
      /^(?:database|files|manifest)[-.]/.test(name) &&
      ![database.name, files.list.name, 'manifest.json'].includes(name)
    )
      rmSync(join(folder, name), { force: true })
}

/** The last migration of this program; a database with others is not backed up. */
export function readMigration(kind: Manifest['database']['kind']): string {
  return loadMigrations(new URL(`../../../storage/${kind}/migrations/`, import.meta.url)).at(-1)?.name ?? ''
}

/** Makes a file or a folder durable. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Measures a file. */
export async function measureFile(path: string): Promise<Omit<BackupFile, 'name'>> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** Writes the list of files; each is written when it comes. */
export async function writeList(path: string, files: AsyncIterable<ListedFile>): Promise<void> {
  async function* toLines(): AsyncIterable<string> {
    for await (const file of files) yield `${JSON.stringify(file)}\n`
  }
  await pipeline(Readable.from(toLines()), createWriteStream(path, { mode: 0o600 }))
  flush(path)
}

/** Reads the list of files. @throws StartupError when a line names no file that a backup has */
export async function* readList(folder: string, { files }: Pick<Manifest, 'files'>): AsyncGenerator<ListedFile, void> {
  const { name } = files.list
  const lines = createInterface({ input: createReadStream(join(folder, name)), crlfDelay: Infinity })
  for await (const line of lines) {
    const file = readLine(line)
    if (typeof file?.key !== 'string' || !isBlobKey(file.key))
      throw new StartupError(`The backup in ${folder} is damaged: ${name} has a line that names no file of a backup.`)
    yield file as ListedFile
  }
}

function readLine(line: string): Partial<ListedFile> | null {
  try {
    return JSON.parse(line) as Partial<ListedFile> | null
  } catch {
    return null
  }
}

// Blobs on the local disk: <root>/<key>. A file gets its name only when it is complete and flushed.
import { randomUUID } from 'node:crypto'
import fs, { closeSync, constants, createReadStream, createWriteStream, type Dirent, fstatSync } from 'node:fs'
import { copyFile, lstat, mkdir, opendir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import { type Blobs, type BlobSource, isBlobKey, type PutBlobOptions, type StoredBlob } from './blobs.ts'
import { shareFlushes } from './shared-flushes.ts'

// Unfinished files, which no key can name.
const partialFolder = '.partial'
// A file that was not written to for this long is abandoned.
const abandonedMs = 24 * 3_600_000
const copyBytes = 1024 * 1024
const maxMoves = 5
// Errors of a disk that is full or cannot be written to for a while.
const trouble: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])
const shortestPauseMs = 100
const longestPauseMs = 3000
// A FileHandle would take 10 to 25 % more of the processor for each download of 11 kB.
const openDescriptor = promisify(fs.open)
const syncDescriptor = promisify(fs.fsync)

/**
 * Creates the port; it need not be closed.
 * @param folder all blobs are below it; it is created with the first one
 */
export function createDiskBlobs(folder: string): Blobs {
  const root = resolve(folder)
  const partial = join(root, partialFolder)
  let cleaned: Promise<void> | null = null
  const flushFolder = shareFlushes(flush)
  const toPath = (key: string): string => {
    if (!isBlobKey(key)) throw new TypeError(`not a key of a blob: ${key}`)
    return join(root, key)
  }

  /** Writes a file below the root, for content that cannot be moved there. */
  async function write(source: BlobSource, signal: AbortSignal | undefined): Promise<string> {
    await mkdir(partial, { recursive: true, mode: 0o700 })
    // What cannot be removed only takes room, and is tried again with the next file.
    await (cleaned ??= removeAbandoned(partial).catch(() => {
      cleaned = null
    }))
    const path = join(partial, randomUUID())
    const content = 'file' in source ? createReadStream(source.file, { highWaterMark: copyBytes }) : source
    try {
      await pipeline(content, createWriteStream(path, { flags: 'wx' }), { signal })
      return path
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
  }

  /** Gives content its name, which is durable only when `flushAbove` resolves too. */
  async function putAt(path: string, source: BlobSource, options: PutBlobOptions): Promise<void> {
    const { signal } = options
    const patiently = <Result>(step: () => Promise<Result>): Promise<Result> => whileTroubled(step, options)
    // A flush that failed is not repeated: the system may have forgotten what it should write, and the next one succeeds.
    const flushOnce = (file: string): Promise<void> => whenDescriptors(() => flush(file), signal)
    const ready = 'file' in source ? source.file : await write(source, signal)
    try {
      await flushOnce(ready)
      if (await patiently(() => moveTo(ready, path))) return
      const copy = await patiently(() => write({ file: ready }, signal))
      await flushOnce(copy)
      await patiently(() => moveTo(copy, path))
      await rm(ready, { force: true })
    } catch (error) {
      await rm(ready, { force: true })
      throw error
    }
  }

  /** A rename is durable only when the folder is flushed too, and a new folder when that above it is. */
  async function flushAbove(paths: Iterable<string>, signal: AbortSignal | undefined): Promise<void> {
    const folders = new Set<string>()
    for (const path of paths) for (let above = path; above !== root;) folders.add((above = dirname(above)))
    await Promise.all(Array.from(folders, (above) => whenDescriptors(() => flushFolder(above), signal)))
  }

  return {
    async put(key, source, options = {}) {
      const path = toPath(key)
      await makeFolders([path])
      await putAt(path, source, options)
      await flushAbove([path], options.signal)
    },
    async putFiles(files, options = {}) {
      const sources = new Map(Array.from(files, ([key, file]) => [toPath(key), { file }]))
      await makeFolders([...sources.keys()])
      // At the same time, because each waits for the disk; and all to their end, because leftovers are removed after that.
      const puts = await Promise.allSettled(Array.from(sources, ([path, source]) => putAt(path, source, options)))
      for (const put of puts) if (put.status === 'rejected') throw put.reason
      await flushAbove(sources.keys(), options.signal)
    },
    async stat(key) {
      return isBlobKey(key) ? measure(key, join(root, key)) : null
    },
    async open(key, range) {
      if (!isBlobKey(key)) return null
      const path = join(root, key)
      const descriptor = await orMissing(openDescriptor(path, constants.O_RDONLY | constants.O_NOFOLLOW))
      if (descriptor === null) return null
      // The system knows the size of an open file without reading the disk.
      const stats = fstatSync(descriptor)
      // With an explicit end, the stream needs no last read that finds nothing.
      const whole = stats.size > 0 ? { start: 0, end: stats.size - 1 } : {}
      if (stats.isFile()) return createReadStream(path, { fd: descriptor, ...(range ?? whole) })
      // A folder can be opened, but not read.
      closeSync(descriptor)
      return null
    },
    async copyTo(key, path, take) {
      const found = take ? await measure(key, toPath(key)) : null
      if (found) take?.(found.bytes)
      // A reflink where the file system supports it, which costs nothing; a second name would lead to the blob itself.
      const mode = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL
      return (await orMissing(copyFile(toPath(key), path, mode).then(() => true))) ?? false
    },
    async *list(prefix) {
      for await (const found of walk(root, prefix.slice(0, prefix.lastIndexOf('/') + 1)))
        if (found.key.startsWith(prefix)) yield found
    },
    async delete(keys) {
      const failures: unknown[] = []
      for (const key of keys) await rm(toPath(key), { force: true }).catch((error: unknown) => failures.push(error))
      for (const emptied of new Set(keys.map((key) => dirname(toPath(key)))))
        if (emptied !== root) await rmdir(emptied).catch(() => {})
      if (failures.length > 0) throw failures[0]
    },
    sign: async () => null,
  }
}

/** Repeats a step while no descriptor is free, and for `patienceMs` while the disk is full or cannot be written to. */
async function whileTroubled<Result>(
  step: () => Promise<Result>,
  { signal, patienceMs = 0, onTrouble }: PutBlobOptions,
): Promise<Result> {
  const untilMs = performance.now() + patienceMs
  for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await whenDescriptors(step, signal)
    } catch (error) {
      const isTrouble = trouble.has((error as NodeJS.ErrnoException).code ?? '')
      if (!isTrouble || performance.now() + pauseMs > untilMs) throw error
      onTrouble?.(error)
      await pause(pauseMs, undefined, { signal })
    }
  }
}

async function flush(path: string): Promise<void> {
  const descriptor = await openDescriptor(path, constants.O_RDONLY)
  try {
    await syncDescriptor(descriptor)
  } finally {
    // Nothing is left to write, so this does not wait for the disk.
    closeSync(descriptor)
  }
}

/** Makes the folders of files, once for all of a folder. Moving a file makes a missing folder too, and fails with the reason. */
async function makeFolders(paths: readonly string[]): Promise<void> {
  for (const folder of new Set(paths.map((path) => dirname(path))))
    await mkdir(folder, { recursive: true }).catch(() => {})
}

/** Moves a file to its path, whose folder usually exists. False if it is on another file system. */
async function moveTo(from: string, to: string): Promise<boolean> {
  for (let left = maxMoves; ; left--) {
    try {
      await rename(from, to)
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EXDEV') return false
      // Its folder was empty, and was removed meanwhile.
      if (code !== 'ENOENT' || left === 0) throw error
      await mkdir(dirname(to), { recursive: true })
    }
  }
}

/** All blobs below a folder. @param above beginning of the keys, empty or with a slash at its end */
async function* walk(root: string, above: string): AsyncIterable<StoredBlob> {
  for await (const entry of (await orMissing(opendir(join(root, above)))) ?? []) {
    const key = above + entry.name
    if (isLevel(entry, key)) yield* walk(root, `${key}/`)
    else if (entry.isFile() && isBlobKey(key)) {
      // Null if it was removed meanwhile.
      const found = await measure(key, join(root, key))
      if (found) yield found
    }
  }
}

/** Whether a folder may have blobs below it; others, such as `lost+found`, are left alone. */
function isLevel(entry: Dirent, key: string): boolean {
  return entry.isDirectory() && isBlobKey(`${key}/0`)
}

async function measure(key: string, path: string): Promise<StoredBlob | null> {
  const stats = await orMissing(lstat(path))
  return stats?.isFile() ? { key, bytes: stats.size, storedAtMs: Math.floor(stats.mtimeMs) } : null
}

async function orMissing<Result>(found: Promise<Result>): Promise<Result | null> {
  try {
    return await found
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

/** Removes the unfinished files of processes that died while they wrote. */
async function removeAbandoned(partial: string): Promise<void> {
  for (const name of await readdir(partial)) {
    const path = join(partial, name)
    const stats = await orMissing(lstat(path))
    if (stats && Date.now() - stats.mtimeMs > abandonedMs) await rm(path, { force: true })
  }
}

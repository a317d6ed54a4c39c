// Output files on the local disk: <root>/<job id>/<index>.<extension>, and beside each <index>.preview.webp; durable before
// anyone hears of them.

import { randomUUID } from 'node:crypto'
import { constants, createWriteStream, mkdirSync, type Stats } from 'node:fs'
import { chmod, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { AssetStore } from '../core/asset.ts'
import { type PictureBounds, usualPictureBounds } from '@mediagen/engine/media.ts'
import { invalidOutput } from './invalid-output.ts'
import { createProber } from './prober.ts'

export interface DiskAssetsOptions {
  /** Folder of the store; made when it is not there. */
  readonly root: string
  /** Most bytes of one output file. */
  readonly maxBytes: number
  /** How large a picture, all its frames together, and a frame of a video may be. Default: 50 megapixels, no side longer than 32,768. */
  readonly pictureBounds?: PictureBounds
  /** Memory of one process that looks into outputs beyond which it is ended. Default: 1.5 GB. */
  readonly maxProbeRssBytes?: number
  /** Processes that look into outputs beyond one a core, for owners that have none while all are taken. Default: 0. */
  readonly spareProbes?: number
  /** How long looking into a small output may take, in milliseconds. Default: a minute. */
  readonly probeTimeoutMs?: number
  /** A program that decodes what is not decoded here. Default: none. */
  readonly ffmpegPath?: string | null
  /** The module that looks into outputs; another one in tests. */
  readonly probeEntry?: URL
}

const defaultMaxProbeRssBytes = 1_500_000_000
const defaultProbeTimeoutMs = 60_000
const copyBytes = 1024 * 1024

/**
 * Opens an asset store on disk. A file on the same file system is moved into the store, any other is copied and left to
 * whoever removes its folder. Processes are forked when it is warmed, or when the first output comes.
 * @throws when the root cannot be made
 */
export function openDiskAssets(options: DiskAssetsOptions): AssetStore {
  const { maxBytes, pictureBounds: bounds = usualPictureBounds, ffmpegPath = null } = options
  const prober = createProber({
    maxRssBytes: options.maxProbeRssBytes ?? defaultMaxProbeRssBytes,
    spare: options.spareProbes ?? 0,
    timeoutMs: options.probeTimeoutMs ?? defaultProbeTimeoutMs,
    ...(options.probeEntry && { entry: options.probeEntry }),
  })
  const root = resolve(options.root)
  mkdirSync(root, { recursive: true })

  const folderOf = (jobId: string) => {
    // Ids are ours; one that could leave the root is a bug.
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(jobId)) throw new TypeError(`not a job id: ${jobId}`)
    return join(root, jobId)
  }

  return {
    root,
    async put(jobId, index, path, { owner = jobId, signal } = {}) {
      const folder = folderOf(jobId)
      const name = basename(path)
      const origin: Origin = { name, maxBytes, maker: (await stat(dirname(path))).uid }
      checkFile(await lstat(path), origin)
      await mkdir(folder, { recursive: true })
      // In the job's own folder, so that `remove` clears it away if the server dies half-way; hidden from every key.
      const temporary = join(folder, `.${index}-${randomUUID()}`)
      const previewPath = `${temporary}.preview`
      try {
        await moveOrCopy(path, temporary, origin)
        const bytes = await makeOwn(temporary, origin)
        const request = { path: temporary, name, previewPath, bounds, ffmpegPath }
        const { extension, hasPreview, ...facts } = await prober.inspect(request, bytes, owner, signal)
        const key = `${jobId}/${index}.${extension}`
        const previewKey = hasPreview ? `${jobId}/${index}.preview.webp` : null
        if (previewKey) await settle(previewPath, join(root, previewKey))
        await settle(temporary, join(root, key))
        await syncFolder(folder)
        await syncFolder(root)
        return { key, ...facts, previewKey }
      } finally {
        // Whatever it is by now.
        await rm(temporary, { recursive: true, force: true })
        await rm(previewPath, { force: true })
      }
    },
    async remove(jobId) {
      await rm(folderOf(jobId), { recursive: true, force: true })
    },
    warm: () => prober.warm(),
    close: () => prober.close(),
  }
}

function checkFile(stats: Stats, { name, maxBytes, maker }: Origin): void {
  const problem = !stats.isFile()
    ? 'not a regular file'
    : stats.size === 0
      ? 'empty'
      : stats.size > maxBytes
        ? `larger than ${maxBytes} bytes`
        : // The server may read more than whoever left this.
          stats.nlink > 1 && stats.uid !== maker
          ? 'another name (a hard link) of a file of another user'
          : null
  if (problem !== null) throw invalidOutput(name, `is ${problem}`)
}

/** Where an output comes from. */
interface Origin {
  readonly name: string
  readonly maxBytes: number
  /** User who owns the folder in which it was left. */
  readonly maker: number
}

/** Moves a file, or copies it from another file system. */
async function moveOrCopy(from: string, to: string, origin: Origin): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copy(from, to, origin)
  }
}

/**
 * Makes a file that was moved here ours: one that nobody else has a name for, and that everybody may read. It was looked at
 * before it was moved; what counts is what came, since its name may have been given to something else in between.
 * @returns its size
 */
async function makeOwn(path: string, origin: Origin): Promise<number> {
  const stats = await lstat(path)
  checkFile(stats, origin)
  if (stats.nlink > 1) {
    // A file with a second name could be changed under it after it was checked.
    const own = `${path}.own`
    await copy(path, own, origin)
    await rename(own, path)
  }
  // Some encoders leave files that nobody may read.
  await chmod(path, 0o644)
  return stats.size
}

/** Copies a file, and nothing that a link leads to; does not wait for whoever would write to a pipe. */
async function copy(from: string, to: string, origin: Origin): Promise<void> {
  await using file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  checkFile(await file.stat(), origin)
  const content = file.createReadStream({ autoClose: false, end: origin.maxBytes, highWaterMark: copyBytes })
  await pipeline(content, createWriteStream(to, { flags: 'wx' }))
}

/** Flushes a file to the disk and gives it its name. */
async function settle(from: string, to: string): Promise<void> {
  {
    await using file = await open(from, 'r')
    await file.sync()
  }
  await rename(from, to)
}

/** A new name in a folder is durable only when the folder is, too. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}

// Output files on the local disk: <root>/<job id>/<index>.<extension>, and beside each <index>.preview.webp; durable before
// anyone hears of them.

import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { chmod, copyFile, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
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
  /** How long looking into a small output may take, in milliseconds. Default: a minute. */
  readonly probeTimeoutMs?: number
  /** A program that decodes what is not decoded here. Default: none. */
  readonly ffmpegPath?: string | null
  /** The module that looks into outputs; another one in tests. */
  readonly probeEntry?: URL
}

const defaultMaxProbeRssBytes = 1_500_000_000
const defaultProbeTimeoutMs = 60_000

/**
 * Opens an asset store on disk. A file on the same file system is moved into the store, any other is copied and left to
 * whoever removes its folder. Processes are forked when it is warmed, or when the first output comes.
 * @throws when the root cannot be made
 */
export function openDiskAssets(options: DiskAssetsOptions): AssetStore {
  const { maxBytes, pictureBounds: bounds = usualPictureBounds, ffmpegPath = null } = options
  const prober = createProber({
    maxRssBytes: options.maxProbeRssBytes ?? defaultMaxProbeRssBytes,
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
    async put(jobId, index, path, signal) {
      const folder = folderOf(jobId)
      const name = basename(path)
      const stats = await lstat(path)
      checkFile(name, stats, maxBytes)
      await mkdir(folder, { recursive: true })
      // In the job's own folder, so that `remove` clears it away if the server dies half-way; hidden from every key.
      const temporary = join(folder, `.${index}-${randomUUID()}`)
      const previewPath = `${temporary}.preview`
      try {
        await moveOrCopy(path, temporary, stats)
        // Some encoders leave files that nobody may read.
        await chmod(temporary, 0o644)
        const request = { path: temporary, name, previewPath, bounds, ffmpegPath }
        const { extension, hasPreview, ...facts } = await prober.inspect(request, stats.size, signal)
        const key = `${jobId}/${index}.${extension}`
        const previewKey = hasPreview ? `${jobId}/${index}.preview.webp` : null
        if (previewKey) await settle(previewPath, join(root, previewKey))
        await settle(temporary, join(root, key))
        await syncFolder(folder)
        await syncFolder(root)
        return { key, ...facts, previewKey }
      } finally {
        await rm(temporary, { force: true })
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

function checkFile(name: string, stats: Stats, maxBytes: number): void {
  const problem = !stats.isFile()
    ? 'not a regular file'
    : stats.size === 0
      ? 'empty'
      : stats.size > maxBytes
        ? `larger than ${maxBytes} bytes`
        : null
  if (problem !== null) throw invalidOutput(name, `is ${problem}`)
}

async function moveOrCopy(from: string, to: string, { nlink }: Stats): Promise<void> {
  // A file with a second name could be changed under it after it was checked.
  if (nlink > 1) return await copyFile(from, to)
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyFile(from, to)
  }
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

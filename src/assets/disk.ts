// Output files on the local disk: <root>/<job id>/<index>.<extension>, durable before anyone hears of them.

import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { chmod, copyFile, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Asset, AssetStore } from '../core/asset.ts'
import { EngineError } from '../core/engine.ts'
import { probeMedia } from './probe.ts'

export interface DiskAssetsOptions {
  /** Folder of the store; made when it is not there. */
  readonly root: string
  /** Most bytes of one output file. */
  readonly maxBytes: number
  /** Most pixels of one picture, all its frames together. Default 50 million. */
  readonly maxPixels?: number
}

/** Bytes hashed at a time: large enough to be quick, small enough not to hold up the event loop. */
const hashChunkBytes = 256 * 1024

/**
 * Opens an asset store on disk. It holds nothing that would have to be closed. A file on the same file system is moved
 * into the store, any other is copied and left to whoever removes its folder.
 * @throws when the root cannot be made
 */
export function openDiskAssets(options: DiskAssetsOptions): AssetStore {
  const { maxBytes, maxPixels = 50_000_000 } = options
  const root = resolve(options.root)
  mkdirSync(root, { recursive: true })

  const folderOf = (jobId: string) => {
    // Ids are ours; one that could leave the root is a bug.
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(jobId)) throw new TypeError(`not a job id: ${jobId}`)
    return join(root, jobId)
  }

  return {
    root,
    async put(jobId, index, path) {
      const folder = folderOf(jobId)
      const name = basename(path)
      const stats = await lstat(path)
      checkFile(name, stats, maxBytes)
      await mkdir(folder, { recursive: true })
      // In the job's own folder, so that `remove` clears it away if the server dies half-way; hidden from every key.
      const temporary = join(folder, `.${index}-${randomUUID()}`)
      try {
        await moveOrCopy(path, temporary, stats)
        const asset = await inspect(temporary, name, `${jobId}/${index}`, maxPixels)
        await rename(temporary, join(root, asset.key))
        await syncFolder(folder)
        await syncFolder(root)
        return asset
      } finally {
        await rm(temporary, { force: true })
      }
    },
    async remove(jobId) {
      await rm(folderOf(jobId), { recursive: true, force: true })
    },
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
  if (problem !== null) throw new EngineError('output_invalid', `Output ${name} is ${problem}.`)
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

/** Learns everything about the file and flushes it to the disk. */
async function inspect(path: string, name: string, keyStem: string, maxPixels: number): Promise<Asset> {
  // Some encoders leave files that nobody may read.
  await chmod(path, 0o644)
  const { extension, ...media } = await probeMedia(path, name, maxPixels)
  await using file = await open(path, 'r')
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: hashChunkBytes })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  await file.sync()
  return {
    key: `${keyStem}.${extension}`,
    bytes,
    sha256: hash.digest('hex'),
    ...media,
    previewKey: null,
    blurhash: null,
  }
}

/** A new name in a folder is durable only when the folder is, too. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}

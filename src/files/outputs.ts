// Output files: taken from the engine, checked, and stored as the blobs <run>/<index>.<extension>, each with an
// <index>.preview.webp.

import { randomUUID } from 'node:crypto'
import { constants, createWriteStream, type Stats, statSync } from 'node:fs'
import { chmod, chown, copyFile, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Containment, KernelLimits } from '@mediagen/engine/containment.ts'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import { EngineError } from '@mediagen/engine/engine.ts'
import { type PictureBounds, usualPictureBounds } from '@mediagen/engine/media.ts'
import type { AssetStore } from '../core/files/asset.ts'
import { type Blobs, deleteAll } from './blobs/blobs.ts'
import { invalidOutput } from './media/invalid-output.ts'
import { createProber } from './media/prober.ts'
import type { Signer } from './media/provenance/sign/signer.ts'
import { writeTrueLengths } from './media/wave-lengths.ts'

export interface OutputsOptions {
  /** Where outputs are stored. */
  readonly blobs: Blobs
  /** Folder for outputs that are being checked; created if missing. Nobody else may write to it. */
  readonly intake: string
  /** Folder for refused files that an operator may want; without one none are kept. Nobody else may read it. */
  readonly refused?: string
  /** Maximum size of an output file, in bytes. */
  readonly maxBytes: number
  /** Limits of a picture, and of a frame of an animation or a video. Default: 50 megapixels, no side longer than 32,768. */
  readonly pictureBounds?: PictureBounds
  /** A probe process that needs more memory is killed. Default: 1.5 GB. */
  readonly maxProbeRssBytes?: number
  /** Probe processes in addition to one per core, for owners that have none while all are busy. Default: 0. */
  readonly spareProbes?: number
  /** Time limit for probing a small output, in milliseconds. Default: a minute. */
  readonly probeTimeoutMs?: number
  /** An FFmpeg for codecs that no package decodes. Default: none. */
  readonly ffmpegPath?: string | null
  /** Folder for the files of probe processes. Default: a temporary folder. */
  readonly processFolder?: string
  /** How the system contains probe processes. Default: not at all. */
  readonly containment?: () => Promise<Containment>
  readonly childLimits?: Pick<KernelLimits, 'openFiles' | 'tasks'>
  /** Signs or marks outputs. Default: they stay as they came. It is closed with the store. */
  readonly signer?: Signer | null
  /** The module of probe processes; tests replace it. */
  readonly probeEntry?: URL
}

const readableMode = 0o644
const defaultMaxProbeRssBytes = 1_500_000_000
const defaultProbeTimeoutMs = 60_000
const copyBytes = 1024 * 1024

/**
 * Opens the store of outputs. A file on the file system of the intake is moved there; any other is copied and removed with
 * its folder. Processes are forked when the store is warmed, or with the first output.
 */
export function openOutputs(options: OutputsOptions): AssetStore {
  const { blobs, intake, maxBytes, signer = null } = options
  const prober = createProber({
    maxRssBytes: options.maxProbeRssBytes ?? defaultMaxProbeRssBytes,
    spare: options.spareProbes ?? 0,
    timeoutMs: options.probeTimeoutMs ?? defaultProbeTimeoutMs,
    bounds: options.pictureBounds ?? usualPictureBounds,
    ffmpegPath: options.ffmpegPath ?? null,
    folder: options.processFolder,
    containment: options.containment,
    limits: options.childLimits,
    entry: options.probeEntry,
  })

  return {
    async put(
      run,
      index,
      path,
      { owner = run, signal, patienceMs, keepsRefused = false, claim, onUnsigned, onTrouble } = {},
    ) {
      checkRun(run)
      const name = basename(path)
      // Synchronously: the folder is open, so the system knows it without reading the disk.
      const origin: Origin = { name, maxBytes, maker: statSync(dirname(path)).uid }
      const taken = join(intake, randomUUID())
      const previewPath = `${taken}.preview`
      try {
        checkFile(await lstat(path), origin)
        // The work is done, so a failure to prepare the next one is not its failure.
        const patiently = <Result>(step: () => Promise<Result>): Promise<Result> => whenDescriptors(step, signal)
        await patiently(() => moveOrCopy(path, taken, origin))
        const bytes = await patiently(() => makeOwn(taken, origin))
        await patiently(() => writeTrueLengths(taken))
        const file = { path: taken, name, bytes, previewPath, owner }
        const inspection = await patiently(() => prober.inspect(file, signal))
        const signed =
          signer && claim
            ? await signer.sign(taken, inspection, claim, owner, signal ?? new AbortController().signal)
            : { unsigned: null }
        const { extension, hasPreview, unsigned, ...facts } = { ...inspection, ...signed }
        if (unsigned !== null) onUnsigned?.(unsigned)
        const key = `${run}/${index}.${extension}`
        const previewKey = hasPreview ? `${run}/${index}.preview.webp` : null
        const files = new Map([[key, taken]])
        if (previewKey) files.set(previewKey, previewPath)
        await blobs.putFiles(files, { signal, patienceMs, onTrouble })
        return { key, ...facts, previewKey }
      } catch (error) {
        if (keepsRefused && options.refused !== undefined && isRefusal(error))
          throw await keepRefused([taken, path], options.refused, `${run}/${index}`, error)
        // A file or a folder: it was not necessarily checked yet.
        await rm(taken, { recursive: true, force: true })
        await rm(previewPath, { force: true })
        throw error
      }
    },
    async remove(run) {
      checkRun(run)
      await deleteAll(blobs, `${run}/`)
    },
    warm() {
      prober.warm()
      signer?.warm()
    },
    async close() {
      await Promise.all([prober.close(), signer?.[Symbol.asyncDispose]()])
    },
  }
}

function isRefusal(error: unknown): error is EngineError {
  return error instanceof EngineError && error.code === 'output_invalid'
}

/** Keeps the first of the paths at which there is a regular file; returns the refusal with where it is. */
async function keepRefused(
  paths: readonly string[],
  folder: string,
  name: string,
  refusal: EngineError,
): Promise<EngineError> {
  const kept = join(folder, name)
  await mkdir(dirname(kept), { recursive: true, mode: 0o700 })
  for (const path of paths) {
    const stats = await lstat(path).catch(() => null)
    if (!stats?.isFile()) continue
    await rename(path, kept).catch(() => copyFile(path, kept))
    await chmod(kept, 0o600)
    const words = `${refusal.message} The file is kept on the server, as refused/${name} in its data directory.`
    return new EngineError(refusal.code, words, false, { cause: refusal })
  }
  return refusal
}

/** This server makes the names of runs, so one that cannot be the first part of a key is a bug. */
function checkRun(run: string): void {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(run)) throw new TypeError(`not the name of a run: ${run}`)
}

function checkFile(stats: Stats, { name, maxBytes, maker }: Origin): void {
  const problem = !stats.isFile()
    ? 'not a regular file'
    : stats.size === 0
      ? 'empty'
      : stats.size > maxBytes
        ? `larger than ${maxBytes} bytes`
        : // The server may read more files than the program that left this.
          stats.nlink > 1 && stats.uid !== maker
          ? 'another name (a hard link) of a file of another user'
          : null
  if (problem !== null) throw invalidOutput(name, `is ${problem}`)
}

interface Origin {
  readonly name: string
  readonly maxBytes: number
  /** User who owns its folder. */
  readonly maker: number
}

/** Moves a file, or copies it from another file system. The folder is created when it is missed, and not looked for each time. */
async function moveOrCopy(from: string, to: string, origin: Origin): Promise<void> {
  const move = (): Promise<void> => rename(from, to)
  try {
    await move().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dirname(to), { recursive: true, mode: 0o700 })
      await move()
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copy(from, to, origin)
  }
}

/**
 * Takes over a file that was moved here: it must have no other name, and becomes readable. It was checked before the move,
 * but is checked again, because its name may have been given to another file in between.
 * @returns its size
 */
async function makeOwn(path: string, origin: Origin): Promise<number> {
  const stats = await lstat(path)
  checkFile(stats, origin)
  if (stats.nlink > 1) {
    // A file with a second name could be changed through it after the check.
    const own = `${path}.own`
    await copy(path, own, origin)
    await rename(own, path)
  }
  // A program may have a user of its own.
  if (process.getuid?.() === 0 && stats.uid !== 0) await chown(path, 0, 0)
  // Some encoders leave files that are not readable.
  if ((stats.mode & 0o7777) !== readableMode) await chmod(path, readableMode)
  return stats.size
}

/** Copies a regular file, follows no link, and does not block on a pipe. */
async function copy(from: string, to: string, origin: Origin): Promise<void> {
  await using file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  checkFile(await file.stat(), origin)
  const content = file.createReadStream({ autoClose: false, end: origin.maxBytes, highWaterMark: copyBytes })
  await pipeline(content, createWriteStream(to, { flags: 'wx' }))
}

// Probes outputs in forked processes, because a file may crash, stall or bloat its decoder. Their answers are checked, because
// a file may also take its decoder over.

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Containment, KernelLimits } from '@mediagen/engine/containment.ts'
import { EngineError } from '@mediagen/engine/engine.ts'
import type { PictureBounds } from '@mediagen/engine/media.ts'
import { ProcessPool } from '@mediagen/engine/pool.ts'
import { handOver, moveFile } from '@mediagen/engine/process-folders.ts'
import { invalidOutput } from './invalid-output.ts'
import type { Inspection, InspectRequest, VerifyRequest } from './probe/inspection.ts'
import { boundProvenance } from './provenance/bound.ts'
import { isCheckable, withCheck } from './provenance/read.ts'
import type { Checked } from './provenance/verify.ts'

export interface ProberOptions {
  /** A process that needs more memory is killed, and its output refused. */
  readonly maxRssBytes: number
  /** Processes in addition to one per core, for owners that have none. */
  readonly spare: number
  /** Time limit for probing a small output. */
  readonly timeoutMs: number
  /** Limits of a picture, and of a frame of an animation or a video. */
  readonly bounds: PictureBounds
  /** An FFmpeg for codecs that no package decodes; null for none. */
  readonly ffmpegPath: string | null
  /** Folder for the files of the processes. Default: a temporary folder. */
  readonly folder?: string | undefined
  /** How the system contains the processes. Default: not at all. */
  readonly containment?: (() => Promise<Containment>) | undefined
  readonly limits?: Pick<KernelLimits, 'openFiles' | 'tasks'> | undefined
  /** The module of probe processes; tests replace it. */
  readonly entry?: URL | undefined
}

export interface ProbedFile {
  /** A file that every user may read. */
  readonly path: string
  /** Its name in messages. */
  readonly name: string
  /** A larger file gets more time. */
  readonly bytes: number
  /** Where the preview goes, if there is one. */
  readonly previewPath: string
  /** Owner of the output; owners take turns. */
  readonly owner: string
}

export interface Prober {
  /** @throws EngineError `output_invalid` if the file may not be served, cannot be decoded, or crashes its decoder */
  inspect(file: ProbedFile, signal?: AbortSignal): Promise<Inspection>
  /** Forks a first process, so that the first output need not wait for it. */
  warm(): void
  close(): Promise<void>
}

// The file is read twice, by the decoder and for its digest, possibly from a slow disk.
const leastBytesPerMs = 20_000
const previewName = 'preview'
const maxFileBytes = 64 * 1024 ** 2

/** Creates a prober; processes are forked on demand. */
export function createProber(options: ProberOptions): Prober {
  const { maxRssBytes, spare, timeoutMs, bounds, ffmpegPath, folder } = options
  const pool = new ProcessPool<InspectRequest | VerifyRequest, Inspection | Checked | null>({
    rights: {
      entry: options.entry ?? new URL('./probe/process.ts', import.meta.url),
      // The files beside the folder of its entry.
      code: [new URL('.', import.meta.url)],
      startsPrograms: ffmpegPath !== null,
    },
    folder,
    containment: options.containment,
    // Previews, and what a decoder drafts.
    limits: { ...options.limits, fileBytes: maxFileBytes },
    size: availableParallelism(),
    spare,
    maxRssBytes,
    failures: {
      outOfMemory: (limitBytes) => broke(`needs more than ${Math.round(limitBytes / 1e6)} MB of memory to decode`),
      crashed: (how, options) => broke(`crashes its decoder (${how})`, options),
    },
    logger: null,
  })
  async function inspect(
    { path, name, bytes, previewPath, owner }: ProbedFile,
    signal: AbortSignal,
  ): Promise<Inspection> {
    const inspection = await pool.run({
      async request({ input, output }) {
        const handed = await handOver(path, input, 'output', true)
        return { path: handed, name, previewPath: join(output, previewName), bounds, ffmpegPath }
      },
      async collect(result, { output }) {
        const inspection = checkInspection(result as Inspection)
        if (inspection.hasPreview) await moveFile(join(output, previewName), previewPath)
        return inspection
      },
      ...limit(bytes, owner, signal),
    })
    return inspection as Inspection
  }

  async function verify(
    { path, bytes, owner }: Pick<ProbedFile, 'path' | 'bytes' | 'owner'>,
    contentType: string,
    signal: AbortSignal,
  ): Promise<Checked | null> {
    try {
      const checked = await pool.run({
        request: async ({ input }) => ({
          verify: { path: await handOver(path, input, 'output', true), contentType },
        }),
        ...limit(bytes, owner, signal),
      })
      return checked as Checked | null
    } catch (error) {
      if (isBroken(error))
        return { verified: false, problem: `The manifest ${error.message.replace('decode', 'check')}` }
      if (signal.aborted) throw error
      // What was paid for is delivered, checked or not.
      return null
    }
  }

  function limit(bytes: number, owner: string, signal: AbortSignal) {
    const ms = timeoutMs + Math.ceil(bytes / leastBytesPerMs)
    const reason = (): Error => broke(`takes longer than ${Math.ceil(ms / 1000)} s to decode`)
    return { owner, signal, onProgress: () => {}, timeout: { ms, reason } }
  }

  return {
    async inspect(file, signal = new AbortController().signal) {
      try {
        const inspection = await inspect(file, signal)
        const { provenance, contentType } = inspection
        if (!isCheckable(provenance)) return inspection
        const checked = withCheck(provenance, await verify(file, contentType, signal))
        return { ...inspection, provenance: boundProvenance(checked) }
      } catch (error) {
        // The pool's error does not name the file.
        if (isBroken(error)) throw invalidOutput(file.name, error.message, { cause: error })
        throw error
      }
    },
    warm: () => pool.warm(),
    close: () => pool.close(),
  }
}

/** The kind of a file decides how browsers treat it, its extension is a part of a path. */
function checkInspection(inspection: Inspection): Inspection {
  const { contentType, extension, sha256, provenance } = inspection
  const isSound = typeof provenance === 'object' && /^[a-z0-9]{1,8}$/.test(extension) && /^[0-9a-f]{64}$/.test(sha256)
  if (!isSound || !/^(image\/(png|jpeg|webp|avif|gif|tiff)|(video|audio)\/[a-z0-9]+)$/.test(contentType))
    throw broke('makes its decoder give an impossible answer')
  return { ...inspection, provenance: boundProvenance(provenance) }
}

const brokeCode = 'probe_broke'

function isBroken(error: unknown): error is EngineError {
  return error instanceof EngineError && error.code === brokeCode
}

function broke(words: string, options?: ErrorOptions): EngineError {
  return new EngineError(brokeCode, words, false, options)
}

// Replaces outputs by changed copies that a pool of forked processes makes.
import { chmod, rename, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Containment, KernelLimits } from '@mediagen/engine/containment.ts'
import { EngineError } from '@mediagen/engine/engine.ts'
import { ProcessPool } from '@mediagen/engine/pool.ts'
import { handOver, moveFile, type ProcessFolders } from '@mediagen/engine/process-folders.ts'
import { boundProvenance } from '../bound.ts'
import type { ChangedFile } from './request.ts'

export interface ChangerOptions {
  /** A process that needs more memory is killed. */
  readonly maxRssBytes: number
  /** Time limit for a small file, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum size of an output, in bytes. */
  readonly maxBytes: number
  /** Folder for the files of the processes. Default: a temporary folder. */
  readonly folder?: string | undefined
  readonly containment?: (() => Promise<Containment>) | undefined
  readonly limits?: Pick<KernelLimits, 'openFiles' | 'tasks'> | undefined
}

/** What is replaced. */
export interface Replaced {
  /** A file that every user may read. */
  readonly path: string
  readonly extension: string
  readonly bytes: number
  /** Owners take turns. */
  readonly owner: string
  readonly signal: AbortSignal
}

/** What a process is told of the files that it works with. */
interface Paths {
  readonly path: string
  readonly changedPath: string
}

export interface Changer<Request extends Paths> {
  /**
   * Replaces a file.
   * @param prepare makes the rest of the request, with other files in the folders
   * @returns null if it stays as it is
   * @throws EngineError that says why it cannot be changed; it is as it was then
   */
  change(
    file: Replaced,
    prepare: (folders: ProcessFolders) => Promise<Omit<Request, keyof Paths>>,
  ): Promise<ChangedFile | null>
  /** Forks a first process, so that the first output need not wait for it. */
  warm(): void
  close(): Promise<void>
}

const leastBytesPerMs = 10_000
const changedName = 'changed'
// What a manifest and a mark add, with the manifests of ingredients.
const addedBytes = 64 * 1024 ** 2

/**
 * Creates a changer; processes are forked on demand.
 * @param what names it in messages: “what signs it”
 */
export function createChanger<Request extends Paths>(
  entry: URL,
  what: string,
  options: ChangerOptions,
): Changer<Request> {
  const { maxRssBytes, timeoutMs, maxBytes, folder, containment, limits } = options
  const pool = new ProcessPool<Paths, ChangedFile | null>({
    rights: { entry, code: [new URL('../../', import.meta.url)] },
    folder,
    containment,
    limits: { ...limits, fileBytes: maxBytes + addedBytes },
    size: availableParallelism(),
    maxRssBytes,
    failures: {
      outOfMemory: (limitBytes) => failed(`it needs more than ${Math.round(limitBytes / 1e6)} MB of memory`),
      crashed: (how, errorOptions) => failed(`${what} crashes (${how})`, errorOptions),
    },
    logger: null,
  })
  return {
    change({ path, extension, bytes, owner, signal }, prepare) {
      const ms = timeoutMs + Math.ceil(bytes / leastBytesPerMs)
      return pool.run({
        request: async (folders) => ({
          ...(await prepare(folders)),
          path: await handOver(path, folders.input, `output.${extension}`, true),
          changedPath: join(folders.output, changedName),
        }),
        async collect(changed, { output }) {
          if (changed === null) return null
          const made = join(output, changedName)
          const { size } = await stat(made)
          const checked = checkChanged(changed, size)
          if (checked === null) throw failed(`${what} gives an impossible answer`)
          // Beside it first: from another disk it is copied, and never onto another file.
          await moveFile(made, `${path}.changed`)
          // Whatever the umask is: the next process may have another user.
          await chmod(`${path}.changed`, 0o644)
          await rename(`${path}.changed`, path)
          return checked
        },
        owner,
        signal,
        onProgress: () => {},
        timeout: { ms, reason: () => failed(`it takes longer than ${Math.ceil(ms / 1000)} s`) },
      })
    },
    warm: () => pool.warm(),
    close: () => pool.close(),
  }
}

/**
 * What a record may hold of an answer, which comes from a process that a file may have taken over; null if it cannot be true.
 * @param size of the changed file, in bytes
 */
function checkChanged({ bytes, sha256, provenance }: ChangedFile, size: number): ChangedFile | null {
  const isSound = typeof provenance === 'object' && provenance !== null && typeof sha256 === 'string'
  if (!isSound || bytes !== size || !/^[0-9a-f]{64}$/.test(sha256)) return null
  return { bytes, sha256, provenance: boundProvenance(provenance) }
}

function failed(words: string, options?: ErrorOptions): EngineError {
  return new EngineError('not_changed', words, false, options)
}

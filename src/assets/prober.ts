// Probes outputs in forked processes, because a file may crash, stall or bloat its decoder.

import { availableParallelism } from 'node:os'
import { EngineError } from '@mediagen/engine/engine.ts'
import { ProcessPool } from '@mediagen/engine/pool.ts'
import { invalidOutput } from './invalid-output.ts'
import type { Inspection, InspectRequest } from './probe/inspection.ts'

export interface ProberOptions {
  /** A process that needs more memory is killed, and its output refused. */
  readonly maxRssBytes: number
  /** Processes in addition to one per core, for owners that have none. */
  readonly spare: number
  /** Time limit for probing a small output. */
  readonly timeoutMs: number
  /** The module of probe processes; tests replace it. */
  readonly entry?: URL
}

/** Probes outputs. */
export interface Prober {
  /**
   * @param bytes size of the file; a larger file gets more time
   * @param owner owner of the output; owners take turns
   * @throws EngineError `output_invalid` if the file may not be served, cannot be decoded, or crashes its decoder
   */
  inspect(request: InspectRequest, bytes: number, owner: string, signal?: AbortSignal): Promise<Inspection>
  /** Forks a first process, so that the first output need not wait for it. */
  warm(): void
  close(): Promise<void>
}

// The file is read twice, by the decoder and for its digest, possibly from a slow disk.
const leastBytesPerMs = 20_000

/** Creates a prober; processes are forked on demand. */
export function createProber({ maxRssBytes, spare, timeoutMs, entry }: ProberOptions): Prober {
  const pool = new ProcessPool<InspectRequest, Inspection>({
    entry: entry ?? new URL('./probe/process.ts', import.meta.url),
    size: availableParallelism(),
    spare,
    maxRssBytes,
    failures: {
      outOfMemory: (limitBytes) => broke(`needs more than ${Math.round(limitBytes / 1e6)} MB of memory to decode`),
      crashed: (how, options) => broke(`crashes its decoder (${how})`, options),
    },
    logger: null,
  })
  return {
    async inspect(request, bytes, owner, signal = new AbortController().signal) {
      const ms = timeoutMs + Math.ceil(bytes / leastBytesPerMs)
      const reason = broke(`takes longer than ${Math.ceil(ms / 1000)} s to decode`)
      try {
        return await pool.run({ request, owner, signal, onProgress: () => {}, timeout: { ms, reason } })
      } catch (error) {
        // The pool's error does not name the file.
        if (error instanceof EngineError && error.code === brokeCode)
          throw invalidOutput(request.name, error.message, { cause: error })
        throw error
      }
    },
    warm: () => pool.warm(),
    close: () => pool.close(),
  }
}

const brokeCode = 'probe_broke'

function broke(words: string, options?: ErrorOptions): EngineError {
  return new EngineError(brokeCode, words, false, options)
}

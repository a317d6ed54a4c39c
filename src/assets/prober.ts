// Looks into outputs in forked processes, because a file that a stranger's program made may crash, stall or bloat whatever
// decodes it.

import { availableParallelism } from 'node:os'
import { EngineError } from '@mediagen/engine/engine.ts'
import { ProcessPool } from '@mediagen/engine/pool.ts'
import { invalidOutput } from './invalid-output.ts'
import type { Inspection, InspectRequest } from './probe/inspection.ts'

export interface ProberOptions {
  /** A process that holds more is killed, and its output refused. */
  readonly maxRssBytes: number
  /** Processes beyond one a core, for owners that have none. */
  readonly spare: number
  /** How long looking into a small output may take. */
  readonly timeoutMs: number
  /** The module that looks into outputs; another one in tests. */
  readonly entry?: URL
}

/** Looks into outputs. */
export interface Prober {
  /**
   * @param bytes size of the file, for which there is more time
   * @param owner whose output it is; owners take turns
   * @throws EngineError `output_invalid` when the file may not be served, cannot be decoded, or breaks whatever tries
   */
  inspect(request: InspectRequest, bytes: number, owner: string, signal?: AbortSignal): Promise<Inspection>
  /** Forks a first process, so that the first output need not wait for it. */
  warm(): void
  close(): Promise<void>
}

// Read twice, once by the decoder and once for its digest, from a disk that is slow.
const leastBytesPerMs = 20_000

/** Creates a prober; nothing is forked before it is needed. */
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
        // What ended the process does not know which file it had.
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

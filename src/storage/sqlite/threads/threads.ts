// Where the writer and the reader of a store run: in threads of their own, or for brief uses in the thread that opens it.
import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'

/** The writer or the reader, as the store talks to it. */
export type Thread = Pick<Worker, 'postMessage' | 'ref' | 'unref' | 'terminate'> & Pick<EventEmitter, 'on' | 'once'>

export interface Threads {
  startWriter(): Thread
  /** @param path the database file */
  startReader(path: string): Thread
}

/** Threads of their own, so that no disk and no long list holds up the server. */
export const ownThreads: Threads = {
  startWriter: () => startWriterThread(),
  startReader: (path) =>
    new Worker(new URL('./reader.ts', import.meta.url), { workerData: { path }, name: 'sqlite-reader' }),
}

const program = new URL('./writer.ts', import.meta.url)

/**
 * Starts the writer. It loads its modules at once, and opens the database when group-commit.ts sends its path; until then it keeps no
 * process alive.
 * @param script its program; a test may pass one that fails
 */
export function startWriterThread(script: URL = program): Worker {
  const worker = new Worker(script, { name: 'sqlite-writer' })
  worker.unref()
  return worker
}

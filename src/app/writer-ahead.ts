// Starts the writer thread of SQLite while the rest of a server is being loaded: on two cores both load at the same time.
import type { Worker } from 'node:worker_threads'
import { startWriterThread } from '@mediagen/storage/sqlite/writer-thread.ts'
import type { Config } from '../config.ts'

/** Starts the thread, if the server will need one. */
export function startWriterAhead({ coreUrl, databaseUrl }: Config): Worker | undefined {
  return coreUrl === null && databaseUrl === null ? startWriterThread() : undefined
}

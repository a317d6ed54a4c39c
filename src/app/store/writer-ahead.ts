// Starts the writer thread of SQLite while the rest of a server is being loaded: on two cores both load at the same time.
import type { Config } from '../../config.ts'
import { ownThreads, startWriterThread, type Threads } from '../../storage/sqlite/threads/threads.ts'

/** Starts the thread, if the server will need one. */
export function startWriterAhead({ coreUrl, databaseUrl }: Config): Threads | undefined {
  if (coreUrl !== null || databaseUrl !== null) return undefined
  const writer = startWriterThread()
  return { ...ownThreads, startWriter: () => writer }
}

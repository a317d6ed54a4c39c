// Starts the writer thread. It loads its modules at once, and opens the database when group-commit.ts tells it which.
import { Worker } from 'node:worker_threads'

const program = new URL('./writer.ts', import.meta.url)

/**
 * Starts the thread. Until it has a database, it keeps no process alive.
 * @param script its program; a test may pass one that fails
 */
export function startWriterThread(script: URL = program): Worker {
  const worker = new Worker(script, { name: 'sqlite-writer' })
  worker.unref()
  return worker
}

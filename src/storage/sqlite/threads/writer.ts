// The program of the writer thread.
import { getPriority, setPriority } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { serveWrites } from './write-loop.ts'

// Added to the server's own niceness, and the largest that there is.
const niceness = 5
const mostNice = 19

/**
 * Lowers the priority of this thread. Where the two share a core, it would interrupt the main thread as soon as there is a message,
 * and both would work with cold caches. On a core of its own it runs at once as before.
 */
function yieldToMainThread(): void {
  // Elsewhere a priority is one of the whole process.
  if (process.platform !== 'linux') return
  try {
    setPriority(Math.min(getPriority() + niceness, mostNice))
  } catch {
    // A sandbox may forbid it; nothing depends on it.
  }
}

serveWrites(parentPort as MessagePort, yieldToMainThread)

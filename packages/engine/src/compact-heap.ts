// What the start of a thread leaves behind is collected, and what survived it is moved together.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Collecting a larger heap would stop a server for longer than a request may wait.
const largestBytes = 100e6

/** Returns what the heap of this thread does not need to the system; stops the thread for some 60 ms. Does nothing with a heap over 100 MB. */
export function compactHeap(): void {
  if (getHeapStatistics().total_heap_size > largestBytes) return
  // The only way to V8's collector. The flag is not taken back: another thread may be between these two lines.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
  collect({ type: 'major', flavor: 'last-resort' })
}

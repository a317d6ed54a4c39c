// Gives back the memory that the start of a thread needed.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Collecting a larger heap would stop a server for longer than a request may wait.
const largestBytes = 100e6

/**
 * Collects the garbage of this thread, compacts its heap and returns the rest to the system; stops the thread for some 60 ms. Does
 * nothing if the heap has over 100 MB, or if this Node does not expose V8's collector.
 */
export function compactHeap(): void {
  if (getHeapStatistics().total_heap_size > largestBytes) return
  // The only way to V8's collector. The flag is not taken back: another thread may be between these two lines.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc') as
    | ((options: { type: 'major'; flavor: 'last-resort' }) => void)
    | undefined
  collect?.({ type: 'major', flavor: 'last-resort' })
}

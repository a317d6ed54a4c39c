// Preloaded into a server that runs with --expose-gc: at SIGUSR2 all its threads collect their garbage, and one line on standard output tells what is left.
import { getHeapStatistics } from 'node:v8'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'

/** What a line says, in bytes; heap is that of all threads. */
export interface MemoryLine {
  readonly memory: { readonly rss: number; readonly heap: number; readonly external: number }
}

// Long enough for the other threads to collect theirs.
const othersMs = 300

const { gc } = globalThis
if (gc === undefined) throw new Error('the memory probe needs --expose-gc')
const collectGarbage = gc

/** Answers with the bytes that are left in the heap of this thread. */
function collect(): number {
  collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  return getHeapStatistics().used_heap_size
}

const channel = new BroadcastChannel('memory-probe')
channel.unref()
if (isMainThread) {
  let others = 0
  channel.onmessage = ({ data }: { data: unknown }) => (others += Number(data))
  process.on('SIGUSR2', () => {
    others = 0
    channel.postMessage('collect')
    collect()
    setTimeout(() => {
      const heap = collect() + others
      const { rss, external } = process.memoryUsage()
      process.stdout.write(`${JSON.stringify({ memory: { rss, heap, external } } satisfies MemoryLine)}\n`)
    }, othersMs)
  })
} else {
  // Answers of other threads arrive here as well.
  channel.onmessage = ({ data }: { data: unknown }) => {
    if (data === 'collect') channel.postMessage(collect())
  }
}

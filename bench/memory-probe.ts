// Preloaded into a server: at SIGUSR2 all its threads collect their garbage, then the process tells what is left, one line on standard output.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'

/** What a line says, in bytes; heap and external are the main thread's, rss is everybody's. */
export interface MemoryLine {
  readonly memory: { readonly rss: number; readonly heap: number; readonly external: number }
}

// Long enough for the other threads to collect theirs.
const othersMs = 300

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: object) => void
const collectAll = (): void => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })

const channel = new BroadcastChannel('memory-probe')
channel.unref()
if (isMainThread) {
  process.on('SIGUSR2', () => {
    channel.postMessage('collect')
    collectAll()
    setTimeout(() => {
      collectAll()
      const { rss, heapUsed, external } = process.memoryUsage()
      process.stdout.write(`${JSON.stringify({ memory: { rss, heap: heapUsed, external } } satisfies MemoryLine)}\n`)
    }, othersMs)
  })
} else {
  channel.onmessage = collectAll
}

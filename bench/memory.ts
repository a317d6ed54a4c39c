// Asks a server that was started with the memory probe what is left when all garbage is gone.
import type { MemoryLine } from './memory-probe.ts'
import type { Server } from './servers.ts'

const timeoutMs = 30_000

/** Bytes: resident, of the JavaScript heaps of all threads, and what objects hold outside of them. */
export type Memory = MemoryLine['memory']

/** Reads what the probe of one server says. */
export interface MemoryReader {
  /** To be given every line that the server prints. */
  onLine(line: string): void
  /** @throws Error when the server says nothing */
  read(server: Server): Promise<Memory>
}

/** Creates one. */
export function createMemoryReader(): MemoryReader {
  const waiting: ((memory: Memory) => void)[] = []
  return {
    onLine(line) {
      if (line.startsWith('{"memory"')) waiting.shift()?.((JSON.parse(line) as MemoryLine).memory)
    },
    async read(server) {
      const { promise, resolve, reject } = Promise.withResolvers<Memory>()
      const timer = setTimeout(() => reject(new Error('the server did not tell its memory')), timeoutMs)
      waiting.push(resolve)
      server.signal('SIGUSR2')
      return await promise.finally(() => clearTimeout(timer))
    },
  }
}

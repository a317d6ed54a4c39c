// The main thread's side of the thread for long reads: lists with their totals, and the check of the ledger.
import type { Clock } from '../../../core/clock.ts'
import { StorageError } from '../../storage-error.ts'
import type { SentAnswer } from './batch.ts'
import { toStorageError } from './group-commit.ts'
import type { LongRead, Reads } from './reads.ts'
import type { Thread, Threads } from './threads.ts'

/** One read on its way to the thread. */
export interface ReadRequest {
  readonly id: number
  readonly nowMs: number
  readonly name: LongRead
  readonly args: readonly unknown[]
}

/** The connection to the thread. */
export interface LongReads {
  /** @throws StorageError */
  read<Name extends LongRead>(name: Name, ...args: Parameters<Reads[Name]>): Promise<Awaited<ReturnType<Reads[Name]>>>
  /** Ends the thread; unfinished reads are refused. */
  close(): Promise<void>
}

interface Waiter {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Creates the connection; the first read starts the thread. */
export function createLongReads(path: string, clock: Clock, startReader: Threads['startReader']): LongReads {
  const waiters = new Map<number, Waiter>()
  let lastId = 0
  let thread: Thread | null = null
  let closed = false

  function start(): Thread {
    const started = startReader(path)
    started.on('message', (answer: SentAnswer) => {
      const waiter = waiters.get(answer.id)
      waiters.delete(answer.id)
      // An idle store does not keep the process alive.
      if (waiters.size === 0) started.unref()
      if (answer.ok) waiter?.resolve(answer.value)
      else waiter?.reject(toStorageError(answer.error))
    })
    started.on('error', (error) => stop('the reader of the store has died', error))
    return started
  }

  function stop(why: string, cause?: unknown): void {
    thread = null
    for (const { reject } of waiters.values()) reject(new StorageError(why, null, { cause }))
    waiters.clear()
  }

  return {
    read(name, ...args) {
      if (closed) return Promise.reject(new StorageError('the store is closed', null))
      const to = (thread ??= start())
      return new Promise((resolve, reject) => {
        const id = (lastId += 1)
        waiters.set(id, { resolve, reject })
        to.ref()
        to.postMessage({ id, nowMs: clock.nowMs(), name, args } satisfies ReadRequest)
      })
    },
    async close() {
      closed = true
      const ended = thread?.terminate()
      stop('the store is closed')
      await ended
    },
  }
}

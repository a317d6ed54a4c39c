// The writer and the reader of a store in the thread that opens it. A command of the command line ends before threads of its own
// would have started, and has nothing else to do while the disk works; most tests, too.
import { EventEmitter, once } from 'node:events'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { serveReads } from './read-loop.ts'
import type { Thread, Threads } from './threads.ts'
import { serveWrites } from './write-loop.ts'

/** No threads: each change and each list holds up the thread that calls it. */
export const noThreads: Threads = {
  startWriter: () => new SameThread((port) => serveWrites(port)),
  startReader: (path) => new SameThread((port) => serveReads(port, path)),
}

/** One end of a channel whose other end works in this thread; an error there is an uncaught one of this thread. */
class SameThread extends EventEmitter implements Thread {
  readonly #port: MessagePort
  readonly #ended: Promise<unknown>

  constructor(serve: (port: MessagePort) => void) {
    super()
    const { port1, port2 } = new MessageChannel()
    serve(port2)
    // `port1`, of the caller that waits for an answer, keeps the process alive.
    port2.unref()
    this.#port = port1
    this.#ended = once(port2, 'close')
    port1.on('message', (message) => this.emit('message', message))
    port1.on('close', () => this.emit('exit', 0))
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message)
  }

  ref(): void {
    this.#port.ref()
  }

  unref(): void {
    this.#port.unref()
  }

  async terminate(): Promise<number> {
    this.#port.close()
    await this.#ended
    return 0
  }
}

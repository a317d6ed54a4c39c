// Rounds of the event loop: one round ends when the event loop has read everything that waited at its beginning.
import { MessageChannel } from 'node:worker_threads'

/** Tells when rounds end, until it is disposed of. */
export interface Rounds extends Disposable {
  /** Calls back once, when all that waits to be read now has been read. One call at a time, and not from the callback. */
  atEnd(callback: () => void): void
}

/**
 * Marks the end of a round by a message of the process to itself, which the system puts behind what is ready to be read.
 * `setImmediate` comes too late for that: while 1024 sockets or more are ready, libuv asks the system up to 48 times for as many
 * before it, and reads from each of them many times over.
 */
export function openRounds(): Rounds {
  const { port1, port2 } = new MessageChannel()
  let end = (): void => {}
  port2.on('message', () => end())
  port2.unref()
  return {
    atEnd(callback) {
      end = callback
      port1.postMessage(null)
    },
    [Symbol.dispose]: () => port1.close(),
  }
}

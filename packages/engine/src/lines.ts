// Lines from a process that may be out of its mind: bounded in length and number, and read no faster than they can be borne.

import type { Readable } from 'node:stream'

const lineFeed = 10
/** A chunk this large is a flood; then the process waits, with its pipe full, while others get their turn. */
const floodBytes = 16 * 1024
const breathMs = 10

/** Reads a stream in chunks, with a pause after each that shows a flood. */
export function readCalmly(stream: Readable, onChunk: (chunk: Buffer) => void): void {
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    onChunk(chunk)
    if (chunk.length < floodBytes) return
    stream.pause()
    setTimeout(() => stream.resume(), breathMs).unref()
  })
}

/** Cuts chunks into lines. */
export class LineReader {
  readonly #maxBytes: number
  readonly #onLine: (line: string) => void
  readonly #onTooMuch: () => void
  #bytes = 0
  #pending: Buffer[] = []

  /**
   * @param maxBytes bytes that may come between two calls of `renew`
   * @param onTooMuch called for what comes beyond them; nothing is kept of it
   */
  constructor(maxBytes: number, onLine: (line: string) => void, onTooMuch: () => void) {
    this.#maxBytes = maxBytes
    this.#onLine = onLine
    this.#onTooMuch = onTooMuch
  }

  /** From now on, as many bytes may come again. */
  renew(): void {
    this.#bytes = 0
  }

  write(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) {
      this.#pending = []
      this.#onTooMuch()
      return
    }
    let from = 0
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, from)) {
      const line = Buffer.concat([...this.#pending, chunk.subarray(from, at)]).toString()
      this.#pending = []
      from = at + 1
      this.#onLine(line)
    }
    if (from < chunk.length) this.#pending.push(chunk.subarray(from))
  }
}

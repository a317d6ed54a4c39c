// Reads lines from an untrusted process: bounded in length, number and rate.

import type { Readable } from 'node:stream'

const lineFeed = 10
/** A chunk this large is a flood; the process then waits on its full pipe while others get their turn. */
const floodBytes = 16 * 1024
const breathMs = 10

/** Reads a stream in chunks, with a pause after each flood. */
export function readCalmly(stream: Readable, onChunk: (chunk: Buffer) => void): void {
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    onChunk(chunk)
    if (chunk.length < floodBytes) return
    stream.pause()
    setTimeout(() => stream.resume(), breathMs).unref()
  })
}

/** Splits chunks into lines. */
export class LineReader {
  readonly #maxBytes: number
  readonly #onLine: (line: string) => void
  readonly #onTooMuch: () => void
  #bytes = 0
  #pending: Buffer[] = []

  /**
   * @param maxBytes maximum bytes between two calls of `renew`
   * @param onTooMuch called when that is exceeded; the excess is dropped
   */
  constructor(maxBytes: number, onLine: (line: string) => void, onTooMuch: () => void) {
    this.#maxBytes = maxBytes
    this.#onLine = onLine
    this.#onTooMuch = onTooMuch
  }

  /** Resets the count of bytes. */
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

// Where the log goes: a descriptor whose writes may fail. Lines that cannot be written are lost and counted, and the server goes on:
// a full disk or a slow reader must neither stop nor delay it.
import { write, writeSync } from 'node:fs'

// A reader that stalls costs no more memory than this.
const mostWaitingBytes = 8 * 1024 * 1024
const largestWriteBytes = 64 * 1024
const busyMs = 100
const lineEnd = Buffer.from('\n')

/** Lines that were lost. */
export interface Loss {
  readonly lines: number
  /** Why the last of them was lost: the code of an error. */
  readonly code: string
}

/** A destination of pino's. */
export class LogStream {
  readonly #descriptor: number
  readonly #onRecovered: (loss: Loss) => void
  #waiting: Buffer[] = []
  #waitingBytes = 0
  /** The bytes under way, of which `#done` are written. The first `#prefix` bytes end a line that was written in part. */
  #batch: Buffer = Buffer.alloc(0)
  #prefix = 0
  #done = 0
  #isInFlight = false
  #isStarted = false
  #isOver = false
  /** The last line that was written has no end. */
  #isTorn = false
  #lost = 0
  #loss: Loss | null = null

  /** @param onRecovered called when lines are written again after others were lost */
  constructor(descriptor: number, onRecovered: (loss: Loss) => void) {
    this.#descriptor = descriptor
    this.#onRecovered = onRecovered
  }

  /** How many lines were lost so far. */
  get lost(): number {
    return this.#lost
  }

  /** Takes whole lines. Never throws, and does not block the event loop. */
  write(lines: string): void {
    if (this.#isOver) return
    const bytes = Buffer.from(lines)
    if (this.#waitingBytes + bytes.length > mostWaitingBytes) return this.#lose(bytes, 'ENOBUFS')
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (!this.#isStarted) this.#writeNext()
  }

  /** Writes what waits at once, for the exit of a process. What cannot be written is lost. */
  flushSync(): void {
    // The system still writes this batch. How much of it will be written is unknown, so it is not repeated.
    if (this.#isInFlight) this.#done = this.#batch.length
    try {
      while (this.#findBatch()) this.#done += writeSync(this.#descriptor, this.#batch, this.#done)
    } catch (error) {
      this.#dropBatch(error as NodeJS.ErrnoException)
      this.#waiting = []
    }
  }

  #writeNext(): void {
    this.#isStarted = this.#findBatch()
    if (!this.#isStarted) return
    this.#isInFlight = true
    const left = this.#batch.length - this.#done
    write(this.#descriptor, this.#batch, this.#done, left, null, (error, bytes) => {
      this.#isInFlight = false
      // The pipe is full, and another process made it non-blocking.
      if (error?.code === 'EAGAIN') return void setTimeout(() => this.#writeNext(), busyMs).unref()
      if (error) this.#dropBatch(error)
      else this.#advance(bytes)
      this.#writeNext()
    })
  }

  /** Whether anything is left to write. */
  #findBatch(): boolean {
    if (this.#done < this.#batch.length) return true
    if (this.#waiting.length === 0) return false
    let bytes = 0
    const tooMany = this.#waiting.findIndex((lines) => (bytes += lines.length) > largestWriteBytes)
    const lines = this.#waiting.splice(0, tooMany < 0 ? this.#waiting.length : Math.max(1, tooMany))
    this.#batch = Buffer.concat(this.#isTorn ? [lineEnd, ...lines] : lines)
    this.#prefix = this.#isTorn ? lineEnd.length : 0
    this.#done = 0
    this.#waitingBytes -= this.#batch.length - this.#prefix
    return true
  }

  #advance(bytes: number): void {
    this.#done += bytes
    if (bytes > 0) this.#isTorn = this.#batch[this.#done - 1] !== lineEnd[0]
    if (this.#loss === null || this.#done < this.#batch.length) return
    const loss = this.#loss
    this.#loss = null
    this.#onRecovered(loss)
  }

  #dropBatch({ code = 'unknown' }: NodeJS.ErrnoException): void {
    // The reader has gone for good: nothing is lost to anybody.
    if (code === 'EPIPE') {
      this.#isOver = true
      this.#waiting = []
    } else this.#lose(this.#batch.subarray(Math.max(this.#done, this.#prefix)), code)
    this.#done = this.#batch.length
  }

  #lose(bytes: Buffer, code: string): void {
    const lines = countLines(bytes)
    this.#lost += lines
    this.#loss = { lines: (this.#loss?.lines ?? 0) + lines, code }
  }
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(lineEnd); at >= 0; at = bytes.indexOf(lineEnd, at + 1)) lines += 1
  return lines
}

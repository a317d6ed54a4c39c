// Follows the framing of gRPC messages, which grpc-js reads: each has a flag and its length in front of it.
import { MediagenError } from '../../core/errors.ts'
import { invalid } from './request-errors.ts'

const headBytes = 5
// What grpc-js keeps of a message beside its bytes, until it is handled.
const messageOverhead = 1024

/** Follows the messages of one request without keeping them. */
export class FrameFollower {
  /** Number of messages that have begun. */
  begun = 0
  /** Bytes that grpc-js keeps of messages that are unfinished or not handled. A piece keeps all that was read from the socket with it. */
  keptBytes = 0
  /** Whether each message that is complete and not handled is compressed. */
  readonly #waiting: boolean[] = []
  readonly #maxBytes: number
  readonly #head = Buffer.allocUnsafe(headBytes)
  #headFilled = 0
  #missing = 0
  #piecesBytes = 0
  #latest: ArrayBufferLike | null = null

  /** @param maxBytes length of the largest message */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Number of messages that are complete and not handled. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Whether a message has begun and is incomplete. */
  get isAmid(): boolean {
    return this.#headFilled > 0
  }

  /**
   * Follows the next piece.
   * @throws MediagenError `payload_too_large` as soon as the announced length is too large; `invalid_request`
   */
  push(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      at += this.#headFilled < headBytes ? this.#readHead(piece, at) : this.#skip(piece.length - at)
      if (this.#headFilled === headBytes && this.#missing === 0) this.#end()
    }
    if (!this.isAmid || piece.buffer === this.#latest) return
    this.#latest = piece.buffer
    this.#piecesBytes += piece.buffer.byteLength
    this.keptBytes += piece.buffer.byteLength
  }

  /** The next complete message, which has this length, is handled now; returns whether it is compressed. */
  take(length: number): boolean {
    this.keptBytes -= length + messageOverhead
    return this.#waiting.shift() ?? false
  }

  #readHead(piece: Buffer, at: number): number {
    if (this.#headFilled === 0) this.begun += 1
    const copied = piece.copy(this.#head, this.#headFilled, at)
    this.#headFilled += copied
    if (this.#headFilled === headBytes) this.#missing = this.#readLength()
    return copied
  }

  #readLength(): number {
    const flags = this.#head.readUInt8()
    if (flags > 1) throw invalid(`A request has the unknown flags ${flags}.`)
    const length = this.#head.readUInt32BE(1)
    if (length > this.#maxBytes)
      throw new MediagenError(
        'payload_too_large',
        `A message of ${length} bytes is larger than the ${this.#maxBytes} bytes that this server accepts.`,
      )
    return length
  }

  #skip(bytes: number): number {
    const skipped = Math.min(bytes, this.#missing)
    this.#missing -= skipped
    return skipped
  }

  #end(): void {
    this.#waiting.push(this.#head.readUInt8() === 1)
    this.keptBytes += this.#head.readUInt32BE(1) + messageOverhead - this.#piecesBytes
    this.#headFilled = 0
    this.#piecesBytes = 0
    this.#latest = null
  }
}

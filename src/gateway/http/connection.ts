// One connection of the HTTP port, between the socket and Node's HTTP server. Node's server would parse all received bytes at once.
// This connection passes on only as many requests as a client may send ahead of the answers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** How far a client may send ahead of the answers. */
export interface ReadAhead {
  /** How many requests of one connection are processed at once. */
  readonly maxPipelined: number
}

// Received bytes are handed on in pieces, to stop between two requests. The first piece is large enough for most requests. While a
// request is unanswered, the pieces are too small for two requests: the shortest has 27 bytes.
const firstPiece = 1024
const nextPiece = 32
// The length of a chunked body is unknown.
const chunkedPiece = 512
// Answers are sent in pieces, to see how much of them the client takes.
const sentPiece = 32_768

type Sent = (error?: Error | null) => void

const nothing = Buffer.alloc(0)

/** A connection. Node's HTTP server takes it for a socket. */
export class Connection extends Duplex {
  readonly remoteAddress: string
  /** Answers that are not sent completely, oldest first. */
  readonly unanswered: ServerResponse[] = []
  /** The number of requests so far. */
  requests = 0
  /** Whether the connection was refused: whatever still arrives is dropped. */
  refused = false
  /** Bytes of answers that the system has taken. */
  takenBytes = 0
  /** Since when the head of a request is awaited: the first from the beginning, others from their first byte. */
  headSinceMs: number | null = performance.now()
  readonly #socket: Socket
  readonly #bounds: ReadAhead
  /** The latest request. */
  #latest: IncomingMessage | null = null
  /** Bytes of its body that may still come. */
  #bodyLeft = 0
  /** Received bytes that were not handed on, and whether the client has sent all. */
  #rest: Buffer = nothing
  #isWhole = false
  /** The answer after which reading continues. */
  #awaited: ServerResponse | null = null

  constructor(socket: Socket, bounds: ReadAhead) {
    super()
    this.remoteAddress = socket.remoteAddress ?? ''
    this.#socket = socket
    this.#bounds = bounds
    socket.on('data', (bytes: Buffer) => {
      this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
      this.#handOn()
    })
    socket.once('end', () => {
      this.#isWhole = true
      this.#handOn()
    })
    socket.once('error', (error) => this.destroy(error))
    socket.once('close', () => this.destroy())
    // Node's HTTP server pauses and resumes: while answers wait, and while nobody takes the body of a request.
    this.on('resume', () => this.#handOn())
  }

  /** Bytes that have arrived. */
  get bytesRead(): number {
    return this.#socket.bytesRead
  }

  /** Whether received bytes wait until the server has answered earlier requests or has read a body. */
  get isHeld(): boolean {
    return this.isPaused() || this.#rest.length > 0
  }

  /** The request whose body is still being received; null if there is none. */
  get unfinished(): IncomingMessage | null {
    return this.#latest === null || this.#latest.complete ? null : this.#latest
  }

  /** Whether no request is under way. A head that has arrived in part is not a request yet. */
  get isIdle(): boolean {
    this.#dropAnswered()
    return this.unanswered.length === 0 && this.unfinished === null
  }

  /** The number of bytes of answers that wait for the client. */
  get unreadBytes(): number {
    // The bytes of the first answer are in the buffer of the connection.
    return this.unanswered.slice(1).reduce((sum, answer) => sum + answer.writableLength, this.writableLength)
  }

  /** Records a request when its head is parsed. */
  noteRequest(request: IncomingMessage, response: ServerResponse): void {
    const length = request.headers['content-length']
    this.requests += 1
    this.headSinceMs = null
    this.#latest = request
    this.#bodyLeft = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
    this.#dropAnswered()
    this.unanswered.push(response)
  }

  /** Closes the connection when everything was sent. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  /** Bytes are handed on as they come. */
  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, sent: Sent): void {
    this.#send(bytes, 0, sent)
  }

  override _writev(chunks: { chunk: Buffer }[], sent: Sent): void {
    const last = chunks.at(-1)?.chunk ?? nothing
    const others = Buffer.concat(chunks.slice(0, -1).map(({ chunk }) => chunk))
    if (others.length > sentPiece) return this.#send(Buffer.concat([others, last]), 0, sent)
    // The head of an answer goes out with its body, which is not copied.
    this.#socket.cork()
    this.#socket.write(others, () => (this.takenBytes += others.length))
    this.#send(last, 0, sent)
    this.#socket.uncork()
  }

  override _final(sent: Sent): void {
    this.#socket.end(sent)
  }

  override _destroy(error: Error | null, destroyed: Sent): void {
    this.#socket.destroy()
    destroyed(error)
  }

  /** Sends the bytes from a position on, one piece after the other. */
  #send(bytes: Buffer, at: number, sent: Sent): void {
    const end = Math.min(bytes.length, at + sentPiece)
    this.#socket.write(bytes.subarray(at, end), (error) => {
      this.takenBytes += end - at
      if (error || end === bytes.length) sent(error)
      else this.#send(bytes, end, sent)
    })
  }

  /** Hands on received bytes, one request per turn of the event loop, until too much is unanswered or Node's server pauses. */
  #handOn(): void {
    while (this.#rest.length > 0) {
      if (this.destroyed) return
      if (this.refused) this.#rest = nothing
      else if (this.readableFlowing !== true) return this.#hold()
      else if (this.#isAhead()) return this.#holdUntil(this.unanswered[0])
      else if (this.#handOnPiece() && this.#rest.length > 0) {
        this.#hold()
        setImmediate(() => this.#handOn())
        return
      }
    }
    if (this.#isWhole) this.push(null)
    else if (this.#socket.isPaused()) this.#socket.resume()
  }

  /** Hands on one piece; returns whether a request became complete by it. */
  #handOnPiece(): boolean {
    const { requests } = this
    const length = this.#toPiece(this.#rest.length)
    const piece = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    if (this.unfinished === null) this.headSinceMs ??= performance.now()
    this.push(piece)
    return this.requests !== requests && this.unfinished === null
  }

  /** The number of bytes to hand on next. */
  #toPiece(left: number): number {
    if (this.unfinished === null) return Math.min(left, this.unanswered.length === 0 ? firstPiece : nextPiece)
    if (this.#bodyLeft === Number.POSITIVE_INFINITY) return Math.min(left, chunkedPiece)
    // The part of the body in the first piece is not subtracted, so this may overshoot the end by that piece.
    const piece = Math.min(left, Math.max(nextPiece, this.#bodyLeft))
    this.#bodyLeft -= piece
    return piece
  }

  #isAhead(): boolean {
    // The body of an accepted request is always read.
    if (this.unanswered.length === 0 || this.unfinished !== null) return false
    this.#dropAnswered()
    return this.unanswered.length >= this.#bounds.maxPipelined
  }

  #hold(): void {
    this.#socket.pause()
  }

  #holdUntil(answer: ServerResponse | undefined): void {
    this.#hold()
    if (answer === undefined || this.#awaited === answer) return
    this.#awaited = answer
    answer.once('close', () => this.#handOn())
  }

  /** Forgets answers that were sent completely. */
  #dropAnswered(): void {
    const { unanswered } = this
    while (unanswered[0] && (unanswered[0].writableFinished || unanswered[0].destroyed)) unanswered.shift()
  }
}

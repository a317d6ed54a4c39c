// One call over gRPC: a stream of HTTP/2, read when the pipeline asks for it, answered, and ended when it stalls.
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { create, type DescMethod, type Message, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { MediagenError } from '../core/errors.ts'
import { leastProgressBytes, tooSlow } from '../runtime/progress.ts'
import { type Frame, FrameReader, toFrame } from './grpc-frames.ts'
import { okTrailers, parseTimeout, toHeader, toTrailers } from './grpc-status.ts'
import type { CallHead, Spend } from './pipeline.ts'
import { decodeRequest, findLargestMessage, type RequestBounds } from './request-bytes.ts'
import type { Connection } from './sessions.ts'

const longestTimerMs = 2 ** 31 - 1
const retryGivenUpSeconds = 1
const awaitTrailers = { waitForTrailers: true }

const inflaters = { gzip: promisify(gunzip), deflate: promisify(inflate) } as const

/** Encodings of requests that are understood. */
export type Encoding = keyof typeof inflaters | 'identity'

/** Whether `text` names an encoding that is understood. */
export function isEncoding(text: string | readonly string[]): text is Encoding {
  return typeof text === 'string' && (text === 'identity' || Object.hasOwn(inflaters, text))
}

/** What calls share: the bounds of their port, and its books. */
export interface CallKeeper {
  readonly stallMs: number
  /** No earlier than now, and no later than the next sweep, on a clock that does not go back: looking at a clock costs time. */
  readonly latestMs: number
  /** Tells by how many bytes more, or fewer, a call holds. */
  hold(call: GrpcCall, bytes: number): void
  /** A call is over and its stream closed. */
  forget(call: GrpcCall): void
  /** A call was answered, refused or given up. */
  noteCall(call: GrpcCall): void
  /** An answer was not read in time, or had to make room. */
  noteUnread(call: GrpcCall): void
}

/** What a call is made of. */
export interface CallParts {
  readonly connection: Connection
  readonly method: DescMethod
  readonly head: CallHead
  readonly encoding: Encoding
  readonly bounds: RequestBounds
  readonly keeper: CallKeeper
}

/** One call. */
export class GrpcCall {
  readonly connection: Connection
  readonly method: DescMethod
  readonly head: CallHead
  /** Bytes of an unfinished request and of answers that were not read. */
  heldBytes = 0
  readonly #stream: ServerHttp2Stream
  readonly #bounds: RequestBounds
  readonly #encoding: Encoding
  readonly #keeper: CallKeeper
  readonly #reader: FrameReader
  #deadline: NodeJS.Timeout | undefined
  #gone: AbortController | undefined
  #wake: (() => void) | undefined
  /** The request of a call that has one. */
  #frame: Frame | null = null
  #takesMany = false
  #reading = false
  #failure: Error | null = null
  #receivedBytes = 0
  #window = { sinceMs: 0, bytes: 0 }
  #trailers: OutgoingHttpHeaders = okTrailers
  #ended = false
  #settled = false
  #unread = { sinceMs: 0, bytes: 0 }

  constructor(stream: ServerHttp2Stream, parts: CallParts) {
    this.connection = parts.connection
    this.method = parts.method
    this.head = parts.head
    this.#stream = stream
    this.#encoding = parts.encoding
    this.#bounds = parts.bounds
    this.#keeper = parts.keeper
    this.#reader = new FrameReader(findLargestMessage(parts.bounds), (bytes) => this.#hold(bytes))
    stream.once('close', () => this.#close())
    // What came before the client gave up must be read, or the stream is never closed.
    stream.once('aborted', () => stream.resume())
    stream.once('wantTrailers', () => this.#sendTrailers())
  }

  /** Aborts when the client hangs up and when its deadline passes. Made when somebody looks. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController()
    if (this.#stream.destroyed) this.#abort()
    return this.#gone.signal
  }

  /** Ends the call when the time of a `grpc-timeout` has passed. */
  limitTime(timeout: string | readonly string[] | undefined): void {
    if (timeout === undefined) return
    const timeoutMs = parseTimeout(String(timeout))
    if (timeoutMs === null) return this.#fail(invalid('The grpc-timeout cannot be read.'))
    this.#deadline = setTimeout(
      () => {
        this.refuse(new ConnectError('The deadline of the call passed.', Code.DeadlineExceeded))
        this.#fail(new MediagenError('request_timeout', 'The deadline passed before the request was whole.'))
        this.#abort()
      },
      Math.min(timeoutMs, longestTimerMs),
    )
  }

  /**
   * Reads the one request of a call.
   * @param spend told its size, inflated, before it is decoded
   * @throws MediagenError when it is none, is too large, stalls, or breaks off, or what `spend` throws
   */
  async readOne(spend: Spend): Promise<Message> {
    this.#listen()
    this.#reading = true
    this.#window = { sinceMs: this.#keeper.latestMs, bytes: 0 }
    await this.#arrival()
    this.#reading = false
    if (this.#failure) throw this.#failure
    const frame = this.#frame
    if (this.#stream.destroyed || this.#reader.isAmid) throw brokeOff()
    if (!frame) throw invalid('The call carries no request.')
    this.#frame = null
    const bytes = frame.compressed ? await this.#inflate(frame.bytes) : frame.bytes
    spend(bytes.length)
    return this.#decode(bytes)
  }

  /**
   * Reads requests as they are asked for: while none is, the flow control of HTTP/2 holds the client.
   * @throws MediagenError as `readOne`
   */
  async *readAll(): AsyncGenerator<Message> {
    this.#takesMany = true
    this.#listen()
    for (;;) {
      const frame = this.#reader.take()
      if (frame) yield frame.compressed ? this.#decode(await this.#inflate(frame.bytes)) : this.#decode(frame.bytes)
      else if (this.#failure) throw this.#failure
      else if (this.#stream.destroyed) throw brokeOff()
      else if (this.#stream.readableEnded) break
      else await this.#arrival()
    }
    if (this.#reader.isAmid) throw brokeOff()
  }

  /** Answers with one message. */
  answer(message: unknown): void {
    const frame = this.#toFrame(message)
    if (this.#isOver()) return
    this.#ended = true
    if (!this.#stream.readableEnded) this.#stream.resume()
    this.#respond()
    this.#countUnread(frame.length)
    this.#stream.end(frame)
    this.#settle()
  }

  /** Answers with messages, none before the one before it was taken; then ends. */
  async answerAll(messages: AsyncIterable<unknown>): Promise<void> {
    for await (const message of messages) {
      if (this.#isOver()) return
      this.#respond()
      const frame = this.#toFrame(message)
      this.#countUnread(frame.length)
      // A reader that does not keep up holds the loop here, and the feed keeps only the latest state meanwhile.
      if (!this.#stream.write(frame, () => this.#countRead(frame.length))) await this.#drained()
    }
    if (this.#isOver()) return
    this.#ended = true
    this.#respond()
    this.#stream.end()
  }

  /** Ends the call with an error, whatever was answered before. */
  refuse(error: ConnectError): void {
    if (this.#isOver()) return
    this.#ended = true
    if (this.#stream.headersSent) {
      this.#trailers = toTrailers(error)
      this.#stream.end()
      return
    }
    this.#stream.respond({ ...toHeader(this.head.requestId), ...toTrailers(error) }, { endStream: true })
    this.#leave()
    this.#settle()
  }

  /** Ends the call when its client takes or sends nothing for too long. */
  sweep(nowMs: number): void {
    const { stallMs } = this.#keeper
    if (this.#reading && nowMs - this.#window.sinceMs >= stallMs) {
      if (this.#receivedBytes - this.#window.bytes < leastProgressBytes) this.#fail(tooSlow(stallMs))
      else this.#window = { sinceMs: nowMs, bytes: this.#receivedBytes }
    }
    const { sinceMs, bytes } = this.#unread
    if (bytes > 0 && nowMs - sinceMs >= stallMs * Math.ceil(bytes / leastProgressBytes)) this.#cut()
  }

  /** Lets go of what the call holds, for others that hold less. */
  giveUp(): void {
    if (this.#unread.bytes > 0) this.#cut()
    else
      this.#fail(
        new MediagenError(
          'overloaded',
          'Unfinished requests take all the room that there is for them, and this one began first. Send it again.',
          { retryAfterSeconds: retryGivenUpSeconds },
        ),
      )
  }

  #settle(): void {
    if (this.#settled) return
    this.#settled = true
    this.#keeper.noteCall(this)
  }

  #isOver(): boolean {
    return this.#ended || this.#stream.destroyed || this.#stream.closed
  }

  #listen(): void {
    this.#stream.on('data', (piece: Buffer) => this.#take(piece))
    this.#stream.once('end', () => this.#wake?.())
  }

  /** Resolves when there is something new: a piece or the end for those who take many, all or a failure for the others. */
  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      if (this.#failure || this.#stream.readableEnded || this.#stream.destroyed) resolve()
      else this.#stream.resume()
    })
  }

  #take(piece: Buffer): void {
    if (this.#failure || this.#ended) return
    this.#receivedBytes += piece.length
    this.#reader.push(piece)
    if (this.#takesMany) {
      this.#stream.pause()
      this.#wake?.()
      return
    }
    try {
      if (this.#frame) throw invalid('The call carries more than one request.')
      this.#frame = this.#reader.take()
      if (this.#frame && this.#reader.isAmid) throw invalid('The call carries more than one request.')
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #fail(failure: Error): void {
    this.#failure ??= failure
    this.#reader.discard()
    this.#wake?.()
  }

  async #inflate(bytes: Buffer): Promise<Buffer> {
    if (this.#encoding === 'identity') throw invalid('A request is compressed, and no grpc-encoding says how.')
    const maxOutputLength = findLargestMessage(this.#bounds)
    this.#hold(maxOutputLength)
    try {
      return await inflaters[this.#encoding](bytes, { maxOutputLength })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE')
        throw invalid(`A request is no ${this.#encoding}.`, error)
      throw new MediagenError(
        'payload_too_large',
        `A request is larger than the ${maxOutputLength} bytes that this server takes, once it is inflated.`,
        {},
        { cause: error },
      )
    } finally {
      this.#hold(-maxOutputLength)
    }
  }

  #decode(bytes: Uint8Array): Message {
    return decodeRequest(this.method, bytes, this.#bounds)
  }

  #toFrame(message: unknown): Buffer {
    return toFrame(toBinary(this.method.output, create(this.method.output, message as never)))
  }

  #respond(): void {
    if (!this.#stream.headersSent) this.#stream.respond(toHeader(this.head.requestId), awaitTrailers)
  }

  #sendTrailers(): void {
    if (this.#stream.destroyed) return
    this.#stream.sendTrailers(this.#trailers)
    if (!this.#stream.readableEnded) this.#leave()
  }

  /** What the client still sends is of no use: it is told to stop, so that it cannot hold the stream. */
  #leave(): void {
    if (this.#stream.destroyed) return
    this.#stream.resume()
    if (this.#stream.state.remoteClose !== 1) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  /** Ends the stream with what was not read of it. */
  #cut(): void {
    this.#keeper.noteUnread(this)
    this.#ended = true
    this.#stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#stream.off('drain', done).off('close', done)
        resolve()
      }
      this.#stream.on('drain', done).on('close', done)
    })
  }

  #countUnread(bytes: number): void {
    if (this.#unread.bytes === 0) this.#unread.sinceMs = this.#keeper.latestMs
    this.#unread.bytes += bytes
    this.#hold(bytes)
  }

  #countRead(bytes: number): void {
    this.#unread = { sinceMs: this.#keeper.latestMs, bytes: this.#unread.bytes - bytes }
    this.#hold(-bytes)
  }

  #hold(bytes: number): void {
    if (bytes === 0 || this.#stream.destroyed) return
    this.#keeper.hold(this, bytes)
  }

  #abort(): void {
    this.#gone?.abort(new ConnectError('the client hung up or its deadline passed', Code.Canceled))
  }

  #close(): void {
    clearTimeout(this.#deadline)
    this.#settle()
    this.#ended = true
    this.#reader.discard()
    this.#keeper.forget(this)
    this.#abort()
    this.#wake?.()
  }
}

function invalid(message: string, cause?: unknown): MediagenError {
  return new MediagenError('invalid_request', message, {}, { cause })
}

function brokeOff(): MediagenError {
  return invalid('The request broke off before it was whole.')
}

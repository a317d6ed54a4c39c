// One call over grpc-js, guarded: it is read on demand, one message at a time, and ends when it stalls.
import { constants, type ServerHttp2Stream } from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import { Metadata, ServerInterceptingCall, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js'
import { leastProgressBytes, tooSlow } from '../../guards/progress.ts'
import type { CallHead } from '../../services/calls/service.ts'
import { FrameFollower } from './frames.ts'
import type { HeldCall, OpenCalls } from './open-calls.ts'
import { inflate } from './request-bytes.ts'
import { brokeOff, givenUp, invalid, passedDeadline } from './request-errors.ts'
import type { Connection } from './sessions.ts'

// Smaller pieces of a message cost more to handle than to send.
const fragmentBytes = 64
// Clients of health and reflection ask one question after the other.
const mostQuestions = 100
// Node has no longer timers.
const longestTimerMs = 2 ** 31 - 1

type Listener = Parameters<ServerInterceptingCallInterface['start']>[0]
type PartialStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0]

/** The rpc of a call. */
export interface GrpcRoute {
  /** Its name in the log and the metrics. */
  readonly rpc: string
  /** Length of the largest message that is read, inflated or not. */
  readonly maxBytes: number
  /** Whether the client sends a stream of messages. */
  readonly takesMany: boolean
  /** Who answers: a service behind the pipeline, or a handler of grpc-js that needs no key and gets what `decode` returns. */
  readonly answer:
    | { readonly by: 'service'; serve(call: GuardedCall): void }
    | { readonly by: 'handler'; decode(bytes: Buffer): unknown }
}

/** What a call needs. */
export interface CallDeps {
  readonly stream: ServerHttp2Stream
  readonly connection: Connection
  readonly route: GrpcRoute
  readonly head: CallHead
  readonly encoding: string
  /** How long the client waits; null if that is unknown. */
  readonly timeoutMs: number | null
  /** Why the call is refused at once. */
  readonly error: Error | null
  readonly calls: OpenCalls
}

/**
 * One call. As an interceptor it stands between grpc-js and the handler. Our services talk to it; the handlers of the open
 * services (health, reflection) talk to grpc-js as usual.
 */
export class GuardedCall extends ServerInterceptingCall implements HeldCall {
  readonly connection: Connection
  readonly route: GrpcRoute
  readonly head: CallHead
  readonly beganAtMs = performance.now()
  heldBytes = 0
  readonly #stream: ServerHttp2Stream
  readonly #calls: OpenCalls
  readonly #error: Error | null
  readonly #encoding: string
  readonly #frames: FrameFollower
  readonly #gone = new AbortController()
  readonly #deadline: NodeJS.Timeout | undefined
  /** Who gets the messages: a handler of grpc-js, or a read of our own that is pending. */
  #listener: Pick<Listener, 'onReceiveMessage' | 'onReceiveHalfClose'>
  #waiting: PromiseWithResolvers<Buffer | null> | null = null
  #failure: Error | null = null
  #answered = false
  /** Bytes of the request that are held, and those of them that arrived since a time while the call waits for its request. */
  #keptBytes = 0
  #window: { sinceMs: number; bytes: number } | null = null
  #unread = { sinceMs: 0, bytes: 0 }
  #isReadPostponed = false
  #goOn: (() => void) | undefined

  constructor(call: ServerInterceptingCallInterface, deps: CallDeps) {
    super(call)
    const { stream, connection, route, head, encoding, timeoutMs, error, calls } = deps
    this.connection = connection
    this.route = route
    this.head = head
    this.#stream = stream
    this.#calls = calls
    this.#error = error
    this.#encoding = encoding
    this.#frames = new FrameFollower(route.maxBytes)
    this.#listener = {
      onReceiveMessage: (message) => this.#settle(message as Buffer),
      onReceiveHalfClose: () => this.#settle(null),
    }
    if (timeoutMs !== null && timeoutMs <= longestTimerMs) this.#deadline = setTimeout(() => this.#expire(), timeoutMs)
    // Ahead of the listener of grpc-js, so that it decodes nothing of a call that is refused here.
    stream.prependListener('data', (piece: Buffer) => this.#follow(piece))
    stream.once('close', () => this.#close())
    // The bytes that arrived before the client gave up must be read, or the stream is never closed.
    stream.once('aborted', () => stream.resume())
    calls.add(this)
  }

  /** Aborts when the client hangs up and when its deadline passes. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  override start(listener: Listener): void {
    if (this.#error) return this.refuse(this.#error)
    const { answer } = this.route
    if (answer.by === 'handler')
      this.#listener = {
        onReceiveMessage: (bytes) => listener.onReceiveMessage(answer.decode(bytes as Buffer)),
        onReceiveHalfClose: () => listener.onReceiveHalfClose(),
      }
    super.start({
      onReceiveMetadata: (metadata) => {
        if (answer.by === 'handler') listener.onReceiveMetadata(metadata)
        else answer.serve(this)
      },
      onReceiveMessage: (message) => void this.#receive(message as Buffer),
      onReceiveHalfClose: () => this.#receiveEnd(),
      onCancel: () => listener.onCancel(),
    })
  }

  override startRead(): void {
    if (this.#isOver()) return
    // The next request of a stream is read only after the client has read the previous answer.
    this.#isReadPostponed = this.#unread.bytes > 0
    if (this.#isReadPostponed) return
    if (!this.route.takesMany) this.#window ??= { sinceMs: performance.now(), bytes: 0 }
    super.startRead()
  }

  override sendMessage(message: unknown, callback: () => void): void {
    if (this.#isOver()) return
    const before = this.#stream.writableLength
    super.sendMessage(message, () => {
      this.#countUnread(-bytes)
      callback()
    })
    const bytes = this.#stream.writableLength - before
    this.#countUnread(bytes)
  }

  override sendStatus(status: PartialStatus): void {
    if (this.#isOver()) return
    this.#answered = true
    this.#window = null
    if (this.route.answer.by === 'handler') this.#calls.noteOpen(this, status)
    const { headersSent } = this.#stream
    super.sendStatus(status)
    if (headersSent) this.#stream.once('wantTrailers', () => stopReading(this.#stream))
    else stopReading(this.#stream)
  }

  /**
   * Reads the one request of a call.
   * @throws MediagenError when it is none, is too large, stalls, or breaks off
   */
  async readOne(): Promise<Buffer> {
    const request = await this.#next()
    if (!request) throw invalid('The call carries no request.')
    await this.#next()
    return request
  }

  /**
   * Reads requests on demand; meanwhile the flow control of HTTP/2 holds the client back.
   * @throws MediagenError as `readOne`
   */
  async *readAll(): AsyncGenerator<Buffer> {
    for (;;) {
      const request = await this.#next()
      if (!request) return
      yield request
    }
  }

  /** Answers with one message. */
  answer(message: Buffer): void {
    if (this.#isOver()) return
    this.#sendHeader()
    this.sendMessage(message, () => {})
    this.#end()
  }

  /** Answers with messages, each only after the previous one was sent; then ends. */
  async answerAll(messages: AsyncIterable<Buffer>): Promise<void> {
    for await (const message of messages) {
      if (this.#isOver()) return
      this.#sendHeader()
      // A slow reader holds the loop here; meanwhile the feed keeps only the latest state.
      await new Promise<void>((resolve) => {
        this.#goOn = resolve
        this.sendMessage(message, resolve)
      })
    }
    if (this.#isOver()) return
    this.#sendHeader()
    this.#end()
  }

  /** Ends the call with an error, whatever was answered before. */
  refuse(error: Error): void {
    this.sendStatus(this.#calls.toStatus(error, this.head.requestId))
  }

  sweep(nowMs: number): void {
    const { stallMs } = this.#calls
    if (this.#window && nowMs - this.#window.sinceMs >= stallMs) {
      if (this.#window.bytes < leastProgressBytes) this.#fail(tooSlow(stallMs))
      else this.#window = { sinceMs: nowMs, bytes: 0 }
    }
    const { sinceMs, bytes } = this.#unread
    if (bytes > 0 && nowMs - sinceMs >= stallMs * Math.ceil(bytes / leastProgressBytes)) this.#cut()
  }

  giveUp(): void {
    if (this.#unread.bytes > 0) this.#cut()
    else this.#fail(givenUp())
  }

  #isOver(): boolean {
    return this.#answered || this.#stream.destroyed || this.#stream.closed
  }

  /** Looks at a piece of the request before grpc-js does. */
  #follow(piece: Buffer): void {
    if (this.#failure || this.#isOver()) return
    if (this.#window) this.#window.bytes += piece.length
    try {
      this.#frames.push(piece)
      if (this.#frames.begun > 1 && !this.route.takesMany) throw invalid('The call carries more than one request.')
    } catch (error) {
      return this.#fail(error as Error)
    }
    if (this.#frames.waiting > mostQuestions && this.route.answer.by === 'handler') {
      this.#fail(givenUp())
      // grpc-js, which sees the piece next, keeps nothing for a closed stream.
      return this.#stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    }
    this.#keep(this.#frames.keptBytes)
    if (piece.length < fragmentBytes && this.#frames.isAmid) this.#calls.noteFragment(this.connection)
  }

  async #receive(message: Buffer): Promise<void> {
    if (this.#failure) return
    const isCompressed = this.#frames.take(message.length)
    this.#keep(this.#frames.keptBytes)
    try {
      this.#listener.onReceiveMessage(isCompressed ? await this.#inflate(message) : message)
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  async #inflate(message: Buffer): Promise<Buffer> {
    const { maxBytes } = this.route
    this.#hold(maxBytes)
    try {
      return await inflate(this.#encoding, message, maxBytes)
    } finally {
      this.#hold(-maxBytes)
    }
  }

  #receiveEnd(): void {
    this.#window = null
    if (this.#frames.isAmid) this.#fail(brokeOff())
    else this.#listener.onReceiveHalfClose()
  }

  #next(): Promise<Buffer | null> {
    if (this.#stream.destroyed) this.#failure ??= brokeOff()
    if (this.#failure) return Promise.reject(this.#failure)
    const { promise } = (this.#waiting = Promise.withResolvers<Buffer | null>())
    this.startRead()
    return promise
  }

  #settle(message: Buffer | null): void {
    this.#waiting?.resolve(message)
    this.#waiting = null
  }

  /** Ends the reading of the request: the read that is pending fails, or the call if a handler of grpc-js reads it. */
  #fail(failure: Error): void {
    this.#failure ??= failure
    this.#window = null
    this.#keep(0)
    // Else grpc-js would keep what still comes.
    if (!this.#isOver()) this.#stream.pause()
    if (this.route.answer.by === 'handler') return this.refuse(failure)
    this.#waiting?.reject(this.#failure)
    this.#waiting = null
  }

  #expire(): void {
    this.refuse(new ConnectError('The deadline of the call passed.', Code.DeadlineExceeded))
    this.#abort()
    this.#fail(passedDeadline())
  }

  #sendHeader(): void {
    if (!this.#stream.headersSent) this.sendMetadata(toHeader(this.head.requestId))
  }

  #end(): void {
    this.sendStatus({ code: Status.OK, details: 'OK' })
  }

  /** Ends the stream and drops what the client has not read. */
  #cut(): void {
    this.#calls.noteUnread(this)
    this.#answered = true
    this.#stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #countUnread(bytes: number): void {
    const isFirst = this.#unread.bytes === 0
    const sinceMs = isFirst || bytes < 0 ? performance.now() : this.#unread.sinceMs
    this.#unread = { sinceMs, bytes: this.#unread.bytes + bytes }
    this.#hold(bytes)
    if (this.#isReadPostponed) this.startRead()
  }

  #keep(bytes: number): void {
    const more = bytes - this.#keptBytes
    this.#keptBytes = bytes
    if (more !== 0) this.#hold(more)
  }

  #hold(bytes: number): void {
    if (!this.#stream.destroyed) this.#calls.hold(this, bytes)
  }

  #abort(): void {
    this.#gone.abort(new ConnectError('the client hung up or its deadline passed', Code.Canceled))
  }

  #close(): void {
    clearTimeout(this.#deadline)
    if (!this.#answered) {
      if (this.route.answer.by === 'handler') this.#calls.noteOpen(this, { code: Status.OK, details: '' })
      this.#abort()
    }
    this.#answered = true
    if (this.#waiting) this.#fail(brokeOff())
    this.#calls.forget(this)
    this.#goOn?.()
  }
}

/** Tells the client of a call that was answered to stop sending, so that it cannot keep the stream open. */
export function stopReading(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.readableEnded) return
  stream.resume()
  if (stream.state.remoteClose !== 1) stream.close(constants.NGHTTP2_NO_ERROR)
}

/** The header of every answer. */
export function toHeader(requestId: string): Metadata {
  const header = new Metadata()
  header.set('x-request-id', requestId)
  return header
}

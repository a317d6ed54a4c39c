// One call over grpc-js, guarded: it is read on demand, one message at a time, and ends when it stalls.
import { constants, type ServerHttp2Stream } from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import { Metadata, ServerInterceptingCall, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js'
import { leastProgressBytes, tooSlow } from '../progress.ts'
import type { CallKeeper, HeldCall } from './open-calls.ts'
import { brokeOff, givenUp, invalid, passedDeadline, tooLarge } from './request-errors.ts'
import type { CallHead } from '../service.ts'
import { FrameReader, toFrame } from './frames.ts'
import type { Connection } from './sessions.ts'

// Smaller pieces of a message cost more to handle than to send.
const fragmentBytes = 64

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
  /** Answers a call. Null for a service that needs no key, which a handler of grpc-js answers. */
  readonly serve: ((call: GuardedCall) => void) | null
}

/** What a call needs. */
export interface CallParts {
  readonly stream: ServerHttp2Stream
  readonly connection: Connection
  readonly route: GrpcRoute
  readonly head: CallHead
  readonly keeper: CallKeeper
  /** Calls back when the calls that arrive together are handled (batches.ts). */
  readonly inBatch: (handle: () => void) => void
}

/** A pending read of a message; null means the end. */
interface Waiting {
  resolve(message: Buffer | null): void
  reject(failure: Error): void
}

/**
 * One call. As an interceptor it stands between grpc-js and the handler, and in front of what grpc-js reads from the stream.
 * Handlers of ours talk to it; those of the open services (health, reflection) talk to grpc-js as usual.
 */
export class GuardedCall extends ServerInterceptingCall implements HeldCall {
  readonly connection: Connection
  readonly route: GrpcRoute
  readonly head: CallHead
  readonly beganAtMs = performance.now()
  /** Bytes of an unfinished request and of answers that were not read. */
  heldBytes = 0
  readonly #stream: ServerHttp2Stream
  readonly #keeper: CallKeeper
  readonly #inBatch: CallParts['inBatch']
  readonly #reader: FrameReader
  /** The handlers of grpc-js for received bytes, for their end, and for a status to send. */
  readonly #feed: (bytes: Buffer) => void
  readonly #finish: () => void
  readonly #send: (status: PartialStatus) => void
  #gone: AbortController | undefined
  #waiting: Waiting | null = null
  /** Whether the handler wants a message; grpc-js has one to inflate; the client has sent all. */
  #isAsked = false
  #isFed = false
  #isWhole = false
  #messages = 0
  #inflatingBytes = 0
  #failure: Error | null = null
  #answered = false
  #settled = false
  #receivedBytes = 0
  #window: { sinceMs: number; bytes: number } | null = null
  #unread = { sinceMs: 0, bytes: 0 }
  #goOn: (() => void) | undefined

  constructor(call: ServerInterceptingCallInterface, { stream, connection, route, head, keeper, inBatch }: CallParts) {
    super(call)
    this.connection = connection
    this.route = route
    this.head = head
    this.#stream = stream
    this.#keeper = keeper
    this.#inBatch = inBatch
    this.#reader = new FrameReader(route.maxBytes, (bytes) => this.#hold(bytes))
    // grpc-js ends a call by itself when it cannot read it. This replaces its status by our error and counts the call.
    this.#send = call.sendStatus.bind(call)
    call.sendStatus = (status) => this.#refuseForLibrary(status)
    // grpc-js inflates everything at once and keeps slices of whole socket buffers, so it gets one complete message at a time.
    this.#feed = takeListener(stream, 'data')
    this.#finish = takeListener(stream, 'end')
    stream.on('data', (piece: Buffer) => this.#take(piece))
    stream.once('end', () => {
      this.#isWhole = true
      if (this.#isAsked) this.#pump()
    })
    stream.once('close', () => this.#close())
    // The bytes that arrived before the client gave up must be read, or the stream is never closed.
    stream.once('aborted', () => stream.resume())
  }

  /** Aborts when the client hangs up and when its deadline passes. Created on first use. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController()
    if (this.#stream.destroyed) this.#abort()
    return this.#gone.signal
  }

  override start(listener: Listener): void {
    super.start({
      onReceiveMetadata: (metadata) => {
        // The handler of grpc-js would create a Duplex that nobody needs.
        if (this.route.serve) this.route.serve(this)
        else listener.onReceiveMetadata(metadata)
      },
      onReceiveMessage: (message) => {
        this.#release()
        if (this.route.serve === null) return listener.onReceiveMessage(message)
        this.#settle(message as Buffer)
      },
      onReceiveHalfClose: () => {
        this.#window = null
        if (this.route.serve === null) return listener.onReceiveHalfClose()
        this.#settle(null)
      },
      onCancel: () => {
        this.#abort()
        listener.onCancel()
      },
    })
  }

  override startRead(): void {
    this.#isAsked = true
    // The next request of a stream is read only after the client has read the previous answer.
    if (this.#unread.bytes > 0 || this.#isOver()) return
    if (!this.route.takesMany) this.#window ??= { sinceMs: this.#keeper.latestMs, bytes: 0 }
    super.startRead()
    this.#pump()
  }

  override sendMessage(message: unknown, callback: () => void): void {
    if (this.#isOver()) return
    const before = this.#stream.writableLength
    super.sendMessage(message, () => {
      this.#countRead(bytes)
      callback()
    })
    const bytes = this.#stream.writableLength - before
    this.#countUnread(bytes)
  }

  override sendStatus(status: PartialStatus): void {
    if (this.#isOver()) return
    this.#answered = true
    this.#window = null
    const { headersSent } = this.#stream
    if (this.route.serve === null) this.#keeper.noteOpen(this, status)
    this.#send(status)
    if (headersSent) this.#stream.once('wantTrailers', () => this.#leave())
    else this.#leave()
    this.#noteCall()
  }

  /**
   * Reads the one request of a call, to be handled with those that arrive together with it.
   * @throws GuardError when it is none, is too large, stalls, or breaks off
   */
  async readOne(): Promise<Buffer> {
    const request = await this.#next()
    if (!request) throw invalid('The call carries no request.')
    await this.#next()
    await new Promise<void>((resolve) => this.#inBatch(resolve))
    return request
  }

  /**
   * Reads requests on demand; meanwhile the flow control of HTTP/2 holds the client back.
   * @throws GuardError as `readOne`
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
    this.sendStatus(this.#keeper.toStatus(error, this.head.requestId))
  }

  /** Ends the reading of the request: rejects the pending read, or refuses the call if grpc-js handles it. */
  fail(failure: Error): void {
    this.#failure ??= failure
    this.#window = null
    this.#release()
    this.#reader.discard()
    if (this.route.serve === null) return this.refuse(failure)
    this.#waiting?.reject(this.#failure)
    this.#waiting = null
  }

  /** Ends the call when its client takes or sends nothing for too long. */
  sweep(nowMs: number): void {
    const { stallMs } = this.#keeper
    if (this.#window && nowMs - this.#window.sinceMs >= stallMs) {
      if (this.#receivedBytes - this.#window.bytes < leastProgressBytes) this.fail(tooSlow(stallMs))
      else this.#window = { sinceMs: nowMs, bytes: this.#receivedBytes }
    }
    const { sinceMs, bytes } = this.#unread
    if (bytes > 0 && nowMs - sinceMs >= stallMs * Math.ceil(bytes / leastProgressBytes)) this.#cut()
  }

  /** Ends the call, so that calls that hold fewer bytes have room. */
  giveUp(): void {
    if (this.#unread.bytes > 0) this.#cut()
    else this.fail(givenUp())
  }

  #isOver(): boolean {
    return this.#answered || this.#stream.destroyed || this.#stream.closed
  }

  #take(piece: Buffer): void {
    if (this.#failure || this.#isOver()) return
    this.#receivedBytes += piece.length
    this.#reader.push(piece)
    this.#pump()
    if (piece.length < fragmentBytes && this.#reader.isAmid) this.#keeper.noteFragment(this)
  }

  /** Hands grpc-js the next message, if it is complete, or the end. */
  #pump(): void {
    if (this.#failure || !this.#isAsked) return
    try {
      const frame = this.#reader.take()
      if (frame) {
        this.#messages += 1
        if (!this.route.takesMany && (this.#messages > 1 || this.#reader.isAmid))
          throw invalid('The call carries more than one request.')
        this.#isAsked = false
        this.#isFed = true
        if (frame.compressed) this.#hold((this.#inflatingBytes = this.route.maxBytes))
        this.#feed(toFrame(frame.bytes, frame.compressed))
      } else if (this.#isWhole) {
        if (this.#reader.isAmid) throw brokeOff()
        this.#isAsked = false
        this.#finish()
      }
    } catch (error) {
      this.fail(error as Error)
    }
  }

  #release(): void {
    this.#isFed = false
    this.#hold(-this.#inflatingBytes)
    this.#inflatingBytes = 0
  }

  #next(): Promise<Buffer | null> {
    return new Promise((resolve, reject) => {
      if (this.#stream.destroyed) this.#failure ??= brokeOff()
      if (this.#failure) return reject(this.#failure)
      this.#waiting = { resolve, reject }
      this.startRead()
    })
  }

  /** Handles a status of grpc-js itself: it refuses a message, ends the call at its deadline, or cannot write. */
  #refuseForLibrary(status: PartialStatus): void {
    if (status.code === Status.DEADLINE_EXCEEDED) {
      this.refuse(new ConnectError('The deadline of the call passed.', Code.DeadlineExceeded))
      this.fail(passedDeadline())
    } else if (!this.#isFed) this.sendStatus(status)
    else if (status.code === Status.RESOURCE_EXHAUSTED) this.fail(tooLarge(this.route.maxBytes))
    else this.fail(invalid(`A request cannot be read: ${status.details}.`))
  }

  #settle(message: Buffer | null): void {
    this.#waiting?.resolve(message)
    this.#waiting = null
  }

  #sendHeader(): void {
    if (!this.#stream.headersSent) this.sendMetadata(toHeader(this.head.requestId))
  }

  #end(): void {
    this.sendStatus({ code: Status.OK, details: 'OK' })
  }

  /** Tells the client to stop sending, so that it cannot keep the stream open. */
  #leave(): void {
    if (this.#stream.destroyed || this.#stream.readableEnded) return
    this.#stream.resume()
    if (this.#stream.state.remoteClose !== 1) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  /** Ends the stream and drops what the client has not read. */
  #cut(): void {
    this.#keeper.noteUnread(this)
    this.#answered = true
    this.#stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #countUnread(bytes: number): void {
    if (this.#unread.bytes === 0) this.#unread.sinceMs = this.#keeper.latestMs
    this.#unread.bytes += bytes
    this.#hold(bytes)
  }

  #countRead(bytes: number): void {
    this.#unread = { sinceMs: this.#keeper.latestMs, bytes: this.#unread.bytes - bytes }
    this.#hold(-bytes)
    if (this.#isAsked && this.#unread.bytes === 0) this.startRead()
  }

  #hold(bytes: number): void {
    if (bytes === 0 || this.#stream.destroyed) return
    this.#keeper.hold(this, bytes)
  }

  #noteCall(): void {
    if (this.#settled) return
    this.#settled = true
    this.#keeper.noteCall(this)
  }

  #abort(): void {
    this.#gone?.abort(new ConnectError('the client hung up or its deadline passed', Code.Canceled))
  }

  #close(): void {
    if (this.route.serve === null && !this.#answered) this.#keeper.noteOpen(this, { code: Status.OK, details: '' })
    this.#noteCall()
    this.#answered = true
    this.#reader.discard()
    // Creating an error costs time, and most calls do not need one.
    if (this.#waiting) this.fail(brokeOff())
    this.#keeper.forget(this)
    this.#abort()
    this.#goOn?.()
  }
}

/** Removes the listener that was added last and returns it. */
function takeListener(stream: ServerHttp2Stream, event: 'data' | 'end'): (bytes?: Buffer) => void {
  const listener = stream.listeners(event).at(-1) as (bytes?: Buffer) => void
  stream.removeListener(event, listener)
  return listener
}

/** The header of every answer. */
export function toHeader(requestId: string): Metadata {
  const header = new Metadata()
  header.set('x-request-id', requestId)
  return header
}

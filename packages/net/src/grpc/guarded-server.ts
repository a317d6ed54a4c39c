// A gRPC server behind guards. grpc-js serves it, but limits neither connections nor the memory of calls; the guards do.
import type { Http2Server, IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { Code, ConnectError } from '@connectrpc/connect'
import * as grpc from '@grpc/grpc-js'
import { createBatches } from '../batches.ts'
import type { FindClient } from '../client-address.ts'
import { GuardError } from '../guard-error.ts'
import { type OpenCalls, type CallBounds, type CallNotes, createOpenCalls } from './open-calls.ts'
import type { CallHead } from '../service.ts'
import { type CallParts, type GrpcRoute, GuardedCall } from './guarded-call.ts'
import { type Connection, createSessions, type SessionBounds, type Sessions } from './sessions.ts'

/** The limits of a port. */
export interface GuardBounds extends SessionBounds, CallBounds {
  /** Length of the largest message, inflated or not. */
  readonly largestMessage: number
  /** Calls per second that the client of a connection may cancel, with or without a key; the burst is `resetSeconds`. */
  readonly maxResets: number
}

/** What a server needs. */
export interface GuardedServerOptions {
  readonly host: string
  readonly port: number
  readonly bounds: GuardBounds
  /** Adds the services and returns their routes by path. They call `admitted` when the key of a caller is valid. */
  addServices(server: grpc.Server, admitted: (connection: Connection) => void): ReadonlyMap<string, GrpcRoute>
  /** Finds the client of a call. */
  readonly findClient: FindClient
  /** The id of a request: the one that was sent, if it is valid, else a new one. */
  readonly readRequestId: (sent: string | null) => string
  /** Called once for each call to a service that needs a key; returns the reason to refuse the call at once, if any. */
  readonly shed: () => (Error & { readonly code: string }) | null
  /** Converts an error into the status of a refused call. */
  readonly toStatus: CallNotes['toStatus']
  /** A call that needs no key has ended. */
  readonly noteOpen: CallNotes['noteOpen']
  /** Counts and logs a refusal by the port itself. */
  readonly report: Report
}

type Report = (code: string, facts: { readonly path?: string; readonly [name: string]: unknown }) => void

/** A running server. */
export interface GuardedServer {
  readonly port: number
  /** Refuses new calls, waits for calls under way up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>
}

const longestSweepMs = 1000
const longestTimerMs = 2 ** 31 - 1
const resetSeconds = 4
const mebibyte = 1_048_576
const longestPath = 256

/**
 * Starts a server.
 * @throws Error of the system when the port cannot be opened
 */
export async function startGuardedServer(options: GuardedServerOptions): Promise<GuardedServer> {
  const { bounds, report, toStatus, noteOpen } = options
  const clockMs = (): number => performance.now()
  const sessions = createSessions(bounds, clockMs, (code, address) => report(code, { address }))
  const sweepMs = Math.min(longestSweepMs, bounds.stallMs / 2)
  const openCalls = createOpenCalls(bounds, sweepMs, clockMs, {
    noteCall: ({ connection }) => sessions.noteCall(connection),
    noteFragment: ({ connection }) => sessions.noteFragment(connection),
    noteUnread: ({ route, head }) => report('answer_not_read', { rpc: route.rpc, request_id: head.requestId }),
    noteOpen,
    toStatus,
  })
  // Hands the parts of a stream from its listener to the interceptor, which grpc-js calls synchronously.
  const arriving: Arriving = { parts: null, call: null }
  const server = createServer(bounds, arriving)
  const routes = options.addServices(server, sessions.noteKey)
  const { injectConnection } = server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const http2Server = findHttp2Server(server)
  // A broken connection is closed; nothing else is to be done.
  http2Server.on('session', (session) => sessions.open(session)).on('sessionError', () => {})
  guardStreams(http2Server, { ...options, routes, sessions, openCalls, arriving })
  const listener = net.createServer((socket) => {
    if (sessions.admit(socket)) injectConnection(socket)
  })
  const port = await listen(listener, options)
  const sweeping = setInterval(() => {
    sessions.sweep()
    openCalls.sweep()
  }, sweepMs)
  sweeping.unref()
  return {
    port,
    async close(graceMs) {
      listener.close()
      await sessions.close(graceMs)
      clearInterval(sweeping)
      server.forceShutdown()
    },
  }
}

function listen(listener: net.Server, { host, port }: GuardedServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen({ host, port }, () => resolve((listener.address() as AddressInfo).port))
  })
}

interface Arriving {
  parts: CallParts | null
  call: GuardedCall | null
}

function createServer(bounds: GuardBounds, arriving: Arriving): grpc.Server {
  // Errors that matter are thrown; standard error is for the one sentence that reports them.
  grpc.setLogVerbosity(grpc.logVerbosity.NONE)
  const server = new grpc.Server({
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': bounds.largestMessage,
    'grpc.max_concurrent_streams': Math.min(bounds.maxKeylessStreams, bounds.maxStreams),
    // open-calls.ts limits the bytes that calls hold. This limit is higher: near it, Node would end calls of honest clients.
    'grpc-node.max_session_memory': Math.ceil((2 * bounds.maxConnectionBytes) / mebibyte) + 64,
    interceptors: [
      (_method, call) => {
        const parts = arriving.parts as CallParts
        // There is no option for the inflated size of a single method. test/rpc/hostile-requests.test.ts fails if this stops working.
        Object.assign(call, { maxReceiveMessageSize: parts.route.maxBytes })
        return (arriving.call = new GuardedCall(call, parts))
      },
    ],
  })
  // For every connection; sessions.ts limits those without a key further.
  // grpc-js has no option that reaches these of Node. test/rpc/rapid-reset.test.ts fails if this stops working.
  Object.assign((server as unknown as { commonServerOptions: object }).commonServerOptions, {
    streamResetRate: bounds.maxResets,
    streamResetBurst: bounds.maxResets * resetSeconds,
  })
  return server
}

/** The HTTP/2 server that gets the injected connections. */
function findHttp2Server(server: grpc.Server): Http2Server {
  const [http2Server] = (server as unknown as { http2Servers: Map<Http2Server, unknown> }).http2Servers.keys()
  if (!http2Server) throw new Error('grpc-js keeps its HTTP/2 server elsewhere')
  return http2Server
}

interface StreamParts extends GuardedServerOptions {
  readonly routes: ReadonlyMap<string, GrpcRoute>
  readonly sessions: Sessions
  readonly openCalls: OpenCalls
  readonly arriving: Arriving
}

type ServeStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

/** Handles each stream before grpc-js: refuses it, or passes it on with its connection and route. */
function guardStreams(server: Http2Server, parts: StreamParts): void {
  const { routes, sessions, openCalls, report, shed, toStatus, arriving } = parts
  const inBatch = createBatches<() => void>((handle) => handle())
  const [serve] = server.listeners('stream') as ServeStream[]
  server.removeAllListeners('stream')
  server.on('stream', (stream, headers) => {
    // An error closes the stream; nothing else is to be done.
    stream.on('error', () => {})
    const connection = sessions.find(stream.session)
    if (!connection || connection.session.destroyed || stream.destroyed) return
    const path = headers[':path'] ?? ''
    const head = new GrpcHead(stream, headers, parts)
    const route = routes.get(path)
    const refusal = findRefusal(headers, route, shed)
    if (!route || refusal) {
      const { code, error } = refusal ?? unknownMethod(path)
      report(code, { path, request_id: head.requestId })
      stream.respond(error ? toAnswer(toStatus(error, head.requestId)) : { ':status': 415 }, { endStream: true })
      // Discards what the client still sends.
      stream.resume()
      stream.close()
      sessions.noteCall(connection)
      return
    }
    const timeout = headers['grpc-timeout']
    const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : parseTimeout(String(timeout))
    arriving.parts = { stream, connection, route, head, keeper: openCalls, inBatch }
    arriving.call = null
    // grpc-js needs no other headers, and each one costs time.
    serve?.(stream, {
      ':path': path,
      'content-type': 'application/grpc',
      'grpc-encoding': headers['grpc-encoding'] ?? 'identity',
      // grpc-js would end a call with a longer timeout at once.
      ...(timeoutMs !== null && timeoutMs <= longestTimerMs && { 'grpc-timeout': timeout }),
    })
    const call = takeCall(arriving)
    if (!call) return
    openCalls.add(call)
    if (timeoutMs === null) call.fail(new GuardError('invalid_request', 'The grpc-timeout cannot be read.'))
  })
}

function takeCall({ call }: Arriving): GuardedCall | null {
  return call
}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('application/grpc') ?? false
}

/** The refusal of a stream before grpc-js sees it. `error` is null for a request that is not gRPC, which gets status 415. */
interface Refusal {
  readonly code: string
  readonly error: Error | null
}

const encodings: ReadonlySet<string | readonly string[]> = new Set(['identity', 'gzip', 'deflate'])
const notGrpc: Refusal = { code: 'not_grpc', error: null }

// Made when it is needed: the first ConnectError loads Node's implementation of fetch, for a class of it.
function unknownEncoding(): Refusal {
  const error = new ConnectError('A request may be encoded as identity, gzip or deflate.', Code.Unimplemented)
  return { code: 'unknown_encoding', error }
}

function unknownMethod(path: string): Refusal {
  const message = `The server does not implement the method ${path.slice(0, longestPath)}.`
  return { code: 'unknown_method', error: new ConnectError(message, Code.Unimplemented) }
}

function findRefusal(
  headers: IncomingHttpHeaders,
  route: GrpcRoute | undefined,
  shed: GuardedServerOptions['shed'],
): Refusal | null {
  if (!isGrpc(headers)) return notGrpc
  if (!route) return unknownMethod(headers[':path'] ?? '')
  if (!encodings.has(headers['grpc-encoding'] ?? 'identity')) return unknownEncoding()
  const overload = route.serve === null ? null : shed()
  return overload && { code: overload.code, error: overload }
}

function toAnswer({ code, details, metadata }: grpc.StatusObject): OutgoingHttpHeaders {
  return {
    ':status': 200,
    'content-type': 'application/grpc+proto',
    'grpc-accept-encoding': 'identity,deflate,gzip',
    'grpc-status': String(code),
    'grpc-message': encodeURI(details),
    ...metadata.toHttp2Headers(),
  }
}

/** The head of a call. Its address is computed on demand, because it is seldom needed. */
class GrpcHead implements CallHead {
  readonly authorization: string | null
  readonly requestId: string
  readonly #stream: ServerHttp2Stream
  readonly #forwarded: string | null
  readonly #findClient: FindClient

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    { findClient, readRequestId }: GuardedServerOptions,
  ) {
    this.authorization = toText(headers.authorization)
    this.requestId = readRequestId(toText(headers['x-request-id']))
    this.#stream = stream
    this.#forwarded = toText(headers['x-forwarded-for'])
    this.#findClient = findClient
  }

  get address(): string {
    return this.#findClient(this.#stream.session?.socket.remoteAddress ?? '', this.#forwarded)
  }
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Milliseconds that a `grpc-timeout` allows; null when it cannot be read. */
function parseTimeout(timeout: string): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const unitMs = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }[unit]
  return unitMs === undefined ? null : Number(digits) * unitMs
}

// A gRPC server behind guards: grpc-js serves it, and bounds neither connections nor what a call may hold.
import type { Http2Server, IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { Code, ConnectError } from '@connectrpc/connect'
import * as grpc from '@grpc/grpc-js'
import type { FindClient } from '../client-address.ts'
import { GuardError } from '../guard-error.ts'
import { type CallBooks, type CallBounds, type CallNotes, createCallBooks } from './call-books.ts'
import type { CallHead } from '../service.ts'
import { type CallParts, type GrpcRoute, GuardedCall } from './guarded-call.ts'
import { type Connection, createSessions, type SessionBounds, type Sessions } from './sessions.ts'

/** How much a port takes. */
export interface GuardBounds extends SessionBounds, CallBounds {
  /** Length of the largest message, inflated or not. */
  readonly largestMessage: number
  /** Calls that the client of a connection may give up each second, key or not; several seconds' worth at once. */
  readonly maxResets: number
}

/** What a server is made of. */
export interface GuardedServerOptions {
  readonly host: string
  readonly port: number
  readonly bounds: GuardBounds
  /** Adds the services; answers with their routes by path. `admitted` is to be told when a caller's key is known. */
  addServices(server: grpc.Server, admitted: (connection: Connection) => void): ReadonlyMap<string, GrpcRoute>
  /** Who a call comes from. */
  readonly findClient: FindClient
  /** The id of a request: the one that was sent, if it will do, else another. */
  readonly readRequestId: (sent: string | null) => string
  /** Asked once about each call to a service with keys: why it is refused at once, if it is. */
  readonly shed: () => (Error & { readonly code: string }) | null
  /** How a call ends that is refused for an error. */
  readonly toStatus: CallNotes['toStatus']
  /** A call that needs no key has ended. */
  readonly noteOpen: CallNotes['noteOpen']
  /** Counts and logs what the port refuses by itself. */
  readonly report: Report
}

type Report = (code: string, facts: { readonly path?: string; readonly [name: string]: unknown }) => void

/** A server that listens. */
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
 * @throws Error of the system when the port cannot be had
 */
export async function startGuardedServer(options: GuardedServerOptions): Promise<GuardedServer> {
  const { bounds, report, toStatus, noteOpen } = options
  const clockMs = (): number => performance.now()
  const sessions = createSessions(bounds, clockMs, (code, address) => report(code, { address }))
  const sweepMs = Math.min(longestSweepMs, bounds.stallMs / 2)
  const books = createCallBooks(bounds, sweepMs, clockMs, {
    noteCall: ({ connection }) => sessions.noteCall(connection),
    noteFragment: ({ connection }) => sessions.noteFragment(connection),
    noteUnread: ({ route, head }) => report('answer_not_read', { rpc: route.rpc, request_id: head.requestId }),
    noteOpen,
    toStatus,
  })
  // What the guard knows of the stream that grpc-js is told of, which it hands on in the same turn.
  const arriving: Arriving = { parts: null, call: null }
  const server = createServer(bounds, arriving)
  const routes = options.addServices(server, sessions.noteKey)
  const { injectConnection } = server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const http2Server = findHttp2Server(server)
  // A connection that breaks is closed; there is nobody to tell.
  http2Server.on('session', (session) => sessions.open(session)).on('sessionError', () => {})
  guardStreams(http2Server, { ...options, routes, sessions, books, arriving })
  const listener = net.createServer((socket) => {
    if (sessions.admit(socket)) injectConnection(socket)
  })
  const port = await listen(listener, options)
  const sweeping = setInterval(() => {
    sessions.sweep()
    books.sweep()
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
  // What matters comes as an error; standard error is for the one sentence that tells it.
  grpc.setLogVerbosity(grpc.logVerbosity.NONE)
  const server = new grpc.Server({
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': bounds.largestMessage,
    'grpc.max_concurrent_streams': Math.min(bounds.maxKeylessStreams, bounds.maxStreams),
    // What calls hold is bounded by the books. Near this bound Node ends calls of clients that do nothing wrong.
    'grpc-node.max_session_memory': Math.ceil((2 * bounds.maxConnectionBytes) / mebibyte) + 64,
    interceptors: [
      (_method, call) => {
        const parts = arriving.parts as CallParts
        // How far it inflates has no option for a single method; test/rpc/hostile-requests.test.ts tells when this stops to work.
        Object.assign(call, { maxReceiveMessageSize: parts.route.maxBytes })
        return (arriving.call = new GuardedCall(call, parts))
      },
    ],
  })
  // For every connection; those without a key may not even call as often (sessions.ts).
  // There is no option that reaches Node's; test/rpc/rapid-reset.test.ts tells when this stops to work.
  Object.assign((server as unknown as { commonServerOptions: object }).commonServerOptions, {
    streamResetRate: bounds.maxResets,
    streamResetBurst: bounds.maxResets * resetSeconds,
  })
  return server
}

/** What the injector hands connections to. */
function findHttp2Server(server: grpc.Server): Http2Server {
  const [http2Server] = (server as unknown as { http2Servers: Map<Http2Server, unknown> }).http2Servers.keys()
  if (!http2Server) throw new Error('grpc-js keeps its HTTP/2 server elsewhere')
  return http2Server
}

interface StreamParts extends GuardedServerOptions {
  readonly routes: ReadonlyMap<string, GrpcRoute>
  readonly sessions: Sessions
  readonly books: CallBooks
  readonly arriving: Arriving
}

type ServeStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

/** Stands before grpc-js, which is told of a stream once it is known who sends it and what for. */
function guardStreams(server: Http2Server, parts: StreamParts): void {
  const { routes, sessions, books, report, shed, toStatus, arriving } = parts
  const [serve] = server.listeners('stream') as ServeStream[]
  server.removeAllListeners('stream')
  server.on('stream', (stream, headers) => {
    // Whatever goes wrong with a stream closes it.
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
      // What the client still sends is of no use.
      stream.resume()
      stream.close()
      sessions.noteCall(connection)
      return
    }
    const timeout = headers['grpc-timeout']
    const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : parseTimeout(String(timeout))
    arriving.parts = { stream, connection, route, head, keeper: books }
    arriving.call = null
    // It needs no other headers, and takes its time for each.
    serve?.(stream, {
      ':path': path,
      'content-type': 'application/grpc',
      'grpc-encoding': headers['grpc-encoding'] ?? 'identity',
      // Longer ones it would take for none at all, and end the call at once.
      ...(timeoutMs !== null && timeoutMs <= longestTimerMs && { 'grpc-timeout': timeout }),
    })
    const call = takeCall(arriving)
    if (!call) return
    books.add(call)
    if (timeoutMs === null) call.fail(new GuardError('invalid_request', 'The grpc-timeout cannot be read.'))
  })
}

function takeCall({ call }: Arriving): GuardedCall | null {
  return call
}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('application/grpc') ?? false
}

/** What is refused before grpc-js is told of it; one that is not gRPC is told so without an error. */
interface Refusal {
  readonly code: string
  readonly error: Error | null
}

const encodings: ReadonlySet<string | readonly string[]> = new Set(['identity', 'gzip', 'deflate'])
const notGrpc: Refusal = { code: 'not_grpc', error: null }
const unknownEncoding: Refusal = {
  code: 'unknown_encoding',
  error: new ConnectError('A request may be encoded as identity, gzip or deflate.', Code.Unimplemented),
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
  if (!encodings.has(headers['grpc-encoding'] ?? 'identity')) return unknownEncoding
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

/** The head of a call. Its address is found when somebody asks, which is seldom. */
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

// A gRPC server behind guards. grpc-js serves it, but limits neither connections nor the memory of calls; the guards do.
import http2, { type IncomingHttpHeaders, type ServerHttp2Stream, type ServerOptions } from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { Code, ConnectError } from '@connectrpc/connect'
import * as grpc from '@grpc/grpc-js'
import { readTraceHeaders } from '../../core/traces.ts'
import type { FindClient } from '../../guards/client-address.ts'
import { createStreamInjector } from '../../node-internals.ts'
import { type CallDeps, type GrpcRoute, GuardedCall, stopReading } from './guarded-call.ts'
import { type CallBounds, type CallNotes, createOpenCalls, type OpenCalls } from './open-calls.ts'
import { encodings } from './request-bytes.ts'
import { invalid } from './request-errors.ts'
import { type Connection, createSessions, type SessionBounds, type SessionDeps } from './sessions.ts'

/** The limits of a port. */
export interface GuardBounds extends SessionBounds, CallBounds {
  /** Calls per second that the client of a connection may cancel, with or without a key; the burst is `resetSeconds`. */
  readonly maxResets: number
}

/** Finds the rpc at a path. */
export type FindRoute = (path: string) => GrpcRoute | undefined

/** What a server needs. */
export interface GuardedServerOptions {
  readonly host: string
  readonly port: number
  readonly bounds: GuardBounds
  /** Adds the services. They call `admitted` when the key of a caller is valid. */
  addServices(server: grpc.Server, admitted: (connection: Connection) => void): FindRoute
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
  report(code: string, facts: { readonly path?: string; readonly [name: string]: unknown }): void
}

/** A running server. */
export interface GuardedServer {
  readonly port: number
  /** Refuses new calls, waits for calls under way up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>
}

const longestSweepMs = 1000
const resetSeconds = 4
const mebibyte = 1_048_576
const longestPath = 256
const longestHeaders = 131_072

/**
 * Starts a server.
 * @throws Error of the system when the port cannot be opened
 */
export async function startGuardedServer(options: GuardedServerOptions): Promise<GuardedServer> {
  const { bounds, report, toStatus, noteOpen } = options
  const sessionOptions = toSessionOptions(bounds)
  const calls = createOpenCalls(bounds, {
    noteUnread: ({ route, head }) => report('answer_not_read', { rpc: route.rpc, request_id: head.requestId }),
    noteFragment: (connection) => sessions.noteFragment(connection),
    noteOpen,
    toStatus,
  })
  const { server, inject } = createServer()
  const findRoute = options.addServices(server, (connection) => sessions.noteKey(connection))
  const sessions = createSessions({
    bounds,
    nowMs: () => performance.now(),
    shakeHands: (socket) => http2.performServerHandshake(socket, sessionOptions),
    serve: createServe({ ...options, calls, findRoute, inject }),
    report: (reason, address) => report(reason, { address }),
  })
  const listener = net.createServer((socket) => sessions.accept(socket))
  const port = await listen(listener, options)
  const sweeping = setInterval(
    () => {
      sessions.sweep()
      calls.sweep()
    },
    Math.min(longestSweepMs, bounds.stallMs / 2),
  )
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

/** Node bounds each connection by these; sessions.ts bounds those without a key further. */
function toSessionOptions(bounds: GuardBounds): ServerOptions {
  return {
    settings: { maxConcurrentStreams: Math.min(bounds.maxKeylessStreams, bounds.maxStreams) },
    // open-calls.ts limits the bytes that calls hold. This limit is higher: near it, Node would end calls of honest clients.
    maxSessionMemory: Math.ceil((2 * bounds.maxConnectionBytes) / mebibyte) + 64,
    maxSendHeaderBlockLength: longestHeaders,
    streamResetRate: bounds.maxResets,
    streamResetBurst: bounds.maxResets * resetSeconds,
  }
}

function listen(listener: net.Server, { host, port }: GuardedServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen({ host, port }, () => resolve((listener.address() as AddressInfo).port))
  })
}

/** Has grpc-js serve a stream. @param deps what its call needs; null when grpc-js refuses it by itself */
type Inject = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, deps: CallDeps | null) => void

function createServer(): { server: grpc.Server; inject: Inject } {
  // Errors that matter are thrown; standard error is for the one sentence that reports them.
  grpc.setLogVerbosity(grpc.logVerbosity.NONE)
  // grpc-js calls the interceptor while a stream is injected.
  let arriving: CallDeps | null = null
  const server = new grpc.Server({
    'grpc.enable_channelz': 0,
    // A guarded call refuses what is larger than its rpc takes.
    'grpc.max_receive_message_length': -1,
    interceptors: [(_method, call) => new GuardedCall(call, arriving as CallDeps)],
  })
  const injectStream = createStreamInjector(server)
  return {
    server,
    inject(stream, headers, deps) {
      arriving = deps
      injectStream(stream, headers)
    },
  }
}

interface ServeDeps extends GuardedServerOptions {
  readonly calls: OpenCalls
  readonly findRoute: FindRoute
  readonly inject: Inject
}

/** Has grpc-js serve streams, and counts those that it refuses by itself: what is not gRPC, or has no method. */
function createServe({ calls, findRoute, inject, ...options }: ServeDeps): SessionDeps['serve'] {
  return (connection, stream, headers) => {
    const { path, contentType, ...read } = readHeaders(connection, headers, options)
    const route = findRoute(path)
    const refusal = contentType.startsWith('application/grpc') ? findRefusal(read, route, options.shed) : notGrpc
    if (refusal) options.report(refusal.reason, { path, request_id: read.head.requestId })
    const error = refusal?.error ?? null
    // Guarded calls inflate messages and keep deadlines; grpc-js sees neither. It sends unknown paths back as they are.
    const injected = { ':path': encodeURI(path), 'content-type': contentType }
    inject(stream, injected, route ? { ...read, stream, connection, route, error, calls } : null)
    if (refusal && !error) stopReading(stream)
  }
}

interface CallHeaders extends Pick<CallDeps, 'head' | 'encoding' | 'timeoutMs'> {
  readonly path: string
  readonly contentType: string
}

function readHeaders(
  { peer }: Connection,
  headers: IncomingHttpHeaders,
  { findClient, readRequestId }: Pick<GuardedServerOptions, 'findClient' | 'readRequestId'>,
): CallHeaders {
  return {
    path: (headers[':path'] ?? '').slice(0, longestPath),
    contentType: headers['content-type'] ?? '',
    head: {
      authorization: headers.authorization ?? null,
      origin: toText(headers.origin),
      requestId: readRequestId(toText(headers['x-request-id'])),
      trace: readTraceHeaders(headers),
      address: findClient(peer, toText(headers['x-forwarded-for'])),
    },
    encoding: toText(headers['grpc-encoding']) ?? 'identity',
    timeoutMs: parseTimeout(toText(headers['grpc-timeout'])),
  }
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Milliseconds that a `grpc-timeout` allows; null when it cannot be read. */
function parseTimeout(timeout: string | null): number | null {
  if (timeout === null) return Number.POSITIVE_INFINITY
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const unitMs = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }[unit]
  return unitMs === undefined ? null : Number(digits) * unitMs
}

/** Why a stream is refused. `error` is null where grpc-js refuses it by itself. */
interface Refusal {
  readonly reason: string
  readonly error: Error | null
}

const notGrpc: Refusal = { reason: 'not_grpc', error: null }
const unknownMethod: Refusal = { reason: 'unknown_method', error: null }

function findRefusal(
  { encoding, timeoutMs }: Pick<CallHeaders, 'encoding' | 'timeoutMs'>,
  route: GrpcRoute | undefined,
  shed: GuardedServerOptions['shed'],
): Refusal | null {
  if (!route) return unknownMethod
  if (!encodings.includes(encoding)) return { reason: 'unknown_encoding', error: unknownEncoding() }
  if (timeoutMs === null) return { reason: 'unreadable_timeout', error: invalid('The grpc-timeout cannot be read.') }
  const overload = route.answer.by === 'service' ? shed() : null
  return overload && { reason: overload.code, error: overload }
}

function unknownEncoding(): Error {
  const known = encodings.join(',')
  const message = `A request may be encoded as one of ${known}.`
  return new ConnectError(message, Code.Unimplemented, { 'grpc-accept-encoding': known })
}

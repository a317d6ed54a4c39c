// The gRPC port: HTTP/2 is Node's, gRPC is our own, since a caller must be known before anything of a call is read.
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { Health } from '../../gen/grpc/health/v1/health_pb.ts'
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection as ServerReflectionAlpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts'
import { file_mediagen_v1_errors } from '../../gen/mediagen/v1/errors_pb.ts'
import { type Door, toListenError } from '../runtime/listen-error.ts'
import type { MediagenError } from '../core/errors.ts'
import { cutText } from '../core/log-text.ts'
import { readRequestId } from '../runtime/request-id.ts'
import type { FindClient } from '../net/client-address.ts'
import { toConnectError } from './errors.ts'
import { type CallBooks, type CallBounds, createCallBooks } from './grpc-books.ts'
import { GrpcCall, isEncoding } from './grpc-call.ts'
import { createRoutes, type Route } from './grpc-routes.ts'
import { toHeader, toTrailers } from './grpc-status.ts'
import { createHealthService, type HealthService } from './health.ts'
import { createCallContext } from './in-process.ts'
import { type CallHead, type GuardedService, openService, type PipelineParts } from './pipeline.ts'
import { createReflectionService } from './reflection.ts'
import type { RequestBounds } from './request-bytes.ts'
import { createSessions, type SessionBounds, type Sessions } from './sessions.ts'

/** A running gRPC server. */
export interface GrpcServer {
  readonly port: number
  /** Tells health checks that this server is going away. */
  drain(): void
  /** Refuses new calls, waits for calls under way up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>
}

/** How much the port takes. */
export interface GrpcBounds extends RequestBounds, SessionBounds, CallBounds {
  /** Size of a request to a service that needs no key. */
  readonly maxOpenRequestBytes: number
  /** Calls that the client of a connection may give up each second, key or not; several seconds' worth at once. */
  readonly maxResets: number
}

/** Where to listen, for whom, and how much to take. */
export interface GrpcServerOptions {
  readonly host: string
  readonly port: number
  /** Whether clients may ask for the schema of what is served here. */
  readonly reflection: boolean
  /** What this port is called when it cannot be had. Default: gRPC. */
  readonly door?: Door
  /** Who a call comes from. */
  readonly findClient: FindClient
  /** Asked once about each call to a service with keys: why it is refused at once, if it is. */
  readonly shed: () => MediagenError | null
  readonly bounds: GrpcBounds
  /** What refusals and the services that need no key are logged and counted with. */
  readonly pipeline: PipelineParts
}

const longestSweepMs = 1000
const resetSeconds = 4
const mebibyte = 1_048_576

/**
 * Starts the server.
 * @throws StartupError when the port cannot be had.
 */
export async function startGrpcServer(
  services: readonly GuardedService[],
  options: GrpcServerOptions,
): Promise<GrpcServer> {
  const { bounds, pipeline } = options
  const report: Report = (code, facts) => {
    pipeline.metrics.countGrpcRefusal(code)
    pipeline.strangers({ code, ...facts }, 'gRPC refused')
  }
  const clockMs = (): number => performance.now()
  const sessions = createSessions(bounds, clockMs, (code, address) => report(code, { address }))
  const sweepMs = Math.min(longestSweepMs, bounds.stallMs / 2)
  const books = createCallBooks(bounds, sweepMs, clockMs, {
    noteCall: ({ connection }) => sessions.noteCall(connection),
    noteUnread: ({ method, head }) =>
      report('answer_not_read', { rpc: `${method.parent.name}.${method.name}`, request_id: head.requestId }),
  })
  const health = createHealthService(services.map(({ service }) => service.typeName))
  const open = openServices(services, health, options)
  const openBounds = { ...bounds, maxBodyBytes: bounds.maxOpenRequestBytes }
  const routes = new Map(services.flatMap((service) => createRoutes(service, bounds, sessions.noteKey)))
  const openRoutes = new Map(open.flatMap((service) => createRoutes(service, openBounds, () => {})))

  const server = createHttp2Server(bounds)
  server.on('session', (session) => sessions.open(session))
  server.on('stream', createStreamHandler({ routes, openRoutes, sessions, books, report, ...options }))
  const listener = net.createServer((socket) => {
    if (sessions.admit(socket)) server.emit('connection', socket)
  })
  const port = await listen(listener, options)
  const sweeping = setInterval(() => {
    sessions.sweep()
    books.sweep()
  }, sweepMs)
  sweeping.unref()
  return {
    port,
    drain: health.drain,
    async close(graceMs) {
      listener.close()
      await sessions.close(graceMs)
      clearInterval(sweeping)
    },
  }
}

function createHttp2Server(bounds: GrpcBounds): Http2Server {
  const server = createServer({
    settings: { maxConcurrentStreams: Math.min(bounds.maxKeylessStreams, bounds.maxStreams) },
    // For every connection; those without a key may not even call as often (sessions.ts).
    streamResetRate: bounds.maxResets,
    streamResetBurst: bounds.maxResets * resetSeconds,
    // What calls hold is bounded by the books. Near this bound Node ends calls of clients that do nothing wrong.
    maxSessionMemory: Math.ceil((2 * bounds.maxConnectionBytes) / mebibyte) + 64,
  })
  // A connection that breaks is closed; there is nobody to tell.
  return server.on('sessionError', () => {})
}

function listen(listener: net.Server, { host, port, door = 'gRPC' }: GrpcServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', (error) => reject(toListenError(door, host, port, error)))
    listener.listen({ host, port }, () => resolve((listener.address() as AddressInfo).port))
  })
}

/** Services that need no key, logged and counted as all others. */
function openServices(
  services: readonly GuardedService[],
  health: HealthService,
  { reflection, pipeline }: GrpcServerOptions,
): GuardedService[] {
  const open = [openService(Health, health.impl, pipeline)]
  if (!reflection) return open
  const listed = [...services.map(({ service }) => service), Health, ServerReflection, ServerReflectionAlpha]
  // No service names the errors: error details travel packed, and a client asks for their type by name.
  const impl = createReflectionService(listed, [file_mediagen_v1_errors])
  // The two versions differ in their name alone.
  const alpha = impl as unknown as ServiceImpl<typeof ServerReflectionAlpha>
  return [...open, openService(ServerReflection, impl, pipeline), openService(ServerReflectionAlpha, alpha, pipeline)]
}

/** Counts and logs what the port refuses by itself. */
type Report = (code: string, facts: object) => void

interface StreamParts extends Pick<GrpcServerOptions, 'findClient' | 'shed'> {
  readonly routes: ReadonlyMap<string, Route>
  /** Those of services that need no key. */
  readonly openRoutes: ReadonlyMap<string, Route>
  readonly sessions: Sessions
  readonly books: CallBooks
  readonly report: Report
}

function createStreamHandler({ routes, openRoutes, sessions, books, report, findClient, shed }: StreamParts) {
  return (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    // Whatever goes wrong with a stream closes it.
    stream.on('error', () => {})
    const connection = sessions.find(stream.session)
    if (!connection || connection.session.destroyed || stream.destroyed) return
    const path = headers[':path'] ?? ''
    const head = readHead(stream, headers, findClient)
    const keyed = routes.get(path)
    const overload = keyed ? shed() : null
    const route = keyed ?? openRoutes.get(path)
    const encoding = headers['grpc-encoding'] ?? 'identity'
    if (route && overload === null && isGrpc(headers) && isEncoding(encoding)) {
      const { method, bounds } = route
      const call = new GrpcCall(stream, { connection, method, head, encoding, bounds, keeper: books })
      books.add(call)
      call.limitTime(headers['grpc-timeout'])
      route.run(
        call,
        createCallContext(method, () => call.signal, undefined, head),
      )
      return
    }
    const refuse = (code: string, answer: OutgoingHttpHeaders): void => {
      report(code, { path: cutText(path), request_id: head.requestId })
      stream.respond(answer, { endStream: true })
      // What the client still sends is of no use.
      stream.resume()
      stream.close()
      sessions.noteCall(connection)
    }
    if (!isGrpc(headers)) refuse('not_grpc', { ':status': 415 })
    else if (overload) refuse(overload.code, toRefusal(head, toConnectError(overload, head.requestId)))
    else if (!route)
      refuse('unknown_method', unimplemented(head, `The server does not implement the method ${cutText(path)}.`))
    else refuse('unknown_encoding', unimplemented(head, 'A request may be encoded as identity, gzip or deflate.'))
  }
}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('application/grpc') ?? false
}

function unimplemented(head: CallHead, message: string): OutgoingHttpHeaders {
  return toRefusal(head, new ConnectError(message, Code.Unimplemented))
}

function toRefusal({ requestId }: CallHead, error: ConnectError): OutgoingHttpHeaders {
  return { ...toHeader(requestId), ...toTrailers(error) }
}

function readHead(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, findClient: FindClient): CallHead {
  const find = (name: string): string | null => {
    const value = headers[name]
    return typeof value === 'string' ? value : null
  }
  return {
    authorization: find('authorization'),
    requestId: readRequestId(find('x-request-id')),
    // Looked for when somebody asks, which is seldom.
    get address() {
      return findClient(stream.session?.socket.remoteAddress ?? '', find('x-forwarded-for'))
    },
  }
}

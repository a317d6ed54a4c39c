// What cannot be had from documented interfaces. Each entry is checked when the server starts, and has a test.
import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import * as grpc from '@grpc/grpc-js'

/** Has a server of grpc-js serve a stream; of the headers it reads the path and the content type. */
export type InjectStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

/**
 * Hands streams of our own HTTP/2 sessions to grpc-js, which takes whole connections only (`createConnectionInjector`) and has
 * neither options nor events for their sessions.
 * @throws Error when grpc-js keeps its HTTP/2 server elsewhere
 */
export function createStreamInjector(server: grpc.Server): InjectStream {
  // Makes grpc-js create its HTTP/2 server, which listens for streams.
  server.createConnectionInjector(grpc.ServerCredentials.createInsecure())
  const { http2Servers } = server as unknown as { http2Servers?: unknown }
  const [http2Server] = http2Servers instanceof Map ? http2Servers.keys() : []
  if (!(http2Server instanceof EventEmitter) || http2Server.listenerCount('stream') !== 1)
    throw new Error(
      'This release of @grpc/grpc-js does not keep its HTTP/2 servers in `http2Servers`, as 1.14 does. The gRPC port needs 1.14.',
    )
  return (stream, headers) => void http2Server.emit('stream', stream, headers)
}

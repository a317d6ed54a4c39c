// gRPC as a client without manners sends it: over HTTP/2 of Node, message by message, ended or not.
import { once } from 'node:events'
import http2, { type ClientHttp2Session, type ClientHttp2Stream, type SessionOptions } from 'node:http2'
import { findTrailerError } from '@connectrpc/connect/protocol-grpc'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'

/** How a call ended, as the client saw it. */
export interface RawEnd {
  /** gRPC status; null when the stream ended without one. */
  readonly status: number | null
  readonly message: string
  /** Code of the typed detail; empty when there is none. */
  readonly detail: string
  /** HTTP/2 code of the end of the stream. */
  readonly rstCode: number
  readonly answer: Buffer
}

/** A call. */
export interface RawCall {
  readonly stream: ClientHttp2Stream
  readonly ended: Promise<RawEnd>
}

/** What of a call may differ. */
export interface RawOptions {
  /** Sent as it is; null for nothing. */
  readonly body?: Buffer | null
  /** Whether the request ends behind the body. Default: true. */
  readonly ends?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** A connection. */
export interface RawClient extends Disposable {
  readonly session: ClientHttp2Session
  /** Calls `Service/Method` of mediagen.v1, or any path that begins with a slash. */
  call(rpc: string, options?: RawOptions): RawCall
}

/** Connects to a gRPC port. */
export async function openRawClient(
  grpcUrl: string | null,
  key: string | null = null,
  options: SessionOptions = {},
): Promise<RawClient> {
  const session = http2.connect(grpcUrl ?? '', options)
  session.on('error', () => {})
  await once(session, 'remoteSettings')
  return {
    session,
    call(rpc, { body = null, ends = true, headers = {} } = {}) {
      const stream = session.request({
        ':method': 'POST',
        ':path': rpc.startsWith('/') ? rpc : `/mediagen.v1.${rpc}`,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...headers,
      })
      if (body) stream.write(body)
      if (ends) stream.end()
      return { stream, ended: readEnd(stream) }
    },
    [Symbol.dispose]: () => session.destroy(),
  }
}

/** A message as it travels. */
export function toFrame(message: Uint8Array, compressed = false): Buffer {
  const head = Buffer.alloc(5)
  head[0] = compressed ? 1 : 0
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** A field of a binary message whose type has a length. */
export function toField(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from([...toVarint(number * 8 + 2), ...toVarint(bytes.length)]), bytes])
}

function toVarint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...toVarint(value >>> 7)]
}

function readEnd(stream: ClientHttp2Stream): Promise<RawEnd> {
  const pieces: Buffer[] = []
  let head: http2.IncomingHttpHeaders = {}
  stream.on('error', () => {})
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  stream.on('response', (headers) => (head = { ...head, ...headers }))
  stream.on('trailers', (trailers) => (head = { ...head, ...trailers }))
  return new Promise((resolve) => {
    stream.once('close', () => {
      const status = head['grpc-status']
      const error = findTrailerError(
        new Headers(Object.entries(head).map(([name, value]) => [name.replace(':', ''), String(value)])),
      )
      resolve({
        status: status === undefined ? null : Number(status),
        message: error?.rawMessage ?? '',
        detail: error?.findDetails(ErrorDetailSchema)[0]?.code ?? '',
        rstCode: stream.rstCode ?? 0,
        answer: Buffer.concat(pieces),
      })
    })
  })
}

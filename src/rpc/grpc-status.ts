// How a call over gRPC ends on the wire: headers and trailers. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
import type { OutgoingHttpHeaders } from 'node:http2'
import type { ConnectError } from '@connectrpc/connect'
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc'

// A client takes so much of trailers in all as its library sees fit, some no more than 8 KiB.
const longestMessage = 3000

/** The header of every answer. */
export function toHeader(requestId: string): OutgoingHttpHeaders {
  return {
    ':status': 200,
    'content-type': 'application/grpc+proto',
    'grpc-accept-encoding': 'identity,deflate,gzip',
    'x-request-id': requestId,
  }
}

/** The trailers of a call that went well. */
export const okTrailers: OutgoingHttpHeaders = { 'grpc-status': '0' }

/** The trailers of a refusal, with our code as a typed detail where there is one. */
export function toTrailers(error: ConnectError): OutgoingHttpHeaders {
  const { rawMessage } = error
  const short = rawMessage.length > longestMessage ? `${rawMessage.slice(0, longestMessage)}…` : rawMessage
  // What was cut between the two halves of a character cannot be encoded.
  Object.assign(error, { rawMessage: short.toWellFormed() })
  const trailers = setTrailerStatus(new Headers(), error)
  // Connect encodes more than it must, and grpc-js decodes no more than that.
  trailers.set('grpc-message', error.rawMessage.replaceAll(/[^ -$&-~]+/g, encodeURIComponent))
  return Object.fromEntries(trailers)
}

/** Milliseconds that a `grpc-timeout` allows; null when it cannot be read. */
export function parseTimeout(timeout: string): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const unitMs = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }[unit]
  return unitMs === undefined ? null : Number(digits) * unitMs
}

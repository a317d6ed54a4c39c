// How a call over gRPC ends: what our errors are to grpc-js, and how long a call may last.
import type { ConnectError } from '@connectrpc/connect'
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { Metadata, type StatusObject } from '@grpc/grpc-js'

// A client takes so much of trailers in all as its library sees fit, some no more than 8 KiB.
const longestMessage = 3000

/** The header of every answer. */
export function toHeader(requestId: string): Metadata {
  const header = new Metadata()
  header.set('x-request-id', requestId)
  return header
}

/** A refusal, with our code as a typed detail where there is one. */
export function toStatus(error: ConnectError, requestId: string): StatusObject {
  const { rawMessage } = error
  const short = rawMessage.length > longestMessage ? `${rawMessage.slice(0, longestMessage)}…` : rawMessage
  // What was cut between the two halves of a character cannot be encoded.
  const details = short.toWellFormed()
  Object.assign(error, { rawMessage: details })
  const metadata = toHeader(requestId)
  for (const [name, value] of error.metadata) metadata.set(name, value)
  const trailer = new Headers()
  setTrailerStatus(trailer, error)
  const packed = trailer.get('grpc-status-details-bin')
  if (packed) metadata.set('grpc-status-details-bin', Buffer.from(packed, 'base64'))
  return { code: error.code as number, details, metadata }
}

/** Milliseconds that a `grpc-timeout` allows; null when it cannot be read. */
export function parseTimeout(timeout: string): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const unitMs = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }[unit]
  return unitMs === undefined ? null : Number(digits) * unitMs
}

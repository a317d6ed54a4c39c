// Converts our errors into the statuses of grpc-js.
import { create } from '@bufbuild/protobuf'
import { ConnectError } from '@connectrpc/connect'
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import type { StatusObject } from '@grpc/grpc-js'
import { ErrorDetailSchema, ViolationSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { toHeader } from './grpc/guarded-call.ts'

// Clients accept trailers of a limited size: some of only 8 KiB, most of 64 KiB.
const longestMessage = 3000
const longestDetails = 32_768

/** A refusal, with our code as a typed detail if it has one. */
export function toStatus(error: ConnectError, requestId: string): StatusObject {
  const { rawMessage } = error
  const short = rawMessage.length > longestMessage ? `${rawMessage.slice(0, longestMessage)}…` : rawMessage
  // Cutting can leave half a character, which cannot be encoded.
  const details = short.toWellFormed()
  Object.assign(error, { rawMessage: details })
  const trailer = new Headers()
  setTrailerStatus(trailer, error)
  const packed = trailer.get('grpc-status-details-bin')
  if ((packed?.length ?? 0) > longestDetails) return toStatus(halveViolations(error), requestId)
  const metadata = toHeader(requestId)
  for (const [name, value] of error.metadata) metadata.set(name, value)
  if (packed) metadata.set('grpc-status-details-bin', Buffer.from(packed, 'base64'))
  return { code: error.code as number, details, metadata }
}

/** The same error with half of its violations, or without details if it has none to leave out. */
function halveViolations(error: ConnectError): ConnectError {
  const [detail] = error.findDetails(ErrorDetailSchema)
  const violations = detail?.violations.slice(0, Math.floor(detail.violations.length / 2)) ?? []
  const more = create(ViolationSchema, { detail: 'and more problems, which do not fit into this answer' })
  const halved = detail && violations.length > 0 ? [{ ...detail, violations: [...violations, more] }] : []
  return new ConnectError(
    error.rawMessage,
    error.code,
    error.metadata,
    halved.map((value) => ({ desc: ErrorDetailSchema, value })),
  )
}

// The only map from errors to HTTP: RFC 9457 problems. docs/contract.md, section 3.
import { maxHeaderSize, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorDetail, ErrorDetailSchema } from '../../../gen/mediagen/v1/errors_pb.ts'
import type { LimitState as LimitStateMessage } from '../../../gen/mediagen/v1/limits_pb.ts'
import type { LimitName, LimitOwner, LimitState } from '../../core/accounts/limits.ts'
import { toTimestampText } from '../../core/clock.ts'
import {
  type ErrorCode,
  type ErrorDetails,
  isErrorCode,
  MediagenError,
  retryable,
  withoutCode,
} from '../../core/errors.ts'
import { isStorageTrouble, storageUnavailable } from '../../core/storage-trouble.ts'
import { describeMissing, describeViolations } from '../../core/violations.ts'
import { readRequestId } from '../../guards/request-id.ts'
import { toViolations } from '../../schema/violations.ts'
import { forbidRetry, isOpenaiPath } from '../openai-paths.ts'
import { toOpenaiError } from './openai-error.ts'
import { problemKinds } from './problem-kinds.ts'

/** The media type of a problem. */
export const problemType = 'application/problem+json'

/** Converts whatever a route threw into one of our errors; `internal` for anything unknown. */
export function toMediagenError(thrown: unknown): MediagenError {
  if (thrown instanceof MediagenError) return thrown
  if (thrown instanceof ConnectError) return fromConnectError(thrown)
  return fromFastifyError(thrown as FastifyError)
}

/** Answers with a problem. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  error: MediagenError,
  publicUrl: string,
): FastifyReply {
  const { retryAfterSeconds } = error.details
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  const challenge = toChallenge(error)
  if (challenge) reply.header('www-authenticate', challenge)
  const { http } = problemKinds[error.code]
  const status = http === 409 ? (request.routeOptions.config.conflictStatus ?? http) : http
  // Some of its clients show nothing else.
  if (isOpenaiPath(request.url)) reply.raw.statusMessage = error.code
  // Serialized here, so that no response schema of a route drops a member.
  return reply
    .code(status)
    .type(problemType)
    .serializer(JSON.stringify)
    .send(toProblem(error, request.id, publicUrl, status))
}

/** The refusal of a connection that sent something other than HTTP, or that was refused. */
export function toConnectionError(thrown: NodeJS.ErrnoException): MediagenError {
  if (thrown instanceof MediagenError) return thrown
  return new MediagenError(
    'invalid_request',
    thrown.code === 'HPE_HEADER_OVERFLOW'
      ? `The headers are larger than the ${maxHeaderSize} bytes that this server accepts.`
      : 'The data sent is not an HTTP/1.1 request.',
  )
}

/**
 * Writes an answer to a bare connection if it is still open, and closes it.
 * @param path that of the request that was cut off, if any
 */
export function refuseConnection(error: MediagenError, socket: Duplex, publicUrl: string, path?: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const requestId = readRequestId(null)
  const body = JSON.stringify(toProblem(error, requestId, publicUrl))
  const { http } = problemKinds[error.code]
  const head = [
    `HTTP/1.1 ${http} ${isOpenaiPath(path) ? error.code : STATUS_CODES[http]}`,
    'Connection: close',
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    ...(error.details.retryAfterSeconds === undefined ? [] : [`Retry-After: ${error.details.retryAfterSeconds}`]),
    ...(isOpenaiPath(path) ? [forbidRetry.join(': ')] : []),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => closeSoon(socket))
}

// How long what a refused connection still sends is read and dropped, and on how many connections at once.
const lingerMs = 1000
const mostLingering = 100
let lingering = 0

/** Closes a connection whose answer was sent. At once, the bytes that were not read would reset it, and destroy the answer on its way. */
function closeSoon(socket: Duplex): void {
  if (lingering >= mostLingering || socket.destroyed) return void socket.destroy()
  lingering += 1
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('end', () => socket.destroy())
  socket.once('close', () => {
    lingering -= 1
    clearTimeout(timer)
  })
  socket.resume()
}

/** The body of a problem. */
export function toProblem(
  error: MediagenError,
  requestId: string,
  publicUrl: string,
  status: number = problemKinds[error.code].http,
): object {
  const kind = problemKinds[error.code]
  const { violations, required, available, topUpUrl, budget, permission, replacedBy } = error.details
  return {
    type: `${publicUrl}/problems/${error.code}`,
    title: kind.title,
    status,
    detail: error.message,
    code: error.code,
    retryable: retryable[error.code],
    request_id: requestId,
    ...(violations && violations.length > 0 && { errors: violations }),
    ...(required !== undefined && { required }),
    ...(available !== undefined && { available }),
    ...(topUpUrl !== undefined && { top_up_url: topUpUrl }),
    ...(budget !== undefined && { budget: toBudget(budget) }),
    ...(permission !== undefined && { permission }),
    ...(replacedBy !== undefined && { replaced_by: replacedBy }),
    error: toOpenaiError(error, status),
  }
}

function toBudget({ startsAtMs, renewsAtMs, ...budget }: LimitState): object {
  const toTime = (ms: number | null): string | null => (ms === null ? null : toTimestampText(ms))
  return { ...budget, starts_at: toTime(startsAtMs), renews_at: toTime(renewsAtMs) }
}

/** The challenge of RFC 6750, section 3. */
function toChallenge({ code, message, details }: MediagenError): string | null {
  const description = message.replaceAll(/["\\]/g, "'")
  if (code === 'authentication_required') return 'Bearer realm="mediagen"'
  if (code === 'invalid_api_key')
    return `Bearer realm="mediagen", error="invalid_token", error_description="${description}"`
  if (code === 'missing_permission')
    return `Bearer realm="mediagen", error="insufficient_scope", error_description="${description}", scope="${details.permission}"`
  return null
}

const unreachable: ReadonlySet<Code> = new Set([Code.Unavailable, Code.Aborted, Code.Canceled, Code.DeadlineExceeded])

/** Whether the call failed on its way: by its code, or because its HTTP/2 stream or session ended under it. */
function isUnreachable({ code, cause }: ConnectError): boolean {
  const broken = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('ERR_HTTP2_')
  return broken || unreachable.has(code)
}

function internalError(cause: unknown): MediagenError {
  const message = 'Something went wrong on this server. Its log holds the cause under the request id.'
  return new MediagenError('internal', message, {}, { cause })
}

function fromConnectError(error: ConnectError): MediagenError {
  const [detail] = error.findDetails(ErrorDetailSchema)
  if (detail && isErrorCode(detail.code))
    return new MediagenError(detail.code, withoutCode(error.rawMessage), toDetails(detail), { cause: error })
  // Without our detail, the core was not reached or something else answered.
  if (!isUnreachable(error)) return internalError(error)
  return new MediagenError(
    'shutting_down',
    'The core of this service cannot be reached right now. Nothing is lost; send the request again.',
    { retryAfterSeconds: 2 },
    { cause: error },
  )
}

function toDetails(detail: ErrorDetail): ErrorDetails {
  return {
    ...(detail.violations.length > 0 && {
      violations: detail.violations.map((violation) => ({ pointer: violation.pointer, detail: violation.detail })),
    }),
    ...(detail.required !== undefined && { required: Number(detail.required) }),
    ...(detail.available !== undefined && { available: Number(detail.available) }),
    ...(detail.topUpUrl !== undefined && { topUpUrl: detail.topUpUrl }),
    ...(detail.budget && { budget: toLimitState(detail.budget) }),
    ...(detail.permission !== undefined && { permission: detail.permission }),
    ...(detail.replacedBy !== undefined && { replacedBy: detail.replacedBy }),
    ...(detail.retryAfterSeconds !== undefined && { retryAfterSeconds: detail.retryAfterSeconds }),
  }
}

function toLimitState(sent: LimitStateMessage): LimitState {
  const { of, limit, credits, held, charged, left, startsAt, renewsAt } = sent
  return {
    of: of as LimitOwner,
    limit: limit as LimitName,
    credits: Number(credits),
    held: Number(held),
    charged: Number(charged),
    left: Number(left),
    startsAtMs: startsAt ? timestampMs(startsAt) : null,
    renewsAtMs: renewsAt ? timestampMs(renewsAt) : null,
  }
}

const fastifyCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
}

function fromFastifyError(error: FastifyError): MediagenError {
  if (error.validation) {
    const violations = toViolations(error.validation, '', describeMissing)
    return new MediagenError('invalid_request', describeViolations(violations), { violations })
  }
  if (isStorageTrouble(error)) return storageUnavailable(error)
  const status = error.statusCode ?? 500
  if (status >= 500) return internalError(error)
  const code = fastifyCodes[error.code] ?? 'invalid_request'
  return new MediagenError(code, describeRefusal(error), {}, { cause: error })
}

function describeRefusal(error: FastifyError): string {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return 'The body must be JSON: send Content-Type: application/json.'
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return 'The body is empty; it must be a JSON object.'
    case 'FST_ERR_BAD_URL':
      return 'The path is not validly percent-encoded.'
    default:
      return `${error.message}.`
  }
}

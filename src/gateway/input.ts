// Parses bodies, and explains what is wrong with those that cannot be read.
import { isUtf8 } from 'node:buffer'
import type { JsonValue } from '@bufbuild/protobuf'
import type { FastifyBodyParser, FastifyReply, FastifyRequest } from 'fastify'
import { MediagenError, type Violation } from '../core/errors.ts'
import { cutText } from '../core/text/log-text.ts'
import { describeViolations } from '../core/violations.ts'
import { refuseRepeatedNames } from '../guards/json-names.ts'
import { refuseManyValues, weighJson } from '../guards/json-values.ts'
import { toPointerToken } from '../schema/violations.ts'
import type { Keys } from './access.ts'

/**
 * Parses bodies with Fastify's own `parser`, and explains what is wrong with those that it refuses.
 * @param maxValues maximum number of values in a body; a body with more is refused before it is parsed
 * @param spend counts a body, by its bytes and values
 */
export function explainRefusals(
  parser: FastifyBodyParser<string>,
  maxValues: number,
  spend: Keys['spend'],
): FastifyBodyParser<Buffer> {
  const parse: FastifyBodyParser<Buffer> = (request, bytes, done) => {
    try {
      refuseManyValues(bytes, maxValues)
    } catch (error) {
      return done(error as Error)
    }
    // Decoding would silently replace invalid bytes.
    if (!isUtf8(bytes)) return done(new MediagenError('invalid_request', 'The body is not valid UTF-8.'))
    const body = bytes.toString('utf8')
    if (body === '' && takesNoBody(request)) return done(null)
    return parser(request, body, (refusal, value) => {
      if (refusal) return done(body === '' ? refusal : explainBody(body, refusal))
      try {
        refuseRepeatedNames(body)
      } catch (error) {
        return done(error as Error)
      }
      done(null, value)
    })
  }
  return (request, bytes, done) => {
    const counted = request.caller ? spend(request.caller, weighJson(bytes, maxValues)) : Promise.resolve()
    counted.then(() => parse(request, bytes, done), done)
  }
}

/** Whether a route takes no body, or an empty object. Some clients name a content type all the same. */
export function takesNoBody({ routeOptions: { config, schema } }: FastifyRequest): boolean {
  return schema?.operation !== undefined && schema.body === undefined && !config.readsBody
}

/** Forgets the content type of a body that is empty, on routes that take none. */
export function forgetEmptyBody(request: FastifyRequest): void {
  const { headers } = request
  const isEmpty = headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
  if (isEmpty && headers['content-type'] !== undefined && takesNoBody(request)) delete headers['content-type']
}

/**
 * What a head says of its body that makes reading it pointless.
 * @throws MediagenError
 */
export function checkAnnouncedBody(request: FastifyRequest, reply: FastifyReply): void {
  const { headers, method, routeOptions } = request
  const { permission, readsBody } = routeOptions.config
  // Other routes read their bodies in other ways, or not at all.
  if (permission === undefined || method === 'GET' || method === 'HEAD') return
  const announced = Number(headers['content-length'] ?? 0)
  if (announced === 0 && headers['transfer-encoding'] === undefined) return
  if (!readsBody && !/^application\/json *(?:;|$)/i.test(headers['content-type'] ?? '')) throw notJson()
  if (!readsBody && announced > routeOptions.bodyLimit) throw bodyTooLarge(routeOptions.bodyLimit)
  const encodings = (headers['content-encoding'] ?? '').split(',').map((name) => name.trim().toLowerCase())
  if (encodings.every((name) => name === '' || name === 'identity')) return
  reply.header('accept-encoding', 'identity')
  throw new MediagenError(
    'unsupported_media_type',
    `The body is compressed (Content-Encoding: ${cutText(encodings.join(', '))}), which this server does not accept. Send it as it is.`,
  )
}

/** The refusal of a body of another type. */
export function notJson(): MediagenError {
  return new MediagenError('unsupported_media_type', 'The body must be JSON: send Content-Type: application/json.')
}

/** The refusal of a body that is too large. */
export function bodyTooLarge(maxBodyBytes: number): MediagenError {
  return new MediagenError(
    'payload_too_large',
    `The body is larger than the ${maxBodyBytes} bytes that this server accepts.`,
  )
}

function explainBody(body: string, refusal: Error): Error {
  let value: JsonValue
  try {
    value = JSON.parse(body.replace(/^\ufeff/, '')) as JsonValue
  } catch (error) {
    // The parser's message says where.
    return new MediagenError('invalid_request', `The body is not JSON: ${(error as Error).message}.`)
  }
  const found = findForbiddenName(value)
  return found ? new MediagenError('invalid_request', describeViolations([found]), { violations: [found] }) : refusal
}

/** The first field that could change an object's prototype when it is copied. Breadth-first, because bodies may nest deep. */
function findForbiddenName(body: JsonValue): Violation | null {
  let level: { value: JsonValue; pointer: string }[] = [{ value: body, pointer: '' }]
  while (level.length > 0) {
    const next: typeof level = []
    for (const { value, pointer } of level) {
      if (value === null || typeof value !== 'object') continue
      for (const [name, inner] of Object.entries(value)) {
        if (name === '__proto__') return forbid(pointer, name)
        if (name === 'constructor' && inner !== null && typeof inner === 'object' && Object.hasOwn(inner, 'prototype'))
          return forbid(pointer, 'constructor.prototype')
        next.push({ value: inner, pointer: `${pointer}/${toPointerToken(name)}` })
      }
    }
    level = next
  }
  return null
}

function forbid(pointer: string, name: string): Violation {
  return { pointer, detail: `has a field name that is not allowed: ${name}` }
}

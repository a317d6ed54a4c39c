// Parses bodies, and explains what is wrong with those that cannot be read.
import { isUtf8 } from 'node:buffer'
import type { JsonValue } from '@bufbuild/protobuf'
import type { FastifyBodyParser } from 'fastify'
import { MediagenError, type Violation } from '@mediagen/core/errors.ts'
import { refuseManyValues } from '@mediagen/net/json-values.ts'
import { describeViolations } from '@mediagen/core/violations.ts'
import { toPointerToken } from '@mediagen/net/schema-violations.ts'
import type { Keys } from './access.ts'

/**
 * Parses bodies with Fastify's own `parser`, and explains what is wrong with those that it refuses.
 * @param maxValues maximum number of values in a body; a body with more is refused before it is parsed
 * @param spend counts the bytes of a body
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
    return parser(request, body, (refusal, value) => {
      done(refusal && body !== '' ? explainBody(body, refusal) : refusal, value)
    })
  }
  return (request, bytes, done) => {
    try {
      const counted = request.caller ? spend(request.caller, bytes.length) : undefined
      if (counted === undefined) return parse(request, bytes, done)
      counted.then(() => parse(request, bytes, done), done)
    } catch (error) {
      done(error as Error)
    }
  }
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

// Bodies, and the input of a model on its way to the core.
import { isUtf8 } from 'node:buffer'
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { FastifyBodyParser } from 'fastify'
import { findUnhashable, toPointerToken } from '../core/canonical-json.ts'
import { MediagenError, type Violation } from '../core/errors.ts'
import { refuseManyValues } from '../core/json-values.ts'
import { describeViolations } from '../core/violations.ts'

/**
 * Refuses what the core would refuse, but what a message would change before it gets there: texts that are not Unicode,
 * numbers that are none, and nesting deeper than a message can be.
 * @throws MediagenError `invalid_request`
 */
export function refuseUnhashable(input: JsonObject): void {
  const found = findUnhashable(input, '/input')
  if (found) throw new MediagenError('invalid_request', describeViolations([found]), { violations: [found] })
}

/**
 * Parses bodies as `parser` does, Fastify's own, and says what is wrong with those that it refuses.
 * @param maxValues how many values a body may hold; more are refused before they are parsed
 */
export function explainRefusals(parser: FastifyBodyParser<string>, maxValues: number): FastifyBodyParser<Buffer> {
  return (request, bytes, done) => {
    try {
      refuseManyValues(bytes, maxValues)
    } catch (error) {
      return done(error as Error)
    }
    // Decoding would put other characters in the place of what is no text.
    if (!isUtf8(bytes)) return done(new MediagenError('invalid_request', 'The body is not valid UTF-8.'))
    const body = bytes.toString('utf8')
    return parser(request, body, (refusal, value) => {
      done(refusal && body !== '' ? explainBody(body, refusal) : refusal, value)
    })
  }
}

function explainBody(body: string, refusal: Error): Error {
  let value: JsonValue
  try {
    value = JSON.parse(body.replace(/^\ufeff/, '')) as JsonValue
  } catch (error) {
    // The parser's words say where.
    return new MediagenError('invalid_request', `The body is not JSON: ${(error as Error).message}.`)
  }
  const found = findForbiddenName(value)
  return found ? new MediagenError('invalid_request', describeViolations([found]), { violations: [found] }) : refusal
}

/** The first field that would give an object another prototype when it is copied without care. Level by level: bodies may nest deep. */
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

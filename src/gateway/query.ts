// Strict query strings: unknown, repeated and malformed parameters are refused by name.
import type { FastifyRequest } from 'fastify'
import { MediagenError, type Violation } from '../core/errors.ts'
import { pageBounds } from '../core/page.ts'

/** Reads one parameter from its text, or undefined if it was not sent; throws an Error whose message completes "?name …". */
export type Parameter<Value> = (text: string | undefined) => Value

/** A whole number within bounds. */
export function integer(fallback: number, least: number, most: number): Parameter<number> {
  return (text) => {
    if (text === undefined) return fallback
    const value = Number(text)
    if (!/^-?\d+$/.test(text) || value < least || value > most)
      throw new Error(`must be a whole number, ${least} to ${most}`)
    return value
  }
}

/** `true` or `false`. */
export function boolean(fallback: boolean): Parameter<boolean> {
  return (text) => {
    if (text === undefined) return fallback
    if (text !== 'true' && text !== 'false') throw new Error('must be true or false')
    return text === 'true'
  }
}

/** Any text; empty if it was not sent. */
export const text: Parameter<string> = (sent) => sent ?? ''

/** The page parameters of every list. */
export const page = {
  limit: integer(pageBounds.usualLimit, 1, pageBounds.largestLimit),
  offset: integer(0, 0, pageBounds.largestOffset),
}

/**
 * Reads the query string of a request.
 * @throws MediagenError `invalid_request` that names every wrong parameter
 */
export function readQuery<Parameters extends Readonly<Record<string, Parameter<unknown>>>>(
  request: FastifyRequest,
  parameters: Parameters,
): { [Name in keyof Parameters]: ReturnType<Parameters[Name]> } {
  const sent = request.query as Readonly<Record<string, string | string[]>>
  const violations: Violation[] = []
  for (const name of Object.keys(sent)) {
    if (!Object.hasOwn(parameters, name))
      violations.push({ pointer: `?${name}`, detail: 'is not a known query parameter' })
  }
  const values: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(parameters)) {
    const written = Object.hasOwn(sent, name) ? sent[name] : undefined
    try {
      if (Array.isArray(written)) throw new Error('must not be repeated')
      values[name] = read(written)
    } catch (error) {
      violations.push({ pointer: `?${name}`, detail: (error as Error).message })
    }
  }
  if (violations.length > 0) throw toQueryError(violations)
  return values as { [Name in keyof Parameters]: ReturnType<Parameters[Name]> }
}

/**
 * Renames a refusal by the core for REST: if a request has no body, the core's fields are query parameters.
 */
export function nameParameters(request: FastifyRequest, error: MediagenError): MediagenError {
  const { violations } = error.details
  if (error.code !== 'invalid_request' || !violations || (request.method !== 'GET' && request.method !== 'HEAD'))
    return error
  return toQueryError(violations.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\//, '?'), detail })))
}

function toQueryError(violations: readonly Violation[]): MediagenError {
  const [first] = violations
  return new MediagenError('invalid_request', `The query parameter ${first?.pointer.slice(1)} ${first?.detail}.`, {
    violations,
  })
}

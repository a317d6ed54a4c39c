// Parameters in the query and in headers: unknown, repeated and malformed ones are refused by name.
import type { FastifyRequest } from 'fastify'
import { MediagenError, type Violation } from '../core/errors.ts'
import { pageBounds } from '../core/page.ts'

/** A parameter: what the OpenAPI document says about it, and how it is read. */
export interface Parameter<Value> {
  readonly description: string
  readonly schema: object
  readonly required?: true
  /** Reads its text, or undefined if it was not sent; throws an Error whose message completes "?name …". */
  readonly read: (sent: string | undefined) => Value
}

/** Parameters of a route, by name. */
export type Query = Readonly<Record<string, Parameter<unknown>>>

/** A whole number within bounds. */
export function integer(description: string, fallback: number, minimum: number, maximum: number): Parameter<number> {
  return {
    description,
    schema: { type: 'integer', format: 'int32', minimum, maximum, default: fallback },
    read(sent) {
      if (sent === undefined) return fallback
      const value = Number(sent)
      if (!/^-?\d+$/.test(sent) || value < minimum || value > maximum)
        throw new Error(`must be a whole number, ${minimum} to ${maximum}`)
      return value
    },
  }
}

/** `true` or `false`; false if it was not sent. */
export function flag(description: string): Parameter<boolean> {
  return {
    description,
    schema: { type: 'boolean', default: false },
    read(sent) {
      if (sent !== undefined && sent !== 'true' && sent !== 'false') throw new Error('must be true or false')
      return sent === 'true'
    },
  }
}

/** Any text; empty if it was not sent. @param maxLength in characters; the service refuses a longer one */
export function text(description: string, maxLength?: number): Parameter<string> {
  return {
    description,
    schema: { type: 'string', ...(maxLength !== undefined && { maxLength }) },
    read: (sent) => sent ?? '',
  }
}

/** One of several names, read as its code; 0 if it was not sent. */
export function oneOf<Code extends number>(description: string, codes: ReadonlyMap<string, Code>): Parameter<Code | 0> {
  const names = [...codes.keys()]
  return {
    description,
    schema: { type: 'string', enum: names },
    read(sent) {
      const code = sent === undefined ? 0 : codes.get(sent)
      if (code === undefined) throw new Error(`must be one of ${names.join(', ')}`)
      return code
    },
  }
}

/** The page parameters of every list. */
export const page = {
  limit: integer('Page size.', pageBounds.usualLimit, 1, pageBounds.largestLimit),
  offset: integer('Number of items to skip.', 0, 0, pageBounds.largestOffset),
}

/** The values of the parameters of a route. */
export type Values<Parameters extends Query> = { [Name in keyof Parameters]: ReturnType<Parameters[Name]['read']> }

/** Reads parameters. A wrong one is named by `toPointer`, and has no value. */
export function readParameters<Parameters extends Query>(
  parameters: Parameters,
  find: (name: string) => string | string[] | undefined,
  toPointer: (name: string) => string,
): { values: Values<Parameters>; violations: Violation[] } {
  const violations: Violation[] = []
  const values: Record<string, unknown> = {}
  for (const name in parameters) {
    const written = find(name)
    try {
      if (Array.isArray(written)) throw new Error('must not be repeated')
      values[name] = parameters[name]?.read(written)
    } catch (error) {
      violations.push({ pointer: toPointer(name), detail: (error as Error).message })
    }
  }
  return { values: values as Values<Parameters>, violations }
}

/**
 * Reads the query string of a request.
 * @throws MediagenError `invalid_request` that names every wrong parameter
 */
export function readQuery<Parameters extends Query>(
  request: FastifyRequest,
  parameters: Parameters,
): Values<Parameters> {
  const sent = request.query as Readonly<Record<string, string | string[]>>
  const toPointer = (name: string): string => `?${name}`
  const unknown = Object.keys(sent)
    .filter((name) => !Object.hasOwn(parameters, name))
    .map((name) => ({ pointer: toPointer(name), detail: 'is not a known query parameter' }))
  const { values, violations } = readParameters(
    parameters,
    (name) => (Object.hasOwn(sent, name) ? sent[name] : undefined),
    toPointer,
  )
  if (unknown.length + violations.length > 0) throw toQueryError([...unknown, ...violations])
  return values
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

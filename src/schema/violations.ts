// Turns a JSON Schema validator's errors into violations that a client can read.
import type { Violation } from '../core/errors.ts'
import { suggest } from '../core/text/similar-names.ts'

// Of one request: names are compared letter by letter, and a request may have thousands of unknown ones.
const mostSuggestions = 20

/** The part of a validator's error that is used (Ajv's ErrorObject fits). */
export interface SchemaError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
  /** The schema that has the broken rule; Ajv adds it when it is `verbose`. */
  readonly parentSchema?: unknown
}

/**
 * Turns a validator's errors into violations, one for each pointer and reason.
 * @param prefix JSON pointer of the validated value
 * @param describeMissing what is said of a required field, by its pointer
 */
export function toViolations(
  errors: readonly SchemaError[],
  prefix = '',
  describeMissing: (pointer: string) => string = () => 'is required',
): Violation[] {
  const found = new Map<string, Violation>()
  let suggestions = 0
  const suggestFew = (name: string, known: readonly string[]): string =>
    (suggestions += 1) > mostSuggestions ? '' : suggest(name, known)
  for (const error of errors) {
    const violation = toViolation(error, prefix, describeMissing, suggestFew)
    found.set(`${violation.pointer}\n${violation.detail}`, violation)
  }
  return [...found.values()]
}

function toViolation(
  error: SchemaError,
  prefix: string,
  describeMissing: (pointer: string) => string,
  suggest: (name: string, known: readonly string[]) => string,
): Violation {
  const pointer = prefix + error.instancePath
  const { params } = error
  switch (error.keyword) {
    case 'required': {
      const missing = `${pointer}/${toPointerToken(String(params['missingProperty']))}`
      return { pointer: missing, detail: describeMissing(missing) }
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(params['additionalProperty'] ?? params['unevaluatedProperty'])
      const { properties = {} } = (error.parentSchema ?? {}) as { properties?: object }
      const similar = suggest(name, Object.keys(properties))
      return {
        pointer: `${pointer}/${toPointerToken(name)}`,
        detail: `is not a known field${similar && ` (${similar})`}`,
      }
    }
    case 'enum':
      return {
        pointer,
        detail: `must be one of ${(params['allowedValues'] as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`,
      }
    case 'const':
      return { pointer, detail: `must be ${JSON.stringify(params['allowedValue'])}` }
    default:
      return { pointer, detail: describeRule(error) }
  }
}

// The names of types, in the words of people.
const types: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}
const bounds: Readonly<Record<string, readonly [before: string, after: string]>> = {
  minimum: ['be at least', ''],
  maximum: ['be at most', ''],
  exclusiveMinimum: ['be more than', ''],
  exclusiveMaximum: ['be less than', ''],
  multipleOf: ['be a multiple of', ''],
  minLength: ['have at least', 'character'],
  maxLength: ['have at most', 'character'],
  minItems: ['have at least', 'item'],
  maxItems: ['have at most', 'item'],
  minProperties: ['have at least', 'field'],
  maxProperties: ['have at most', 'field'],
}

function describeRule({ keyword, params, message }: SchemaError): string {
  if (keyword === 'type') return `must be ${describeTypes(params['type'])}`
  const [before, unit] = bounds[keyword] ?? []
  if (before === undefined) return message ?? `breaks the rule "${keyword}"`
  const bound = Number(params['limit'] ?? params['multipleOf'])
  if (keyword === 'minLength' && bound === 1) return 'must not be empty'
  return `must ${before} ${bound}${unit && ` ${unit}${bound === 1 ? '' : 's'}`}`
}

/** A type, or several; null, which stands for what is left out, only if there is no other. */
function describeTypes(type: unknown): string {
  const all = [type].flat().map(String)
  const some = all.filter((name) => name !== 'null' || all.length === 1)
  return some.map((name) => types[name] ?? name).join(' or ')
}

/** A field name as a token of a JSON pointer (RFC 6901). */
export function toPointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

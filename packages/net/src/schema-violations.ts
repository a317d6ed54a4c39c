// Turns a JSON Schema validator's errors into violations that a client can read.
import { suggest } from './similar-names.ts'

/** One place of a request that is wrong. */
export interface SchemaViolation {
  /** JSON pointer (RFC 6901). */
  readonly pointer: string
  readonly detail: string
}

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
 * Turns a validator's errors into violations, one for each place and reason.
 * @param prefix JSON pointer of the validated value
 */
export function toViolations(errors: readonly SchemaError[], prefix = ''): SchemaViolation[] {
  const found = new Map<string, SchemaViolation>()
  for (const error of errors) {
    const violation = toViolation(error, prefix)
    found.set(`${violation.pointer}\n${violation.detail}`, violation)
  }
  return [...found.values()]
}

function toViolation(error: SchemaError, prefix: string): SchemaViolation {
  const pointer = prefix + error.instancePath
  const { params } = error
  switch (error.keyword) {
    case 'required':
      return { pointer: `${pointer}/${toPointerToken(String(params['missingProperty']))}`, detail: 'is required' }
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
      return { pointer, detail: error.message ?? `breaks the rule "${error.keyword}"` }
  }
}

/** A field name as a token of a JSON pointer (RFC 6901). */
export function toPointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

// Turns a JSON Schema validator's errors into violations that a client can read.
import { MediagenError, type Violation } from './errors.ts'
import { cutText } from './log-text.ts'

/** The part of a validator's error that is used (Ajv's ErrorObject fits). */
export interface SchemaError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

/**
 * Turns a validator's errors into violations, one for each place and reason.
 * @param prefix JSON pointer of the validated value
 */
export function toViolations(errors: readonly SchemaError[], prefix = ''): Violation[] {
  const found = new Map<string, Violation>()
  for (const error of errors) {
    const violation = toViolation(error, prefix)
    found.set(`${violation.pointer}\n${violation.detail}`, violation)
  }
  return [...found.values()]
}

function toViolation(error: SchemaError, prefix: string): Violation {
  const pointer = prefix + error.instancePath
  const { params } = error
  switch (error.keyword) {
    case 'required':
      return { pointer: `${pointer}/${toPointerToken(String(params['missingProperty']))}`, detail: 'is required' }
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        pointer: `${pointer}/${toPointerToken(String(params['additionalProperty'] ?? params['unevaluatedProperty']))}`,
        detail: 'is not a known field',
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

/** Violations as one sentence: the first in full, the number of the others. */
export function describeViolations(violations: readonly Violation[]): string {
  const [first] = violations
  if (!first) return ''
  const others = violations.length - 1
  return `${cutText(first.pointer) || 'The body'} ${first.detail}${others > 0 ? `, and ${others} more ${others === 1 ? 'problem' : 'problems'}` : ''}.`
}

// Field names come from the client and may be very long.
const longestPointer = 1000

/**
 * The error as it is sent: at most `most` violations, then one entry with the number of the others. Every door does this
 * once, where the error leaves this process.
 */
export function boundViolations(error: MediagenError, most: number): MediagenError {
  const { violations = [] } = error.details
  if (violations.length <= most && !violations.some(({ pointer }) => pointer.length > longestPointer)) return error
  const listed = violations.slice(0, most).map(cutPointer)
  const others = violations.length - listed.length
  if (others > 0) listed.push({ pointer: '', detail: `and ${others} more ${others === 1 ? 'problem' : 'problems'}` })
  return new MediagenError(error.code, error.message, { ...error.details, violations: listed }, { cause: error.cause })
}

function cutPointer(violation: Violation): Violation {
  const { pointer } = violation
  return pointer.length <= longestPointer
    ? violation
    : { ...violation, pointer: `${pointer.slice(0, longestPointer)}…` }
}

/** A field name as a token of a JSON pointer (RFC 6901). */
export function toPointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

// Writes violations into an answer, within its limits.
import { MediagenError, type Violation } from './errors.ts'
import { cutText } from './text/log-text.ts'

// How to get a value that a newcomer does not have, by its pointer.
const sources: Readonly<Record<string, string>> = {
  '/quote_id': 'ask for a quote of the same model and input first',
  '/max_credits': 'the most that this may cost',
}

/** What is said of a required field that is not there. */
export function describeMissing(pointer: string): string {
  const source = sources[pointer]
  return source === undefined ? 'is required' : `is required: ${source}`
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

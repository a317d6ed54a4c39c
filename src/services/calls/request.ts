// Checks that several services make on their requests. Violations name the field, the same through every door.
import { JobStatus as JobStatusCode } from '../../../gen/mediagen/v1/generation_pb.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import type { JobStatus } from '../../core/jobs/job.ts'
import { pageBounds, type PageRequest } from '../../core/page.ts'
import { hasHidden } from '../../core/text/hidden-characters.ts'
import { describeMissing } from '../../core/violations.ts'
import { hasAtMost } from '../../schema/lengths.ts'
import { toJobStatus } from '../messages/job-message.ts'

// RFC 3339 has no year beyond 9999.
export const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
// Of models (catalog/entry.ts), accounts and keys.
export const longestName = 200
/** Of notes and reasons. */
export const longestNote = 1000

/** Refuses a request and lists everything that is wrong with it. */
export function refuse(violations: readonly Violation[]): void {
  const [first] = violations
  if (first) throw new MediagenError('invalid_request', `${first.pointer} ${first.detail}.`, { violations })
}

/** What is wrong with texts that must not be empty. */
export function findEmpty(texts: Readonly<Record<string, string>>): Violation[] {
  const violations: Violation[] = []
  for (const name in texts)
    if (texts[name] === '') violations.push({ pointer: `/${name}`, detail: describeMissing(`/${name}`) })
  return violations
}

/** What is wrong with a text that is longer than it may be. */
export function findLong(name: string, text: string, most: number): Violation[] {
  return hasAtMost(text, most) ? [] : [{ pointer: `/${name}`, detail: `must have at most ${most} characters` }]
}

/** The id of a model, or its category, by which a list is limited. No longer one is in a catalog. */
export function findLongName(name: 'model' | 'category', text: string): Violation[] {
  return findLong(name, text, longestName)
}

/** What is wrong with texts of one line that operators read in a terminal. */
export function findHidden(texts: Readonly<Record<string, string>>): Violation[] {
  return Object.entries(texts)
    .filter(([, text]) => hasHidden(text))
    .map(([name]) => ({
      pointer: `/${name}`,
      detail: 'must be one line, without control characters and signs that turn the direction of text',
    }))
}

/** What is wrong with a text of one line that is longer than it may be. */
export function findText(field: string, text: string, longest: number): Violation[] {
  return [...findLong(field, text, longest), ...findHidden({ [field]: text })]
}

/**
 * The requested page of a list.
 * @throws MediagenError `invalid_request`
 */
export function readPage(
  request: { limit?: number | undefined; offset: number },
  { usualLimit, largestLimit, largestOffset }: Readonly<Record<keyof typeof pageBounds, number>> = pageBounds,
): PageRequest {
  const { limit = usualLimit, offset } = request
  const violations: Violation[] = []
  if (limit < 1 || limit > largestLimit) violations.push({ pointer: '/limit', detail: `must be 1 to ${largestLimit}` })
  if (offset < 0 || offset > largestOffset) violations.push({ pointer: '/offset', detail: 'must be 0 or more' })
  refuse(violations)
  return { limit, offset }
}

/** Credits of a message as a number; null if a double cannot represent them exactly. */
export function toCredits(value: bigint): number | null {
  const credits = Number(value)
  return Number.isSafeInteger(credits) ? credits : null
}

/**
 * The state that a list is limited to; null for all.
 * @throws MediagenError `invalid_request`
 */
export function readStatus(code: JobStatusCode): JobStatus | null {
  if (code === JobStatusCode.UNSPECIFIED) return null
  const status = toJobStatus(code)
  if (!status) refuse([{ pointer: '/status', detail: 'is not a known state' }])
  return status ?? null
}

// What a start may ask for beside its model and input: a deadline and a priority.
import { longestDeadlineSeconds, priorityRange } from '../core/fair-queue.ts'
import type { Violation } from '../core/errors.ts'
import type { StartCommand } from '../core/store.ts'
import { refuse } from './request.ts'

/** The terms of a start. */
export type Terms = Pick<StartCommand, 'expiresInMs' | 'priority'>

/**
 * Reads the terms of a request.
 * @throws MediagenError `invalid_request`
 */
export function readTerms({
  expiresInSeconds,
  priority,
}: {
  expiresInSeconds?: number | undefined
  priority: number
}): Terms {
  const violations: Violation[] = []
  if (expiresInSeconds !== undefined && (expiresInSeconds < 1 || expiresInSeconds > longestDeadlineSeconds))
    violations.push({ pointer: '/expires_in_seconds', detail: `must be 1 to ${longestDeadlineSeconds}` })
  if (priority < priorityRange.least || priority > priorityRange.most)
    violations.push({ pointer: '/priority', detail: `must be ${priorityRange.least} to ${priorityRange.most}` })
  refuse(violations)
  return { expiresInMs: expiresInSeconds === undefined ? null : expiresInSeconds * 1000, priority }
}

/** Parts of the digest of a request: what changes the outcome must be equal when the request is repeated. None for the defaults. */
export function toTermParts({ expiresInMs, priority }: Terms): string[] {
  return [
    ...(expiresInMs === null ? [] : [`expires_in_ms=${expiresInMs}`]),
    ...(priority === 0 ? [] : [`priority=${priority}`]),
  ]
}

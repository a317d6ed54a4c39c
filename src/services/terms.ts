// The optional terms of a start: a deadline, a priority, and how long its outputs are kept.
import type { Violation } from '../core/errors.ts'
import { longestDeadlineSeconds, priorityRange } from '../core/jobs/fair-queue.ts'
import type { StartCommand } from '../core/store.ts'
import { refuse } from './request.ts'

/** The terms of a start. */
export type Terms = Pick<StartCommand, 'expiresInMs' | 'priority'> & {
  /** Null for the server's own retention. */
  readonly retainMs: number | null
}

/**
 * Reads the terms of a request.
 * @throws MediagenError `invalid_request`
 */
export function readTerms({
  expiresInSeconds,
  priority,
  retainSeconds,
}: {
  expiresInSeconds?: number | undefined
  priority: number
  retainSeconds?: number | undefined
}): Terms {
  const violations: Violation[] = []
  if (expiresInSeconds !== undefined && (expiresInSeconds < 1 || expiresInSeconds > longestDeadlineSeconds))
    violations.push({ pointer: '/expires_in_seconds', detail: `must be 1 to ${longestDeadlineSeconds} seconds` })
  if (priority < priorityRange.least || priority > priorityRange.most)
    violations.push({ pointer: '/priority', detail: `must be ${priorityRange.least} to ${priorityRange.most}` })
  if (retainSeconds !== undefined && retainSeconds < 1)
    violations.push({ pointer: '/retain_seconds', detail: 'must be 1 or more' })
  refuse(violations)
  return {
    expiresInMs: expiresInSeconds === undefined ? null : expiresInSeconds * 1000,
    priority,
    retainMs: retainSeconds === undefined ? null : retainSeconds * 1000,
  }
}

/**
 * How long outputs are kept. The maximum is a setting; a start from before it was lowered may still be repeated.
 * @throws MediagenError `invalid_request` when that is longer than the server keeps them
 */
export function readRetention({ retainMs }: Terms, longestMs: number): number {
  if (retainMs !== null && retainMs > longestMs)
    refuse([
      {
        pointer: '/retain_seconds',
        detail: `must be 1 to ${longestMs / 1000} seconds, which is how long this server keeps outputs`,
      },
    ])
  return retainMs ?? longestMs
}

/** Parts of the digest of a request: terms that change the outcome must be equal when the request is repeated. Empty for the defaults. */
export function toTermParts({ expiresInMs, priority, retainMs }: Terms): string[] {
  return [
    ...(expiresInMs === null ? [] : [`expires_in_ms=${expiresInMs}`]),
    ...(priority === 0 ? [] : [`priority=${priority}`]),
    ...(retainMs === null ? [] : [`retain_ms=${retainMs}`]),
  ]
}

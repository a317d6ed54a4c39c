// The optional terms of a start: a deadline, a priority, how long its outputs are kept, and its labels.
import type { Violation } from '../core/errors.ts'
import { longestDeadlineSeconds, priorityRange } from '../core/jobs/fair-queue.ts'
import { findLabelFault, type Labels, mostLabels } from '../core/jobs/labels.ts'
import type { StartCommand } from '../core/store.ts'
import { toPointerToken } from '../schema/violations.ts'
import { refuse } from './calls/request.ts'

// In characters; names that are refused may be longer than labels have them.
const longestShownName = 80

/** The terms of a start. */
export type Terms = Pick<StartCommand, 'expiresInMs' | 'priority' | 'labels'> & {
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
  labels,
}: {
  expiresInSeconds?: number | undefined
  priority: number
  retainSeconds?: number | undefined
  labels: Labels
}): Terms {
  const violations: Violation[] = []
  if (expiresInSeconds !== undefined && (expiresInSeconds < 1 || expiresInSeconds > longestDeadlineSeconds))
    violations.push({ pointer: '/expires_in_seconds', detail: `must be 1 to ${longestDeadlineSeconds} seconds` })
  if (priority < priorityRange.least || priority > priorityRange.most)
    violations.push({ pointer: '/priority', detail: `must be ${priorityRange.least} to ${priorityRange.most}` })
  if (retainSeconds !== undefined && retainSeconds < 1)
    violations.push({ pointer: '/retain_seconds', detail: 'must be 1 or more' })
  violations.push(...findLabelFaults(labels))
  refuse(violations)
  return {
    expiresInMs: expiresInSeconds === undefined ? null : expiresInSeconds * 1000,
    priority,
    retainMs: retainSeconds === undefined ? null : retainSeconds * 1000,
    labels,
  }
}

/** What is wrong with labels; each violation names its label. */
function findLabelFaults(labels: Labels): Violation[] {
  const entries = Object.entries(labels)
  if (entries.length > mostLabels)
    return [{ pointer: '/labels', detail: `must be at most ${mostLabels} labels, but has ${entries.length}` }]
  return entries.flatMap(([name, value]) => {
    const detail = findLabelFault(name, value)
    return detail === null ? [] : [{ pointer: `/labels/${toPointerToken(name.slice(0, longestShownName))}`, detail }]
  })
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

/**
 * Parts of the digest of a request: terms that change the outcome must be equal when the request is repeated. Empty for the defaults.
 * Labels change nothing about the job, and a proxy may add them to a repeated request.
 */
export function toTermParts({ expiresInMs, priority, retainMs }: Terms): string[] {
  return [
    ...(expiresInMs === null ? [] : [`expires_in_ms=${expiresInMs}`]),
    ...(priority === 0 ? [] : [`priority=${priority}`]),
    ...(retainMs === null ? [] : [`retain_ms=${retainMs}`]),
  ]
}

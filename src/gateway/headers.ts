// The headers of a start that ask for more than the body: Cancel-After and Mediagen-Priority.
import type { FastifyRequest } from 'fastify'
import { MediagenError, type Violation } from '../core/errors.ts'
import { longestDeadlineSeconds, priorityRange } from '../core/fair-queue.ts'

const unitSeconds = { h: 3600, m: 60, s: 1 } as const

/**
 * Reads the headers.
 * @throws MediagenError `invalid_request` that names each that is wrong
 */
export function readHeaders(request: FastifyRequest): { priority: number; expiresInSeconds?: number } {
  const after = request.headers['cancel-after']
  const rank = request.headers['mediagen-priority']
  const expiresInSeconds = after === undefined ? undefined : parseSeconds(String(after))
  const priority = rank === undefined ? 0 : parsePriority(String(rank))
  const violations: Violation[] = []
  if (expiresInSeconds === null)
    violations.push({
      pointer: 'Cancel-After',
      detail: `must be seconds, or a time such as 90s, 5m or 1h30m; 1 second to 7 days`,
    })
  if (priority === null)
    violations.push({
      pointer: 'Mediagen-Priority',
      detail: `must be a whole number, ${priorityRange.least} to ${priorityRange.most}`,
    })
  if (violations.length > 0)
    throw new MediagenError(
      'invalid_request',
      `The header ${violations.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; the header ')}.`,
      { violations },
    )
  return {
    priority: priority ?? 0,
    ...(typeof expiresInSeconds === 'number' && { expiresInSeconds }),
  }
}

/** Seconds of a whole number or of a time in hours, minutes and seconds; null when it is neither or out of range. */
function parseSeconds(written: string): number | null {
  const [whole, hours, minutes, seconds] = /^(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s?)?$/.exec(written.trim()) ?? []
  if (!whole) return null
  const total = Number(hours ?? 0) * unitSeconds.h + Number(minutes ?? 0) * unitSeconds.m + Number(seconds ?? 0)
  return total >= 1 && total <= longestDeadlineSeconds ? total : null
}

function parsePriority(written: string): number | null {
  const value = Number(written)
  return /^-?\d{1,3}$/.test(written.trim()) && value >= priorityRange.least && value <= priorityRange.most
    ? value || 0
    : null
}

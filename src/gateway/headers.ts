// The optional headers of a start: Cancel-After, Mediagen-Priority and Retain-For.
import type { FastifyRequest } from 'fastify'
import { MediagenError, type Violation } from '../core/errors.ts'
import { longestDeadlineSeconds, priorityRange } from '../core/fair-queue.ts'
import { toMediagenError } from './problem.ts'

/** The headers of a start, as the OpenAPI document describes them. */
export const documentedHeaders = {
  'Idempotency-Key': {
    required: true,
    description: 'A unique value for each intended generation; send the same value when you repeat the request.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  'Cancel-After': {
    description:
      'Deadline of the job, in seconds or as a time such as 90s, 5m, 1h30m, at most seven days. A job that passes it ends as expired if it has not begun, else as canceled; nothing is charged.',
    schema: { type: 'string', examples: ['300', '5m'] },
  },
  'Retain-For': {
    description:
      'How long the outputs are kept after the job ends, in seconds or as a time such as 90s, 5m, 1h30m, 3d. The default is also the maximum: the retention of the server.',
    schema: { type: 'string', examples: ['3600', '1h'] },
  },
  'Mediagen-Priority': {
    description: 'A job with a lower priority waits for all other jobs of its model.',
    schema: { type: 'integer', minimum: priorityRange.least, maximum: priorityRange.most, default: 0 },
  },
}

const unitSeconds = { d: 86_400, h: 3600, m: 60 } as const

/**
 * Reads the headers.
 * @throws MediagenError `invalid_request` that names each invalid header
 */
export function readHeaders(request: FastifyRequest): {
  priority: number
  expiresInSeconds?: number
  retainSeconds?: number
} {
  const after = request.headers['cancel-after']
  const rank = request.headers['mediagen-priority']
  const kept = request.headers['retain-for']
  const expiresInSeconds = after === undefined ? undefined : parseSeconds(String(after), longestDeadlineSeconds)
  // The core checks the maximum.
  const retainSeconds = kept === undefined ? undefined : parseSeconds(String(kept), 2 ** 31 - 1)
  const priority = rank === undefined ? 0 : parsePriority(String(rank))
  const violations: Violation[] = []
  if (expiresInSeconds === null)
    violations.push({
      pointer: 'Cancel-After',
      detail: `must be seconds, or a time such as 90s, 5m or 1h30m; 1 second to 7 days`,
    })
  if (retainSeconds === null)
    violations.push({ pointer: 'Retain-For', detail: 'must be seconds, or a time such as 90s, 5m, 1h30m or 3d' })
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
    ...(typeof retainSeconds === 'number' && { retainSeconds }),
  }
}

/** Parses seconds, or a time in days, hours, minutes and seconds; null if it is neither or out of range. */
function parseSeconds(written: string, most: number): number | null {
  const [whole, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s?)?$/.exec(written.trim()) ?? []
  if (!whole) return null
  const { d, h, m } = unitSeconds
  const total = Number(days) * d + Number(hours) * h + Number(minutes) * m + Number(seconds)
  return total >= 1 && total <= most ? total : null
}

function parsePriority(written: string): number | null {
  const value = Number(written)
  return /^-?\d{1,3}$/.test(written.trim()) && value >= priorityRange.least && value <= priorityRange.most
    ? value || 0
    : null
}

/** Renames the fields of a refusal by the core to the headers they came from. */
export function nameHeaders(error: unknown): unknown {
  const { details, code } = toMediagenError(error)
  const { violations = [] } = details
  const [only] = violations
  if (code !== 'invalid_request' || violations.length !== 1 || only?.pointer !== '/retain_seconds') return error
  return new MediagenError(
    'invalid_request',
    `The header Retain-For ${only.detail}.`,
    {
      violations: [{ ...only, pointer: 'Retain-For' }],
    },
    { cause: error },
  )
}
